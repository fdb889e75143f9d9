package server

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"drover/core"
	"drover/core/agent/wire"
)

// A run is judged at its end by what is known of its memory, whatever the source.
func TestMemoryIsJudgedAtTheEnd(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	watchdog, cgroup := wire.HeldByWatchdog, wire.HeldByCgroup
	for name, c := range map[string]struct {
		held   string
		most   int64 // of the processes' own reports
		saw    sight
		why    cause
		peak   int64
		exceed bool
	}{
		"nothing known":                   {held: watchdog, most: 5 * mb, peak: 5 * mb},
		"under":                           {held: watchdog, most: 50 * mb, peak: 50 * mb},
		"may be pages of files":           {held: watchdog, most: 90 * mb, peak: 64 * mb},
		"cannot be pages of files":        {held: watchdog, most: 97 * mb, peak: 97 * mb, exceed: true},
		"many pages of files were seen":   {held: watchdog, most: 120 * mb, saw: sight{file: 60 * mb}, peak: 64 * mb},
		"more than those":                 {held: watchdog, most: 125 * mb, saw: sight{file: 60 * mb}, peak: 125 * mb, exceed: true},
		"a tree, in good time":            {held: watchdog, most: 20 * mb, saw: sight{sum: 70 * mb}, why: causeMemory, peak: 70 * mb, exceed: true},
		"sockets":                         {held: watchdog, most: 20 * mb, why: causeMemory, peak: 20 * mb, exceed: true},
		"a peak between looks":            {held: watchdog, most: 80 * mb, saw: sight{one: 65 * mb, file: 15 * mb}, peak: 80 * mb, exceed: true},
		"the clock came first":            {held: watchdog, most: 99 * mb, why: causeTimeout, peak: 99 * mb, exceed: true},
		"processes came first":            {held: watchdog, most: 99 * mb, why: causePids, peak: 99 * mb},
		"cancelled":                       {held: watchdog, most: 99 * mb, why: causeKilled, peak: 99 * mb},
		"a cgroup holds it":               {held: cgroup, most: 99 * mb, peak: 99 * mb},
		"a cgroup holds it, sockets over": {held: cgroup, most: 9 * mb, why: causeMemory, peak: 9 * mb, exceed: true},
		"nothing holds it":                {most: 99 * mb, peak: 99 * mb},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(&Agent{usage: openUsage(wire.Config{})}, nil)
			j.limits = core.Limits{Memory: 64 * mb}
			j.held = map[string]string{core.LimitMemory: c.held}
			j.floor, j.most, j.saw, j.cause = 6*mb, c.most, c.saw, c.why
			got := j.report(0)
			assert.Equal(t, c.peak, got.MemoryPeakBytes)
			assert.Equal(t, c.exceed, got.MemoryExceeded)
		})
	}
}
