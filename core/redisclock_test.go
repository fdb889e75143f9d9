package core_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
)

// What Redis says of its clock → for how long something has been so.
func TestRedisClock(t *testing.T) {
	t.Parallel()
	const now, hour = int64(1_000_000_000), int64(time.Hour / time.Millisecond)
	ago := func(d time.Duration) int64 { return now - d.Milliseconds() }
	gap := func(ended, lasted time.Duration) core.Gap { return core.Gap{To: ago(ended), Lasted: lasted} }
	for name, test := range map[string]struct {
		clock      core.RedisClock
		since      int64
		age        time.Duration
		absent     time.Duration // if it is another time
		unreported time.Duration // if it is another time
		ahead      time.Duration
	}{
		"a clock that goes on":                {clock: core.RedisClock{}, since: ago(time.Hour), age: time.Hour},
		"set forward since":                   {clock: core.RedisClock{Gaps: []core.Gap{gap(5*time.Minute, time.Hour)}}, since: ago(70 * time.Minute), age: 10 * time.Minute},
		"set forward just now":                {clock: core.RedisClock{Gaps: []core.Gap{gap(time.Second, time.Hour)}}, since: ago(time.Hour + time.Minute), age: time.Minute, ahead: time.Hour},
		"set forward before":                  {clock: core.RedisClock{Gaps: []core.Gap{gap(time.Hour, time.Hour)}}, since: ago(time.Minute), age: time.Minute},
		"begun while nobody gave a sign":      {clock: core.RedisClock{Gaps: []core.Gap{gap(time.Hour, time.Hour)}}, since: ago(90 * time.Minute), age: time.Hour},
		"set forward twice":                   {clock: core.RedisClock{Gaps: []core.Gap{gap(3*time.Hour, time.Hour), gap(time.Hour, time.Hour)}}, since: ago(5 * time.Hour), age: 3 * time.Hour},
		"forward, back, and forward":          {clock: core.RedisClock{Gaps: []core.Gap{gap(2*time.Hour, 4*time.Hour), gap(time.Hour, 3*time.Hour)}}, since: ago(5 * time.Hour), age: time.Hour},
		"forward, far back, and forward":      {clock: core.RedisClock{Gaps: []core.Gap{gap(2*time.Hour, time.Hour), gap(time.Hour, 4*time.Hour)}}, since: ago(6 * time.Hour), age: 2 * time.Hour},
		"set forward, and back again":         {clock: core.RedisClock{Gaps: []core.Gap{{To: now + hour, Lasted: time.Hour}}}, since: ago(time.Minute), age: time.Minute},
		"set back":                            {clock: core.RedisClock{SetBack: ago(time.Minute)}, since: now + hour, age: time.Minute},
		"set back, and it was not noticed":    {clock: core.RedisClock{}, since: now + hour},
		"another clock is a little ahead":     {clock: core.RedisClock{SetBack: ago(time.Hour)}, since: now + 100},
		"emptied since":                       {clock: core.RedisClock{Began: ago(time.Minute), Gaps: []core.Gap{gap(time.Minute, 24*time.Hour)}}, since: ago(time.Hour), age: time.Minute},
		"emptied just now":                    {clock: core.RedisClock{Began: ago(time.Second), Gaps: []core.Gap{{To: ago(time.Second), Lasted: time.Duration(ago(time.Second)) * time.Millisecond}}}, since: ago(time.Hour), age: time.Second},
		"another incarnation since":           {clock: core.RedisClock{Began: ago(time.Minute)}, since: ago(time.Hour), age: time.Hour, absent: time.Minute},
		"all owners were silent":              {clock: core.RedisClock{Silent: ago(time.Second)}, since: ago(time.Hour), age: time.Hour, unreported: time.Second},
		"all owners were silent, and back":    {clock: core.RedisClock{Silent: now + hour}, since: ago(time.Hour), age: time.Hour},
		"it begins yet, since it is set back": {clock: core.RedisClock{Began: now + hour, SetBack: ago(time.Minute)}, since: ago(time.Hour), age: time.Hour, absent: time.Minute},
	} {
		c := test.clock
		c.Now = now
		or := func(d time.Duration) time.Duration {
			if d == 0 {
				return test.age
			}
			return d
		}
		require.Equal(t, test.age, c.Age(test.since), name)
		require.Equal(t, or(test.absent), c.AbsentFor(test.since), name)
		require.Equal(t, or(test.unreported), c.UnreportedFor(test.since), name)
		require.Equal(t, test.ahead, c.Ahead(), name)
	}
}
