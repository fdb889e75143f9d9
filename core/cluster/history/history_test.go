package history_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"drover/core"
	"drover/core/cluster/history"
	"drover/core/store/bounds"
	"drover/core/store/sqlite/sqlitetest"
	"drover/core/store/storetest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stream is Redis' stream of events.
type stream []core.Event

func (s *stream) add(at, n int64, op, moved string) {
	*s = append(*s, core.Event{ID: fmt.Sprintf("%d-%d", at, n), At: at, Op: op, By: "-", Moved: moved})
}

// read is core.History's Events, by pages of three.
func (s *stream) read(_ context.Context, after string) ([]core.Event, error) {
	var page []core.Event
	for _, e := range *s {
		if (after == "" || less(after, e.ID)) && len(page) < 3 {
			page = append(page, e)
		}
	}
	return page, nil
}

func less(a, b string) bool {
	var am, bm, an, bn uint64
	_, _ = fmt.Sscanf(a, "%d-%d", &am, &an)
	_, _ = fmt.Sscanf(b, "%d-%d", &bm, &bn)
	return am < bm || am == bm && an < bn
}

func copier(s history.Store, events *stream) history.Copier {
	return history.Copier{Events: events.read, Store: s, Now: func(context.Context) (time.Time, error) { return time.UnixMilli(9000), nil }}
}

// kept are the changes of a thing, oldest first: at, state.
func kept(t testing.TB, s core.StateLog, kind core.Entity, thing string) string {
	t.Helper()
	all, err := s.StateChanges(t.Context(), core.StateChangeFilter{Kind: kind, Thing: thing, Limit: 1000})
	require.NoError(t, err)
	var words []string
	for i := len(all) - 1; i >= 0; i-- {
		word := fmt.Sprintf("%d %s", all[i].At, all[i].State)
		if kind == core.EntityGap {
			word = fmt.Sprintf("%d to %d", all[i].At, all[i].Until)
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

// crashing is a store whose program dies at the n-th write.
type crashing struct {
	history.Store
	left int
}

var errDied = errors.New("died")

func (c *crashing) die() error {
	if c.left--; c.left < 0 {
		return errDied
	}
	return nil
}

func (c *crashing) AddStateChanges(ctx context.Context, all []core.StateChange) error {
	if err := c.die(); err != nil {
		return err
	}
	return c.Store.AddStateChanges(ctx, all)
}

func (c *crashing) MoveMark(ctx context.Context, name, from, to string) (bool, error) {
	if err := c.die(); err != nil {
		return false, err
	}
	return c.Store.MoveMark(ctx, name, from, to)
}

// Whenever a copier dies, the next one goes on: nothing is lost and nothing is there twice.
func TestACopierMayDieBetweenAnyTwoWrites(t *testing.T) {
	t.Parallel()
	for writes := range 9 {
		s, events := sqlitetest.Open(t), &stream{}
		for i := range int64(8) {
			events.add(1000+i/2, i%2, "host up", "h1")
		}
		want := "1000 up, 1000 up, 1001 up, 1001 up, 1002 up, 1002 up, 1003 up, 1003 up"
		_, err := copier(&crashing{s, writes}, events).Run(t.Context())
		require.Equal(t, writes < 8, errors.Is(err, errDied), "%d writes", writes)
		_, err = copier(s, events).Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, kept(t, s, core.EntityHost, "h1"))
		events.add(1010, 0, "host down", "h1")
		done, err := copier(s, events).Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, history.Copied{Changes: 1}, done)
		require.Equal(t, want+", 1010 down", kept(t, s, core.EntityHost, "h1"))
		require.Empty(t, kept(t, s, core.EntityGap, core.GapThing))
	}
}

// interleaved lets another copier run before each move of the mark.
type interleaved struct {
	history.Store
	other func() error
}

func (i *interleaved) MoveMark(ctx context.Context, name, from, to string) (bool, error) {
	if err := i.other(); err != nil {
		return false, err
	}
	return i.Store.MoveMark(ctx, name, from, to)
}

func TestTwoCopiersDoubleNothing(t *testing.T) {
	t.Parallel()
	s, events := sqlitetest.Open(t), &stream{}
	for i := range int64(5) {
		events.add(1000+i, 0, "host up", "h1")
	}
	other := func() error {
		events.add(2000+int64(len(*events)), 0, "host suspect", "h1")
		_, err := copier(s, events).Run(t.Context())
		return err
	}
	_, err := copier(&interleaved{s, other}, events).Run(t.Context())
	require.NoError(t, err)
	_, err = copier(s, events).Run(t.Context())
	require.NoError(t, err)
	all, err := s.StateChanges(t.Context(), core.StateChangeFilter{Kind: core.EntityHost, Thing: "h1", Limit: 1000})
	require.NoError(t, err)
	require.Len(t, all, len(*events))
	require.Empty(t, kept(t, s, core.EntityGap, core.GapThing))
}

// What a wipe loses are the events since the last run, and the history says between which moments.
func TestAWipeLosesWhatWasNotCopied(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change  func(*stream)
		changes string
		gap     string
	}{
		"nothing":                   {func(*stream) {}, "1000 up, 1001 down, 1002 up", ""},
		"wiped, nothing since":      {func(s *stream) { *s = nil }, "1000 up, 1001 down", ""},
		"wiped":                     {func(s *stream) { *s = nil; s.add(1005, 0, "host up", "h1") }, "1000 up, 1001 down, 1005 up", "1001 to 1005"},
		"trimmed":                   {func(s *stream) { s.add(1007, 0, "host down", "h1"); *s = (*s)[2:] }, "1000 up, 1001 down, 1002 up, 1007 down", "1001 to 1002"},
		"trimmed beyond the copied": {func(s *stream) { s.add(1007, 0, "host down", "h1"); *s = (*s)[3:] }, "1000 up, 1001 down, 1007 down", "1001 to 1007"},
		"set back":                  {func(s *stream) { *s = (*s)[:1]; s.add(1009, 0, "host up", "h1") }, "1000 up, 1001 down, 1009 up", "1001 to 1009"},
		"wiped, and its clock too":  {func(s *stream) { *s = nil; s.add(500, 0, "host up", "h1") }, "500 up, 1000 up, 1001 down", "1001 to 9000"},
	} {
		s, events := sqlitetest.Open(t), &stream{}
		events.add(1000, 0, "host up", "h1")
		events.add(1001, 0, "host down", "h1")
		_, err := copier(s, events).Run(t.Context())
		require.NoError(t, err)
		events.add(1002, 0, "host up", "h1")
		c.change(events)
		for range 2 {
			_, err = copier(s, events).Run(t.Context())
			require.NoError(t, err)
			require.Equal(t, c.changes, kept(t, s, core.EntityHost, "h1"), name)
			require.Equal(t, c.gap, kept(t, s, core.EntityGap, core.GapThing), name)
		}
	}
}

// An end has the state that the result store has; what is no request's has none.
func TestEndsAreThoseOfTheResultStore(t *testing.T) {
	t.Parallel()
	s, events := sqlitetest.Open(t), &stream{}
	spec := storetest.Spec("ann")
	_, _, err := s.Create(t.Context(), spec)
	require.NoError(t, err)
	bad := storetest.Result(spec, "1.1")
	bad.State = core.RequestTimedOut
	_, err = s.Record(t.Context(), bad)
	require.NoError(t, err)
	key := spec.Key()
	events.add(1, 0, "enqueue", key)
	*events = append(*events,
		core.Event{ID: "2-0", At: 2, Op: "exchange", By: "testrunner@h1#0", Claimed: "a-1 " + key, VMs: " =claimed v1 v2"},
		core.Event{ID: "3-0", At: 3, Op: "running", By: "testrunner@h1#0", Moved: key},
		core.Event{ID: "4-0", At: 4, Op: "revoke", By: "testrunner@h1#0", Moved: key + "=retry>-", VMs: "=dirty v2", Why: "it\nhangs"},
		core.Event{ID: "5-0", At: 5, Op: "exchange", By: "testrunner@h1#0", Moved: key + " a-1=retry>h2", Claimed: "a-1", VMs: "=dirty v1 =claimed v3"},
		core.Event{ID: "6-0", At: 6, Op: "withdraw", By: "-", Moved: "task-1"},
		core.Event{ID: "7-0", At: 7, Op: "settle", By: "taskrunner@h1#0", Moved: "task-1=retry5000"},
		core.Event{ID: "8-0", At: 8, Op: "gone", By: "vmfactory@h1#0", Moved: "v1 v2=quarantined"},
		core.Event{ID: "9-0", At: 9, Op: "lost", By: "-", Moved: "h1", VMs: "=lost v2 v3"},
	)
	_, err = copier(s, events).Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, "1 queued, 2 claimed, 3 running, 4 parked, 5 timed_out", kept(t, s, core.EntityRequest, key))
	require.Equal(t, "2 claimed, 5 queued, 5 claimed", kept(t, s, core.EntityRequest, "a-1"))
	require.Equal(t, "2 claimed, 5 dirty, 8 gone", kept(t, s, core.EntityVM, "v1"))
	require.Equal(t, "2 claimed, 4 dirty, 8 quarantined, 9 lost", kept(t, s, core.EntityVM, "v2"))
	require.Equal(t, "5 claimed, 9 lost", kept(t, s, core.EntityVM, "v3"))
	require.Empty(t, kept(t, s, core.EntityRequest, "task-1"))
	all, err := s.StateChanges(t.Context(), core.StateChangeFilter{Kind: core.EntityRequest, Thing: key})
	require.NoError(t, err)
	require.Equal(t, core.StateChange{
		Kind: core.EntityRequest, Thing: key, At: 4, State: "parked", How: "retry", By: "testrunner@h1#0", Why: "it hangs",
	}, all[1])
	require.Equal(t, "v2", all[3].With)
}

// Whatever stands in the stream, the store takes what is made of it: nothing holds up what follows.
func TestEveryEventCanBeKept(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"a-1", "a-1=retry", "a-1 b-2=x>h", "=dirty v", "testrunner@h1#0", strings.Repeat("x", 10_000), "ü\x00\n", "\xff", "host up", "exchange", "ready",
	}))
	rapid.Check(t, func(t *rapid.T) {
		e := core.Event{
			ID: "5-6", At: 5, Op: text.Draw(t, "op"), By: text.Draw(t, "by"), Moved: text.Draw(t, "moved"), Claimed: text.Draw(t, "claimed"),
			Why: text.Draw(t, "why"), VMs: text.Draw(t, "vms"),
		}
		require.NoError(t, bounds.StateChanges(history.Changes(e)))
	})
}
