package classes_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"drover/core"
	"drover/core/classes"
	"drover/core/coretest"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

func (s watched) PutExperiment(ctx context.Context, e school.Experiment) (int64, error) {
	if err := s.step("put experiment"); err != nil {
		return 0, err
	}
	return s.ResultStore.PutExperiment(ctx, e)
}

func (s watched) Bind(ctx context.Context, id, from, to string) (bool, error) {
	if err := s.step("bind"); err != nil {
		return false, err
	}
	return s.ResultStore.Bind(ctx, id, from, to)
}

// experiment puts one of tess's into the store.
func (w *fixture) experiment(handle string, state school.ExperimentState) school.Experiment {
	w.t.Helper()
	e := coretest.PutExperiment(w.t, w.store, school.Experiment{
		ID: newID(), Class: "cs101", Assignment: handle, Repeat: 1, State: state, By: "tess", Created: start,
	})
	w.log.clear()
	return e
}

func experimentCalls() []call {
	in := func(state school.ExperimentState) func(w *fixture, n int) string {
		return func(w *fixture, n int) string { return w.experiment(newHomework(w, n), state).ID }
	}
	return []call{
		{action: core.ActExperiment, method: "StartExperiment", prepare: newGraded, do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.StartExperiment(w.t.Context(), a, "cs101", id, classes.Trial{}))
		}},
		{action: core.ActExperiment, method: "Experiments", prepare: once(asHomework), do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.Experiments(w.t.Context(), a, "cs101", id, 10))
		}},
		{action: core.ActExperiment, method: "ViewExperiment", prepare: once(in(school.ExperimentReady)), do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.ViewExperiment(w.t.Context(), a, id, classes.OutcomePage{}))
		}},
		{action: core.ActExperiment, method: "ExperimentProgress", prepare: once(in(school.ExperimentReady)), do: func(w *fixture, a core.Actor, id string) error {
			_, _, err := w.reg.ExperimentProgress(w.t.Context(), a, id)
			return err
		}},
		{action: core.ActExperiment, method: "ApplyExperiment", prepare: in(school.ExperimentReady), do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.ApplyExperiment(w.t.Context(), a, id))
		}},
		{action: core.ActExperiment, method: "AbortExperiment", prepare: in(school.ExperimentReady), do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.AbortExperiment(w.t.Context(), a, id))
		}},
	}
}

func TestStartExperiment(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	tess := w.as("tess")
	e, err := w.reg.StartExperiment(t.Context(), tess, "cs101", "hw1", classes.Trial{Harness: bytes.NewReader(stockTar(t)), Users: []string{"ann"}, Repeat: 3})
	require.NoError(t, err)
	require.Equal(t, []string{"entry", "submit task", "put experiment"}, w.log.names, "the entry first, then the task, which waits for the experiment")
	got, err := w.store.GetExperiment(t.Context(), e.ID)
	require.NoError(t, err)
	require.Equal(t, got, e)
	require.Equal(t, school.ExperimentRunning, e.State)
	require.True(t, e.Harness.Stock)
	require.Equal(t, []string{"ann"}, e.Users)
	require.Contains(t, w.entries(), "tess starts experiment "+e.ID+" of cs101/hw1 with another harness, on the newest submissions of ann, 3 times each")
	task, err := w.store.GetTask(t.Context(), e.ID)
	require.NoError(t, err)
	require.Equal(t, school.KindExperiment, task.Kind)
	require.Equal(t, "cs101/hw1", task.About)
	require.Equal(t, "tess", task.Requester)
	as, err := w.store.GetAssignment(t.Context(), "cs101", "hw1")
	require.NoError(t, err)
	require.NotEqual(t, e.Harness, as.Harness, "what is tried is only tried")
}

func TestStartExperimentRefuses(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	w.assignment("plain")
	w.assignment("poolless", func(as *school.Assignment) { as.Pool = "" })
	tess := w.as("tess")
	for name, c := range map[string]struct {
		handle string
		trial  classes.Trial
		want   core.Code
	}{
		"often":     {"hw1", classes.Trial{Repeat: school.MaxRepeat + 1}, core.CodeInvalid},
		"never":     {"hw1", classes.Trial{Repeat: -1}, core.CodeInvalid},
		"stranger":  {"hw1", classes.Trial{Users: []string{"eve"}}, core.CodeNotFound},
		"twice":     {"hw1", classes.Trial{Users: []string{"ann", "ann"}}, core.CodeInvalid},
		"no name":   {"hw1", classes.Trial{Users: []string{"Ann"}}, core.CodeInvalid},
		"no tar":    {"hw1", classes.Trial{Harness: strings.NewReader("x")}, core.CodeInvalid},
		"ungraded":  {"plain", classes.Trial{}, core.CodeInvalid},
		"no pool":   {"poolless", classes.Trial{Harness: bytes.NewReader(harnessTar(t))}, core.CodeInvalid},
		"not there": {"hw9", classes.Trial{}, core.CodeNotFound},
	} {
		_, err := w.reg.StartExperiment(t.Context(), tess, "cs101", c.handle, c.trial)
		require.Equal(t, c.want, core.CodeOf(err), "%s: %v", name, err)
	}
	require.Empty(t, w.log.names)
}

// An assignment has one experiment at a time, whatever the state it waits in.
func TestOneExperimentAtATime(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	tess := w.as("tess")
	for _, state := range []school.ExperimentState{school.ExperimentRunning, school.ExperimentReady, school.ExperimentApplying} {
		handle := "in-" + string(state)
		w.graded(handle)
		e := w.experiment(handle, state)
		_, err := w.reg.StartExperiment(t.Context(), tess, "cs101", handle, classes.Trial{})
		requireCode(t, core.CodeConflict, err)
		require.ErrorContains(t, err, e.ID)
		require.Empty(t, w.log.names)
	}
	for _, state := range []school.ExperimentState{school.ExperimentApplied, school.ExperimentAborted} {
		handle := "in-" + string(state)
		w.graded(handle)
		w.experiment(handle, state)
		_, err := w.reg.StartExperiment(t.Context(), tess, "cs101", handle, classes.Trial{})
		require.NoError(t, err)
	}
}

// Of many that start at once one does; the others are told, and leave nothing that blocks.
func TestManyStartOneExperiment(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	tess := w.as("tess")
	const many = 8
	ended := make(chan error, many)
	for range many {
		go func() {
			ended <- done(w.reg.StartExperiment(context.Background(), tess, "cs101", "hw1", classes.Trial{}))
		}()
	}
	began := 0
	for range many {
		if err := <-ended; err == nil {
			began++
		} else {
			requireCode(t, core.CodeConflict, err)
		}
	}
	require.Equal(t, 1, began)
	all, err := w.reg.Experiments(t.Context(), tess, "cs101", "hw1", 10)
	require.NoError(t, err)
	require.Len(t, all, 1)
}

// A start whose experiment cannot be stored takes its task back.
func TestAStartThatFailsLeavesNoTask(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	w.reg.Store = refusing{w.store}
	_, err := w.reg.StartExperiment(t.Context(), w.as("tess"), "cs101", "hw1", classes.Trial{})
	requireCode(t, core.CodeUnavailable, err)
	tasks, err := w.store.ListTasks(t.Context(), core.TaskFilter{Kind: school.KindExperiment})
	require.NoError(t, err)
	require.Len(t, tasks, 1)
	require.Equal(t, core.TaskCancelled, tasks[0].State)
	w.reg.Store = w.store
	_, err = w.reg.StartExperiment(t.Context(), w.as("tess"), "cs101", "hw1", classes.Trial{})
	require.NoError(t, err)
}

// refusing is a store that takes no experiments.
type refusing struct{ school.ResultStore }

func (refusing) PutExperiment(context.Context, school.Experiment) (int64, error) { return 0, errBroken }

// States decide what may be done.
func TestExperimentsAreDecidedOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	tess := w.as("tess")
	for _, c := range []struct {
		state        school.ExperimentState
		apply, abort core.Code
	}{
		{school.ExperimentRunning, core.CodeConflict, ""},
		{school.ExperimentReady, "", ""},
		{school.ExperimentApplying, "", core.CodeConflict},
		{school.ExperimentApplied, core.CodeConflict, core.CodeConflict},
		{school.ExperimentAborted, core.CodeConflict, ""},
	} {
		handle := "is-" + string(c.state)
		w.graded(handle)
		_, err := w.reg.ApplyExperiment(t.Context(), tess, w.experiment(handle, c.state).ID)
		require.Equal(t, c.apply, core.CodeOf(err), "apply %s: %v", c.state, err)
		_, err = w.reg.AbortExperiment(t.Context(), tess, w.experiment(handle, c.state).ID)
		require.Equal(t, c.abort, core.CodeOf(err), "abort %s: %v", c.state, err)
	}
	_, err := w.reg.ApplyExperiment(t.Context(), tess, newID())
	requireCode(t, core.CodeNotFound, err)
}

// between is a store where something happens just before an experiment is moved.
type between struct {
	classes.Store
	what func()
}

func (b *between) PutExperiment(ctx context.Context, e school.Experiment) (int64, error) {
	if what := b.what; what != nil {
		b.what = nil
		what()
	}
	return b.Store.PutExperiment(ctx, e)
}

// Who was there first has decided, also where both saw that nobody had.
func TestWhoDecidesFirst(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	tess, store := w.as("tess"), w.reg.Store
	w.graded("hw1")
	apply := func(id string) error { return done(w.reg.ApplyExperiment(t.Context(), tess, id)) }
	abort := func(id string) error { return done(w.reg.AbortExperiment(t.Context(), tess, id)) }
	for _, c := range []struct {
		first, second func(id string) error
		want          school.ExperimentState
	}{{apply, abort, school.ExperimentApplied}, {abort, apply, school.ExperimentAborted}} {
		e := w.experiment("hw1", school.ExperimentReady)
		var err error
		w.reg.Store = &between{store, func() { err = c.first(e.ID) }}
		requireCode(t, core.CodeConflict, c.second(e.ID))
		require.NoError(t, err)
		w.reg.Store = store
		got, err := store.GetExperiment(t.Context(), e.ID)
		require.NoError(t, err)
		require.Equal(t, c.want, got.State)
	}
}
