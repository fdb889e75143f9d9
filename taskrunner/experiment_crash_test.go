package taskrunner_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"drover/core"
	"drover/core/classes"
	"drover/core/coretest"
	"drover/core/requests/intake"
	"drover/core/school"
)

// dyingStore and dyingIntake let their user die after so many changes.
type dyingStore struct {
	school.ResultStore
	*coretest.Mortal
}

func (d dyingStore) PutExperiment(ctx context.Context, e school.Experiment) (revision int64, err error) {
	err = d.Step("put experiment", func() error {
		revision, err = d.ResultStore.PutExperiment(ctx, e)
		return err
	})
	return revision, err
}

func (d dyingStore) PutAssignment(ctx context.Context, a school.Assignment) (revision int64, err error) {
	err = d.Step("put assignment", func() error {
		revision, err = d.ResultStore.PutAssignment(ctx, a)
		return err
	})
	return revision, err
}

func (d dyingStore) Bind(ctx context.Context, id, from, to string) (bound bool, err error) {
	err = d.Step("bind", func() error {
		bound, err = d.ResultStore.Bind(ctx, id, from, to)
		return err
	})
	return bound, err
}

type dyingIntake struct {
	*intake.Intake
	*coretest.Mortal
}

func (d dyingIntake) Submit(ctx context.Context, spec core.Spec) (row core.Row, created bool, err error) {
	err = d.Step("submit", func() error {
		row, created, err = d.Intake.Submit(ctx, spec)
		return err
	})
	return row, created, err
}

func (d dyingIntake) Cancel(ctx context.Context, id, by string) (state core.RequestState, err error) {
	err = d.Step("cancel", func() error {
		state, err = d.Intake.Cancel(ctx, id, by)
		return err
	})
	return state, err
}

func (d dyingIntake) SubmitTask(ctx context.Context, t core.Task) (made core.Task, created bool, err error) {
	err = d.Step("submit task", func() error {
		made, created, err = d.Intake.SubmitTask(ctx, t)
		return err
	})
	return made, created, err
}

func (d dyingIntake) CancelTask(ctx context.Context, id, by string) (state core.TaskState, err error) {
	err = d.Step("cancel task", func() error {
		state, err = d.Intake.CancelTask(ctx, id, by)
		return err
	})
	return state, err
}

// mortally lets do die after so many changes, and reports whether it came to its end.
func (x *trial) mortally(steps int, do func() error) bool {
	x.t.Helper()
	m := &coretest.Mortal{Steps: steps}
	reg, work, past, parts := *x.reg, x.work, x.past, x.submitter
	x.reg.Store, x.reg.Intake = dyingStore{x.store, m}, dyingIntake{x.in, m}
	x.work, x.past, x.submitter = dyingIntake{x.in, m}, dyingStore{x.store, m}, dyingIntake{x.in, m}
	err := do()
	*x.reg, x.work, x.past, x.submitter = reg, work, past, parts
	if err != nil {
		require.ErrorIs(x.t, err, coretest.ErrDead)
	}
	return err == nil
}

// The caller dies after every step of a start. Nothing blocks the next start for long.
func TestAStartThatDies(t *testing.T) {
	t.Parallel()
	x := newTrial(t, coretest.Real(t), 1)
	ctx := context.Background()
	for steps := 1; ; steps++ {
		x.homework(fmt.Sprint("die", steps), 1)
		ended := x.mortally(steps, func() error {
			_, err := x.reg.StartExperiment(ctx, x.tess, "cs", x.hw, classes.Trial{})
			return err
		})
		tasks, err := x.store.ListTasks(ctx, core.TaskFilter{Kind: school.KindExperiment, States: []core.TaskState{core.TaskQueued}, Limit: 1})
		require.NoError(t, err)
		require.Len(t, tasks, 1, "the task is first")
		if _, err := x.store.GetExperiment(ctx, tasks[0].ID); err == nil {
			x.ready(tasks[0].ID, five)
			_, err := x.reg.AbortExperiment(ctx, x.tess, tasks[0].ID)
			require.NoError(t, err)
		} else {
			end, err := x.try(tasks[0].ID)
			require.NoError(t, err)
			require.Positive(t, end.Later, "it may be on its way")
			_, err = x.reg.StartExperiment(ctx, x.tess, "cs", x.hw, classes.Trial{})
			require.Equal(t, core.CodeConflict, core.CodeOf(err))
			x.now = func() time.Time { return time.Now().Add(time.Hour) }
			end, err = x.try(tasks[0].ID)
			require.NoError(t, err)
			require.Zero(t, end.Later)
			x.now = time.Now
		}
		e := x.begin(classes.Trial{})
		_, err = x.reg.AbortExperiment(ctx, x.tess, e.ID)
		require.NoError(t, err)
		if ended {
			require.Greater(t, steps, 1)
			return
		}
	}
}

// The task and its parts die after every step, and what they do again makes nothing twice.
func TestAnExperimentsTasksThatDie(t *testing.T) {
	t.Parallel()
	x := newTrial(t, coretest.Real(t), 2)
	e := x.begin(classes.Trial{Repeat: 2})
	die := func(id string) {
		for steps := 1; !x.mortally(steps, func() error {
			_, err := x.try(id)
			return err
		}); steps++ {
			require.Less(t, steps, 20)
		}
	}
	die(e.ID)
	parts := x.parts(e.ID)
	require.Len(t, parts, 4)
	for _, part := range parts {
		die(part)
	}
	require.Len(t, x.requests(e.ID), 4)
	x.grade(-1, five)
	die(e.ID)
	_, err := x.try(e.ID)
	require.NoError(t, err)
	require.Equal(t, school.ExperimentReady, x.experiment(e.ID).State)
	require.Equal(t, 4, x.experiment(e.ID).Requests)
}

// Apply dies after every step. There is no way back then, and once more does the rest.
func TestAnApplyThatDies(t *testing.T) {
	t.Parallel()
	x := newTrial(t, coretest.Real(t), 3)
	ctx := context.Background()
	for steps := 1; ; steps++ {
		x.homework(fmt.Sprint("die", steps), 3)
		e := x.begin(classes.Trial{})
		x.ready(e.ID, byRun(e, 9))
		ended := x.mortally(steps, func() error {
			_, err := x.reg.ApplyExperiment(ctx, x.tess, e.ID)
			return err
		})
		x.requireCounting()
		if ended {
			require.Equal(t, 6, steps, "moved, three bound, applied, and one to spare")
			return
		}
		if steps < 5 {
			require.Equal(t, school.ExperimentApplying, x.experiment(e.ID).State)
			_, err := x.reg.AbortExperiment(ctx, x.tess, e.ID)
			require.Equal(t, core.CodeConflict, core.CodeOf(err))
			done, err := x.reg.ApplyExperiment(ctx, x.tess, e.ID)
			require.NoError(t, err)
			require.Equal(t, 3, done.Bound)
			require.Empty(t, done.Skipped)
		}
		require.Equal(t, school.ExperimentApplied, x.experiment(e.ID).State)
		for _, s := range x.standings() {
			require.InDelta(t, 9, *s.Score, 0)
		}
	}
}

// Abort dies after every step. The experiment's task does the rest if it lives still, and
// abort does it in any case.
func TestAnAbortThatDies(t *testing.T) {
	t.Parallel()
	x := newTrial(t, coretest.Real(t), 2)
	ctx := context.Background()
	for _, again := range []bool{true, false} {
		for steps := 1; ; steps++ {
			x.homework(fmt.Sprint("die", steps, "-", again), 2)
			e := x.begin(classes.Trial{Repeat: 2})
			_, err := x.try(e.ID)
			require.NoError(t, err)
			for _, part := range x.parts(e.ID)[:2] {
				_, err := x.try(part)
				require.NoError(t, err)
			}
			ended := x.mortally(steps, func() error {
				_, err := x.reg.AbortExperiment(ctx, x.tess, e.ID)
				return err
			})
			require.Equal(t, school.ExperimentAborted, x.experiment(e.ID).State)
			if again {
				_, err := x.reg.AbortExperiment(ctx, x.tess, e.ID)
				require.NoError(t, err)
			} else {
				for _, id := range append(x.parts(e.ID), e.ID) {
					_, err := x.try(id)
					require.NoError(t, err)
				}
			}
			requests, tasks := x.waiting()
			require.Zero(t, requests, "after step %d", steps)
			require.Zero(t, tasks, "after step %d", steps)
			if ended {
				break
			}
		}
	}
}

// requireCounting requires that what counts for each submission is what it was submitted
// with, or of an experiment that is applied, and there.
func (x *trial) requireCounting() {
	x.t.Helper()
	ctx := context.Background()
	all, err := x.store.ListSubmissions(ctx, school.SubmissionFilter{Class: "cs", Assignment: x.hw, Limit: 1000})
	require.NoError(x.t, err)
	for _, s := range all {
		sub := s.Submission
		row, err := x.store.Get(ctx, sub.Request)
		require.NoError(x.t, err, "what counts for %s", sub.ID)
		require.Equal(x.t, sub.ID, row.Spec.Submission)
		if sub.Request == sub.ID {
			continue
		}
		require.Equal(x.t, core.RequestCompleted, row.State)
		made := false
		experiments, err := x.store.ListExperiments(ctx, "cs", x.hw, 100)
		require.NoError(x.t, err)
		for _, e := range experiments {
			if row.Spec.Assignment == school.ExperimentAssignment(e.ID) {
				made = true
				require.Contains(x.t, []school.ExperimentState{school.ExperimentApplying, school.ExperimentApplied}, e.State)
			}
		}
		require.True(x.t, made)
	}
}

// Whatever is started, killed, submitted, applied and aborted, and when: something
// counts for each submission, and nothing of an experiment that was not applied.
func TestWhateverHappensSomethingCounts(t *testing.T) {
	t.Parallel()
	const students = 2
	x := newTrial(t, coretest.Real(t), students)
	ctx := context.Background()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		x.homework(fmt.Sprint("some", n), students)
		var ids []string
		newest := func() string {
			if len(ids) == 0 {
				rt.Skip("there is none")
			}
			return ids[len(ids)-1]
		}
		judge := func(core.Spec) (float64, string) {
			return float64(rapid.IntRange(0, 10).Draw(rt, "score")), rapid.SampledFrom([]string{"", "", "", "platform", "cancelled"}).Draw(rt, "broken")
		}
		steps := rapid.IntRange(1, 12)
		actions := map[string]func(*rapid.T){
			"start": func(rt *rapid.T) {
				e, err := x.reg.StartExperiment(ctx, x.tess, "cs", x.hw, classes.Trial{Repeat: rapid.IntRange(1, 2).Draw(rt, "repeat")})
				if err == nil {
					ids = append(ids, e.ID)
				} else {
					require.Equal(rt, core.CodeConflict, core.CodeOf(err))
				}
			},
			"tasks": func(rt *rapid.T) {
				id := newest()
				for _, task := range append(x.parts(id), id) {
					x.mortally(steps.Draw(rt, "steps"), func() error { _, err := x.try(task); return err })
				}
			},
			"apply": func(rt *rapid.T) {
				id := newest()
				x.mortally(steps.Draw(rt, "steps"), func() error { return decided(x.reg.ApplyExperiment(ctx, x.tess, id)) })
			},
			"abort": func(rt *rapid.T) {
				id := newest()
				x.mortally(steps.Draw(rt, "steps"), func() error { return decided(x.reg.AbortExperiment(ctx, x.tess, id)) })
			},
			"race": func(*rapid.T) {
				id := newest()
				ended := make(chan error, 4)
				for range 2 {
					go func() { ended <- decided(x.reg.ApplyExperiment(ctx, x.tess, id)) }()
					go func() { ended <- decided(x.reg.AbortExperiment(ctx, x.tess, id)) }()
				}
				for range cap(ended) {
					require.NoError(rt, <-ended)
				}
			},
			"grade":  func(rt *rapid.T) { x.grade(rapid.IntRange(1, 6).Draw(rt, "most"), judge) },
			"submit": func(rt *rapid.T) { x.submit(student(rapid.IntRange(0, students-1).Draw(rt, "who"))) },
			"purge": func(rt *rapid.T) {
				_, err := x.store.Purge(ctx, time.Now().Add(time.Hour), 1000)
				require.NoError(rt, err)
			},
			"": func(*rapid.T) { x.requireCounting() },
		}
		rt.Repeat(actions)
		for _, id := range ids {
			if !x.experiment(id).State.Decided() {
				require.NoError(rt, decided(x.reg.AbortExperiment(ctx, x.tess, id)))
			}
		}
		x.requireCounting()
		x.grade(-1, five)
	})
}

// decided takes for an answer that somebody else was there first, or that it is not the time.
func decided[T any](_ T, err error) error {
	if core.Is(err, core.CodeConflict) && !errors.Is(err, coretest.ErrDead) {
		return nil
	}
	return err
}

// Of many who apply and abort at once, those who are told that it is done all did the same.
func TestApplyAndAbortRace(t *testing.T) {
	t.Parallel()
	x := newTrial(t, coretest.Real(t), 4)
	ctx := context.Background()
	type answer struct {
		did school.ExperimentState
		err error
	}
	for round := range 5 {
		x.homework(fmt.Sprint("race", round), 4)
		e := x.begin(classes.Trial{})
		x.ready(e.ID, byRun(e, 9))
		begin, ended := make(chan struct{}), make(chan answer, 6)
		for range 3 {
			go func() {
				<-begin
				_, err := x.reg.ApplyExperiment(ctx, x.tess, e.ID)
				ended <- answer{school.ExperimentApplied, err}
			}()
			go func() {
				<-begin
				_, err := x.reg.AbortExperiment(ctx, x.tess, e.ID)
				ended <- answer{school.ExperimentAborted, err}
			}()
		}
		close(begin)
		done := map[school.ExperimentState]int{}
		for range cap(ended) {
			a := <-ended
			require.NoError(t, decided(a, a.err))
			if a.err == nil {
				done[a.did]++
			}
		}
		require.Len(t, done, 1, "%v", done)
		state := x.experiment(e.ID).State
		require.Contains(t, done, state)
		want := map[school.ExperimentState]float64{school.ExperimentApplied: 9, school.ExperimentAborted: 5}
		for _, s := range x.standings() {
			require.InDelta(t, want[state], *s.Score, 0)
		}
	}
}
