package overseer_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
)

// The life of a request and of its VM outlives Redis.
func TestHistoryOutlivesRedis(t *testing.T) {
	t.Parallel()
	b, start := coretest.Mini(t), time.Now()
	b.Mini.SetTime(start) // it stands, so that no pause ends meanwhile
	s := newScene(t, b)
	s.host("h1", time.Minute)
	id := s.submit("again", 1)[0]
	claims := s.claim("h1", "again", 1, time.Minute)
	s.end("h1", claims, core.OutcomeRetry)
	_, err := s.oversee(s.deps())
	require.NoError(t, err)
	states := func(kind core.Entity, thing string) (all []string) {
		t.Helper()
		got, err := s.store.StateChanges(t.Context(), core.StateChangeFilter{Kind: kind, Thing: thing})
		require.NoError(t, err)
		for i := len(got) - 1; i >= 0; i-- {
			all = append(all, got[i].State)
		}
		return all
	}
	require.Equal(t, []string{"queued", "claimed", "queued"}, states(core.EntityRequest, core.Key(id, 1)))
	require.Equal(t, []string{"creating", "clean", "claimed", "dirty"}, states(core.EntityVM, claims[0].VM))
	require.Equal(t, []string{"up"}, states(core.EntityHost, "h1"))
	b.Mini.FlushAll()
	b.Mini.SetTime(start.Add(time.Second))
	other := s.submit("again", 1)[0]
	_, err = s.oversee(s.deps())
	require.NoError(t, err)
	require.Equal(t, []string{"queued", "claimed", "queued"}, states(core.EntityRequest, core.Key(id, 1))[:3])
	require.Equal(t, []string{"queued"}, states(core.EntityRequest, core.Key(other, 1)))
	require.Len(t, states(core.EntityGap, core.GapThing), 1, "it is known that something may be missing")
}
