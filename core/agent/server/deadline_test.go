package server

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core/agent/wire"
)

// A limit by the clock is put off for time in which a run waited for processors that others used, and for no other.
func TestDeadline(t *testing.T) {
	t.Parallel()
	const limit = 10 * time.Second
	for name, test := range map[string]struct {
		most                      time.Duration
		busy, own, waited, stolen float64 // of each second: of two processors, by the run, for which it waited, and of both
		want                      time.Duration
	}{
		"alone, it sleeps":                       {20 * time.Second, 0, 0, 0, 0, limit},
		"it sleeps on a busy host":               {20 * time.Second, 2, 0, 0, 0, limit},
		"its own processes wait for each other":  {20 * time.Second, 2, 2, 0.9, 0, limit},
		"it shares both processors evenly":       {20 * time.Second, 2, 0.5, 0.5, 0, 20 * time.Second},
		"it waits for itself more than others":   {20 * time.Second, 2, 1.5, 0.9, 0, limit * 4 / 3},
		"it starves":                             {20 * time.Second, 2, 0.02, 0.98, 0, 30 * time.Second},
		"it starves, and its limit is its own":   {0, 2, 0.02, 0.98, 0, limit},
		"it starves, and there is little to put": {2 * time.Second, 2, 0.02, 0.98, 0, 12 * time.Second},
		"it waits where nobody is":               {20 * time.Second, 0.5, 0.5, 0.9, 0, limit},
		"half of its processor is stolen":        {20 * time.Second, 0.5, 0.5, 0, 0.5, 20 * time.Second},
		"a tenth of both":                        {20 * time.Second, 1.8, 0.9, 0, 0.2, limit * 10 / 9},
		"all is stolen while it waits":           {20 * time.Second, 0, 0, 1, 2, 30 * time.Second},
		"it sleeps while time is stolen":         {20 * time.Second, 0.5, 0, 0, 1.5, limit},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := deadline{limit: limit, most: test.most}
			ms := func(at time.Duration, part float64) int64 { return int64(float64(at.Milliseconds()) * part) }
			at, looks := d.first(), 0
			for {
				more := d.next(moment{
					at:  at,
					all: wire.Processors{Busy: ms(at, test.busy), Stolen: ms(at, test.stolen), Total: ms(at, 2)}, own: time.Duration(ms(at, test.own)) * time.Millisecond,
					waited: time.Duration(ms(at, test.waited)) * time.Millisecond,
				})
				if looks++; more == 0 {
					break
				}
				at += more
				require.Less(t, looks, 40)
			}
			require.InDelta(t, test.want.Seconds(), at.Seconds(), 0.2)
			require.LessOrEqual(t, d.lost, test.most)
			if test.want == limit {
				require.Equal(t, limit, at)
				require.Zero(t, d.lost)
			}
		})
	}
}

// Where the kernel does not count, the limit stays, and a run costs no look before its half.
func TestDeadline_NotMeasured(t *testing.T) {
	t.Parallel()
	d := deadline{limit: time.Second, most: time.Second}
	require.Equal(t, time.Second/2, d.first())
	require.Equal(t, time.Second/2, d.next(moment{at: time.Second / 2, waited: time.Second / 2}))
	require.Zero(t, d.next(moment{at: time.Second, waited: time.Second}))
	require.Equal(t, time.Second, (&deadline{limit: time.Second}).first())
}
