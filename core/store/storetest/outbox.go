package storetest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"drover/core"
	"drover/core/school"
	"drover/core/store/bounds"

	"github.com/stretchr/testify/require"
)

// telling makes a request or task that names a webhook.
func telling() core.Spec {
	spec := Spec("ann")
	spec.Notify = []string{"w1"}
	return spec
}

func tellingTask(id string) core.Task {
	task := Task(id)
	task.Notify = []string{"w1", "w2"}
	return task
}

func ofRequest(key string) core.Notice { return core.Notice{Event: core.EventRequestEnded, Key: key} }
func ofTask(key string) core.Notice    { return core.Notice{Event: core.EventTaskEnded, Key: key} }

// holds requires that the outbox holds exactly these, in any order: what ends in the
// same millisecond has none.
func holds(t *testing.T, s school.ResultStore, want ...core.Notice) {
	t.Helper()
	got, err := s.Outbox(t.Context(), bounds.MaxPage)
	require.NoError(t, err)
	require.ElementsMatch(t, want, got)
}

func outbox(t *testing.T, s school.ResultStore) {
	holds(t, s)
	quiet, spec := mustCreate(t, s, Spec("ann")), mustCreate(t, s, telling())
	mustTask(t, s, Task("quiet"))
	mustTask(t, s, tellingTask("loud"))
	holds(t, s)
	mustRecord(t, s, Result(quiet, "1.1"), true)
	mustEnd(t, s, done("quiet"), true)
	holds(t, s)

	first, late := Result(spec, "1.1"), Result(spec, "2.1")
	for range 2 { // as if the answer was lost
		mustRecord(t, s, first, true)
		mustRecord(t, s, late, false)
	}
	mustEnd(t, s, dead("loud", 1), true)
	mustEnd(t, s, done("loud"), false)
	holds(t, s, ofRequest(spec.Key()), ofTask("loud-1"))

	// Its own generation is told of, also when the next one is there.
	again, err := s.Rerun(t.Context(), spec.ID, 5)
	require.NoError(t, err)
	_, err = s.RetryTask(t.Context(), "loud", 5)
	require.NoError(t, err)
	holds(t, s, ofRequest(spec.Key()), ofTask("loud-1"))
	mustRecord(t, s, Result(again, "3.1"), true)
	mustEnd(t, s, core.TaskEnd{ID: "loud", Generation: 2, State: core.TaskCancelled}, true)
	holds(t, s, ofRequest(spec.Key()), ofTask("loud-1"), ofRequest(again.Key()), ofTask("loud-2"))

	called := Spec("ann")
	called.Callback = "compat"
	mustRecord(t, s, Result(mustCreate(t, s, called), "9.1"), true)
	holds(t, s, ofRequest(spec.Key()), ofTask("loud-1"), ofRequest(again.Key()), ofTask("loud-2"), ofRequest(called.Key()))
	require.NoError(t, s.Sent(t.Context(), []core.Notice{ofRequest(called.Key())}))

	for range 2 { // the same once more does nothing
		require.NoError(t, s.Sent(t.Context(), []core.Notice{ofRequest(spec.Key()), ofTask("loud-2")}))
		holds(t, s, ofTask("loud-1"), ofRequest(again.Key()))
	}
	mustRecord(t, s, first, true)
	mustRecord(t, s, late, false)
	mustEnd(t, s, done("loud"), false)
	holds(t, s, ofTask("loud-1"), ofRequest(again.Key())) // what was sent does not come back
	require.NoError(t, s.Sent(t.Context(), []core.Notice{ofTask("loud-1"), ofRequest(again.Key()), ofTask("nobody-1")}))
	holds(t, s)
	require.NoError(t, s.Sent(t.Context(), nil))
}

// outboxOrder shows that the oldest are listed first, and no more than asked for.
func outboxOrder(t *testing.T, s school.ResultStore) {
	const n = 40
	for i := range n {
		if i%2 == 0 {
			mustRecord(t, s, Result(mustCreate(t, s, telling()), "1.1"), true)
			continue
		}
		id := fmt.Sprintf("t%d", n-i)
		mustTask(t, s, tellingTask(id))
		mustEnd(t, s, done(id), true)
	}
	ended := func(n core.Notice) int64 {
		id, _, err := core.ParseKey(n.Key)
		require.NoError(t, err)
		if n.Event == core.EventRequestEnded {
			return mustGet(t, s, id).Finished
		}
		return mustGetTask(t, s, id).Ended
	}
	var last int64
	for left := n; left > 0; {
		page, err := s.Outbox(t.Context(), 7)
		require.NoError(t, err)
		require.Len(t, page, min(7, left))
		for _, notice := range page {
			require.LessOrEqual(t, last, ended(notice))
			last = ended(notice)
		}
		require.NoError(t, s.Sent(t.Context(), page))
		left -= len(page)
	}
	holds(t, s)
}

func outboxRefuses(t *testing.T, s school.ResultStore) {
	for _, limit := range []int{0, -1, bounds.MaxPage + 1} {
		_, err := s.Outbox(t.Context(), limit)
		requireCode(t, core.CodeInvalid, err)
	}
	mustTask(t, s, tellingTask("a"))
	mustEnd(t, s, done("a"), true)
	for _, bad := range []core.Notice{{}, {Event: core.EventTest, Key: "a-1"}, {Event: core.EventTaskEnded, Key: "a"}, {Event: core.EventTaskEnded, Key: "a-0"}} {
		requireCode(t, core.CodeInvalid, s.Sent(t.Context(), []core.Notice{ofTask("a-1"), bad}))
	}
	requireCode(t, core.CodeInvalid, s.Sent(t.Context(), make([]core.Notice, bounds.MaxNotices+1)))
	holds(t, s, ofTask("a-1"))
}

// outboxPurge shows that nothing goes that somebody is still to be told of.
func outboxPurge(t *testing.T, s school.ResultStore) {
	spec, other := mustCreate(t, s, telling()), mustCreate(t, s, telling())
	mustRecord(t, s, Result(spec, "1.1"), true)
	again, err := s.Rerun(t.Context(), spec.ID, 5)
	require.NoError(t, err)
	for _, spec := range []core.Spec{again, other} {
		mustRecord(t, s, Result(spec, "1.2"), true)
	}
	for _, id := range []string{"a", "b"} {
		mustTask(t, s, tellingTask(id))
		mustEnd(t, s, dead(id, 1), true)
	}
	purged := func(want int) {
		t.Helper()
		n, err := s.Purge(t.Context(), soon(), 10)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	purged(0)
	require.NoError(t, s.Sent(t.Context(), []core.Notice{ofRequest(again.Key()), ofTask("a-1")}))
	purged(1) // an older generation is still to be told of
	mustGet(t, s, spec.ID)
	require.NoError(t, s.Sent(t.Context(), []core.Notice{ofRequest(spec.Key()), ofRequest(other.Key()), ofTask("b-1")}))
	purged(3)
	holds(t, s)
}

// outboxUnanswered records ends whose callers stop waiting at any moment, and
// repeats those calls until one is answered: each end is told of once.
func outboxUnanswered(t *testing.T, s school.ResultStore) {
	var want []core.Notice
	for i := range 40 {
		spec, id := mustCreate(t, s, telling()), fmt.Sprintf("t%d", i)
		mustTask(t, s, tellingTask(id))
		want = append(want, ofRequest(spec.Key()), ofTask(core.Key(id, 1)))
		ctx, cancel := context.WithCancel(t.Context())
		together(t, 3, func(part int) error {
			switch part {
			case 0:
				cancel()
			case 1:
				_, _ = s.Record(ctx, Result(spec, "1.1")) // nobody heard the answer
			case 2:
				_, _ = s.EndTask(ctx, done(id))
			}
			return nil
		})
		mustRecord(t, s, Result(spec, "1.1"), true)
		_, err := s.EndTask(t.Context(), done(id))
		require.NoError(t, err)
	}
	holds(t, s, want...)
}

func outboxRace(t *testing.T, s school.ResultStore) { RaceOutbox(t, s, s) }

// RaceOutbox records ends from many goroutines, in turn through both handles of one
// store, while another one sends: each is sent once, and does not come back.
func RaceOutbox(t *testing.T, a, b school.ResultStore) {
	t.Helper()
	const n = 15
	specs := make([]core.Spec, n)
	var want []core.Notice
	for i := range specs {
		specs[i] = mustCreate(t, a, telling())
		mustTask(t, a, tellingTask(fmt.Sprintf("o%d", i)))
		want = append(want, ofRequest(specs[i].Key()), ofTask(core.Key(fmt.Sprintf("o%d", i), 1)))
	}
	var busy atomic.Int32
	busy.Store(racers - 1)
	var sent []core.Notice
	send := func() error {
		page, err := b.Outbox(t.Context(), 10)
		if err != nil {
			return err
		}
		sent = append(sent, page...)
		return b.Sent(t.Context(), page)
	}
	race(t, func(i int) error {
		for i == 0 && busy.Load() > 0 {
			if err := send(); err != nil {
				return err
			}
		}
		if i == 0 {
			return nil
		}
		defer busy.Add(-1)
		s := []school.ResultStore{a, b}[i%2]
		for n := range specs {
			if _, err := s.Record(t.Context(), Result(specs[n], fmt.Sprintf("1.%d", i/4))); err != nil {
				return err
			}
			if _, err := s.EndTask(t.Context(), done(fmt.Sprintf("o%d", n))); err != nil {
				return err
			}
		}
		return nil
	})
	for len(sent) < len(want) {
		before := len(sent)
		require.NoError(t, send())
		require.Greater(t, len(sent), before, "an end is missing")
	}
	require.ElementsMatch(t, want, sent, "each once")
	holds(t, b)
}

// outboxDeleted shows that nobody is told of what was deleted with its submission.
func outboxDeleted(t *testing.T, s school.ResultStore) {
	aClass(t, s, "ann")
	sub := mustCreateSubmission(t, s, Submission("cs101", "hw1", "ann"))
	grading := Grading(sub)
	grading.Notify = []string{"w1"}
	mustRecord(t, s, Result(mustCreate(t, s, grading), "1.1"), true)
	spec := mustCreate(t, s, telling())
	mustRecord(t, s, Result(spec, "1.1"), true)
	holds(t, s, ofRequest(grading.Key()), ofRequest(spec.Key()))
	removed, _, err := s.DeleteSubmissions(t.Context(), "cs101", "hw1", 10)
	require.NoError(t, err)
	require.Equal(t, 1, removed)
	holds(t, s, ofRequest(spec.Key()))
}
