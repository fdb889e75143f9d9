package history

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Whatever is asked for, its stretches lie one behind the other, in buckets that begin where they do, and are few.
func TestStretchesCoverASpanInFewBuckets(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 15, 37, 11, 0, time.UTC).UnixMilli()
	rapid.Check(t, func(t *rapid.T) {
		until := now - rapid.Int64Range(-hour, 90*day).Draw(t, "until")
		from := until - rapid.Int64Range(1, 400*day).Draw(t, "span")
		finest := stepFor(from, until, now)
		all := stretchesOf(from, until, now)
		at, buckets := floor(from, finest), int64(0)
		for _, s := range all {
			require.Equal(t, at, s.from)
			require.Zero(t, s.from%s.step)
			require.Zero(t, (s.until-s.from)%s.step)
			require.Greater(t, s.until, s.from)
			buckets += (s.until - s.from) / s.step
			at = s.until
		}
		require.GreaterOrEqual(t, at, until)
		if end := floor(until-1, finest) + finest; at > end {
			require.Greater(t, end, now, "only what is still to come is beyond the span")
		}
		require.LessOrEqual(t, buckets, (until-from)/day+2*(day/hour+hour/piece)+2)
	})
	midnight := floor(now, day)
	require.Equal(t, []stretch{
		{hour, floor(now-7*day, hour), midnight - 6*day}, {day, midnight - 6*day, midnight + day},
	}, stretchesOf(now-7*day, now+1, now), "today goes on")
}
