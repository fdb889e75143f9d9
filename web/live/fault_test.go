package live_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
	"drover/web/live"
)

// A reader that takes nothing is given up, and gets the rest when it comes back.
func TestASlowReaderIsDropped(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Mini(t), func(s *live.Streams) { s.Timeout = 50 * time.Millisecond })
	spec := w.submit("rosa")
	path := "/events/requests/" + spec.ID
	s := w.open("rosa", path, "")
	for s.next() != "changed" { // on a busy machine nobody is quick enough
		s = w.open("rosa", path, "")
	}
	c := w.claim()
	piece := strings.Repeat("#", 32<<10)
	for range 400 { // more than all buffers on the way
		w.print(c, piece)
	}
	require.Eventually(t, func() bool { return w.streams.Open() == 0 }, 5*time.Minute, time.Millisecond)
	w.end(c)
	w.streams.Timeout = 0 // which each stream asks for when it begins
	got := 0
	count := func(s *stream) bool {
		for e := s.next(); e != ""; e = s.next() {
			got += strings.Count(e, "#")
			if strings.HasPrefix(e, "end") {
				return true
			}
		}
		return false
	}
	for n := 0; !count(s); n++ {
		require.Less(t, n, 100)
		s = w.open("rosa", path, s.last)
	}
	require.Equal(t, 400*len(piece), got)
}

// While Redis is away streams stay, and what happened is told when it is back.
func TestRedisAwayAndBack(t *testing.T) {
	t.Parallel()
	b := coretest.Mini(t)
	w := newFixture(t, b, soon)
	spec := w.submit("rosa")
	s := w.open("rosa", "/events/requests/"+spec.ID, "")
	require.Equal(t, "changed", s.next())
	c := w.claim()
	w.print(c, "one")
	s.until(`output {"stream":"stdout","text":"one"}`)
	b.Mini.SetError("LOADING away")
	require.Equal(t, http.StatusServiceUnavailable, w.status("rosa", "/events/requests/"+spec.ID, ""))
	b.Mini.SetError("")
	w.print(c, "two")
	w.end(c)
	after := s.outputUntil(`end {"state":"completed"}`)
	require.Equal(t, []string{`output {"stream":"stdout","text":"two"}`, `end {"state":"completed"}`}, after)
}

func TestStopEndsStreams(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Mini(t))
	spec := w.submit("rosa")
	s, cluster := w.open("rosa", "/events/requests/"+spec.ID, ""), w.open("olga", "/events/cluster", "")
	require.Equal(t, "changed", s.next())
	w.stop()
	require.Empty(t, s.next())
	_, err := io.Copy(io.Discard, cluster.lines)
	require.NoError(t, err, "an end, and no break")
	require.Zero(t, w.streams.Open())
}

func TestSignsOfLife(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Mini(t), soon)
	s := w.open("olga", "/events/cluster", "")
	for lines := 0; lines < 3; {
		line, err := s.lines.ReadString('\n')
		require.NoError(t, err)
		if line == ":\n" {
			lines++
		}
	}
}

// A batch's page hears of what any of its requests does, and of nothing else.
func TestABatchIsFollowed(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Mini(t))
	b, _, err := w.in.SubmitBatch(t.Context(), core.Batch{Submitter: "rosa", Specs: []core.Spec{
		{Pool: pool, Submitter: "rosa", Command: []string{"true"}}, {Pool: pool, Submitter: "rosa", Command: []string{"true"}},
	}})
	require.NoError(t, err)
	path := "/events/batches/" + b.ID
	for who, status := range map[string]int{"ann": http.StatusNotFound, "tess": http.StatusNotFound} {
		require.Equal(t, status, w.status(who, path, ""), who)
	}
	s := w.open("rosa", path, "")
	require.Equal(t, "changed", s.next())
	first := w.claim()
	require.Equal(t, "changed", s.next())
	w.submit("rosa") // another request is no news
	w.end(first)
	require.Equal(t, "changed", s.next())
	seen := s.last
	w.end(w.claim())
	for e := s.next(); e != "end"; e = s.next() {
		require.Equal(t, "changed", e)
	}
	require.Equal(t, http.StatusNoContent, w.status("rosa", path, s.last))
	require.Equal(t, "end", w.open("olga", path, seen).next(), "it ended meanwhile")
}

func TestPagesHearOfChanges(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Mini(t))
	w.graded(true)
	id := w.task("ann")
	s := w.open("ann", "/events/tasks/"+id, "")
	require.Equal(t, "changed", s.next())
	seen := s.last
	_, err := w.in.CancelTask(t.Context(), id, "ann")
	require.NoError(t, err)
	for e := s.next(); e != "end"; e = s.next() {
		require.Equal(t, "changed", e)
	}
	require.Empty(t, s.next())
	require.Equal(t, http.StatusNoContent, w.status("ann", "/events/tasks/"+id, s.last))
	require.Equal(t, "end", w.open("ann", "/events/tasks/"+id, seen).next(), "it changed meanwhile")

	e := w.experiment()
	s = w.open("tess", "/events/experiments/"+e, "")
	require.Equal(t, "changed", s.next())
	_, err = w.reg.AbortExperiment(t.Context(), core.Actor{Handle: "tess", In: map[string]core.UserRole{"cs101": core.RoleTeacher}}, e)
	require.NoError(t, err)
	for e := s.next(); e != "end"; e = s.next() {
		require.Equal(t, "changed", e)
	}

	s = w.open("olga", "/events/cluster", "")
	require.Equal(t, "changed", s.next())
	w.submit("rosa")
	require.Equal(t, "changed", s.next())
}
