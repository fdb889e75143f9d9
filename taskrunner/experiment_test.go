package taskrunner_test

import (
	"bytes"
	"context"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/classes"
	"drover/core/classes/experiment"
	"drover/core/coretest"
	"drover/core/requests/intake"
	"drover/core/school"
)

// An assignment is rerun by another harness, thrice each; what comes out is shown
// against what was, counts for nothing, and counts once it is applied.
func TestAnExperimentIsMadeShownAndApplied(t *testing.T) {
	t.Parallel()
	b := coretest.Real(t)
	ctx := context.Background()
	x := newTrial(t, b, 4)
	was := x.standings()
	e := x.begin(classes.Trial{Harness: bytes.NewReader(x.tar("new")), Repeat: 3})
	x.spread(e.ID)
	made := x.requests(e.ID)
	require.Len(t, made, 12)
	for _, row := range made {
		s := row.Spec
		require.Equal(t, core.PriorityLow, s.Priority)
		require.Equal(t, "experiment-cs", s.Submitter)
		require.Equal(t, e.Harness.File, *s.Harness)
		require.False(t, s.Supersede)
		first, err := x.store.Get(ctx, s.Instead)
		require.NoError(t, err)
		require.Equal(t, untimed(first.Spec.Input), untimed(s.Input), "the harness is told the same")
		require.Equal(t, first.Spec.Files, s.Files)
	}
	end, err := x.try(e.ID)
	require.NoError(t, err)
	require.Positive(t, end.Later, "none has ended")
	_, err = x.reg.ApplyExperiment(ctx, x.tess, e.ID)
	require.Equal(t, core.CodeConflict, core.CodeOf(err))

	flaky := was[student(0)].Submission.ID
	lost := was[student(1)].Submission.ID
	note := x.ready(e.ID, func(spec core.Spec) (float64, string) {
		switch spec.Submission {
		case flaky:
			return byRun(e, 5, 10, 5)(spec)
		case lost:
			return 0, "platform"
		}
		return 10, ""
	})
	require.Equal(t, "ready: 2 of 4 submissions get another verdict, 2 another verdict or score; 2 gain points, 0 lose; flaky: 1 of 3 (33.3 %); without a result: 1", note.Note)
	v, err := x.reg.ViewExperiment(ctx, x.tess, e.ID, classes.OutcomePage{})
	require.NoError(t, err)
	require.Equal(t, []experiment.Cell{{Old: "partial", New: "partial", Count: 1}, {Old: "partial", New: "passed", Count: 2}, {Old: "partial", New: "platform fault", Count: 1}}, v.Summary.Matrix)
	require.Len(t, v.Outcomes, 4)
	require.True(t, v.Outcomes[0].Flaky)
	require.False(t, v.Outcomes[0].Differs)
	require.InDelta(t, 5, *v.Outcomes[2].Difference, 0)
	require.Equal(t, student(2), v.Outcomes[2].User)
	require.Equal(t, was, x.standings(), "nothing counts yet")

	// One submits anew, another is graded by a person.
	x.submit(student(3))
	x.grade(-1, func(core.Spec) (float64, string) { return 1, "" })
	require.NoError(t, x.store.SetGrade(ctx, was[student(2)].Submission.ID, &school.Grade{Score: 3, By: "tess", Reason: "talk"}))
	done, err := x.reg.ApplyExperiment(ctx, x.tess, e.ID)
	require.NoError(t, err)
	require.Equal(t, school.ExperimentApplied, done.Experiment.State)
	require.Equal(t, 2, done.Bound)
	require.Equal(t, []classes.Skipped{
		{Submission: lost, User: student(1), Why: "none of its runs came to a result"},
		{Submission: was[student(3)].Submission.ID, User: student(3), Why: student(3) + " has submitted anew since"},
	}, done.Skipped)
	is := x.standings()
	require.Equal(t, experiment.RequestID(e.ID, flaky, 0), is[student(0)].Submission.Request)
	require.Equal(t, was[student(1)], is[student(1)])
	require.InDelta(t, 3, *is[student(2)].Score, 0, "a person's grade stays")
	require.Equal(t, experiment.RequestID(e.ID, was[student(2)].Submission.ID, 0), is[student(2)].Submission.Request)
	as, err := x.store.GetAssignment(ctx, "cs", "hw1")
	require.NoError(t, err)
	require.Equal(t, e.Harness.File, as.Harness.File)
	after, err := x.reg.ViewExperiment(ctx, x.tess, e.ID, classes.OutcomePage{})
	require.NoError(t, err)
	require.Equal(t, v.Outcomes, after.Outcomes, "it still shows what was")
	_, err = x.reg.ApplyExperiment(ctx, x.tess, e.ID)
	require.Equal(t, core.CodeConflict, core.CodeOf(err))
	coretest.RequireSound(t, x.redis)
}

// untimed leaves out the moment of submitting, which is known to the millisecond only
// once the first request is there.
func untimed(input []byte) string {
	return regexp.MustCompile(`"timestamp":"[^"]*"`).ReplaceAllString(string(input), "")
}

// What counts outlasts a purge; what was not applied goes.
func TestAppliedResultsOutlastAPurge(t *testing.T) {
	t.Parallel()
	x := newTrial(t, coretest.Real(t), 2)
	ctx := context.Background()
	first := x.begin(classes.Trial{Repeat: 2})
	x.ready(first.ID, byRun(first, 7, 8))
	_, err := x.reg.ApplyExperiment(ctx, x.tess, first.ID)
	require.NoError(t, err)
	second := x.begin(classes.Trial{})
	x.ready(second.ID, byRun(second, 9))
	_, err = x.reg.AbortExperiment(ctx, x.tess, second.ID)
	require.NoError(t, err)
	_, err = x.store.Purge(ctx, time.Now().Add(time.Hour), 1000)
	require.NoError(t, err)
	require.Empty(t, x.requests(second.ID))
	require.Len(t, x.requests(first.ID), 2, "the runs that count")
	for _, s := range x.standings() {
		require.Equal(t, core.RequestCompleted, s.State)
		require.InDelta(t, 7, *s.Score, 0)
	}
	v, err := x.reg.ViewExperiment(ctx, x.tess, first.ID, classes.OutcomePage{})
	require.NoError(t, err)
	require.InDelta(t, 5, *v.Outcomes[0].Old.Score, 0, "what counted before is there still")
}

// A class's experiments take one turn, of low weight: who submits something
// meanwhile is graded before the rest of it.
func TestAnExperimentTakesOneTurn(t *testing.T) {
	t.Parallel()
	x := newTrial(t, coretest.Real(t), 10)
	e := x.begin(classes.Trial{Repeat: 2})
	x.spread(e.ID)
	x.grade(3, five)
	x.submit(student(4))
	order := x.grade(-1, five)
	require.Len(t, order, 18)
	require.Contains(t, order[:2], student(4))
}

// Two hundred requests wait and some run. When abort returns none waits.
func TestAbortLeavesNothingWaiting(t *testing.T) {
	t.Parallel()
	b := coretest.Real(t)
	ctx := context.Background()
	x := newTrial(t, b, 20)
	was := x.standings()
	e := x.begin(classes.Trial{Repeat: 10})
	x.spread(e.ID)
	x.cluster.AddVMs(t, 2)
	x.seq++
	running := x.cluster.Exchange(t, x.seq, 2).Claims
	require.Len(t, running, 2)
	requests, _ := x.waiting()
	require.Equal(t, 198, requests)
	e, err := x.reg.AbortExperiment(ctx, x.tess, e.ID)
	require.NoError(t, err)
	require.Equal(t, school.ExperimentAborted, e.State)
	requests, tasks := x.waiting()
	require.Zero(t, requests)
	require.Zero(t, tasks)
	open := x.requests(e.ID, core.RequestQueued)
	require.Len(t, open, 2, "these run, and their owner hears of it")
	for _, row := range open {
		place, err := x.redis.Locate(ctx, row.Spec.Key())
		require.NoError(t, err)
		require.Equal(t, core.RequestCancelling, place.State)
	}
	require.Equal(t, was, x.standings())
	_, err = x.reg.AbortExperiment(ctx, x.tess, e.ID)
	require.NoError(t, err, "again is fine")
	_, err = x.reg.StartExperiment(ctx, x.tess, "cs", "hw1", classes.Trial{})
	require.NoError(t, err, "and there is room for another one")
}

// Also where the task has died, and stops its parts no more.
func TestAbortWithoutItsTask(t *testing.T) {
	t.Parallel()
	x := newTrial(t, coretest.Real(t), 3)
	e := x.begin(classes.Trial{})
	_, err := x.try(e.ID)
	require.NoError(t, err)
	_, err = x.store.EndTask(context.Background(), core.TaskEnd{ID: e.ID, Generation: 1, State: core.TaskDead, Note: "it went wrong"})
	require.NoError(t, err)
	_, err = x.redis.WithdrawTask(context.Background(), core.Key(e.ID, 1))
	require.NoError(t, err)
	require.Len(t, x.parts(e.ID), 3)
	_, err = x.reg.AbortExperiment(context.Background(), x.tess, e.ID)
	require.NoError(t, err)
	require.Empty(t, x.parts(e.ID))
	_, tasks := x.waiting()
	require.Zero(t, tasks)
}

// A part whose experiment is aborted while it makes its request takes that back.
func TestAnAbortBetweenAPartsTwoSteps(t *testing.T) {
	t.Parallel()
	x := newTrial(t, coretest.Real(t), 1)
	e := x.begin(classes.Trial{})
	_, err := x.try(e.ID)
	require.NoError(t, err)
	x.work = meanwhile{x.in, func() {
		e := x.experiment(e.ID)
		e.State = school.ExperimentAborted
		_, err := x.store.PutExperiment(context.Background(), e)
		require.NoError(t, err)
	}}
	_, err = x.try(x.parts(e.ID)[0])
	require.NoError(t, err)
	requests, _ := x.waiting()
	require.Zero(t, requests)
	require.Equal(t, core.RequestCancelled, x.requests(e.ID)[0].State)
}

// meanwhile is an intake where something happens just before it accepts.
type meanwhile struct {
	*intake.Intake
	what func()
}

func (m meanwhile) Submit(ctx context.Context, spec core.Spec) (core.Row, bool, error) {
	m.what()
	return m.Intake.Submit(ctx, spec)
}

// Where there is no room a part waits for it and uses no attempt up.
func TestAPartWaitsForRoom(t *testing.T) {
	t.Parallel()
	x := newTrial(t, coretest.Real(t), 3)
	pool := core.DefaultPool("default")
	pool.MaxWaiting = 1
	require.NoError(t, x.in.SetPool(context.Background(), pool))
	e := x.begin(classes.Trial{})
	_, err := x.try(e.ID)
	require.NoError(t, err)
	parts := x.parts(e.ID)
	require.Len(t, parts, 3)
	end, err := x.try(parts[0])
	require.NoError(t, err)
	require.Zero(t, end.Later)
	for range 2 {
		end, err = x.try(parts[1])
		require.NoError(t, err)
		require.Positive(t, end.Later)
	}
	end, err = x.try(e.ID)
	require.NoError(t, err)
	require.Positive(t, end.Later)
	x.grade(-1, five)
	x.in.Now = func() time.Time { return time.Now().Add(time.Minute) } // it forgets that there was no room
	for len(x.parts(e.ID)) > 0 {
		for _, part := range x.parts(e.ID) {
			_, err := x.try(part)
			require.NoError(t, err)
			x.grade(-1, five)
		}
		x.in.Now = func() time.Time { return time.Now().Add(time.Hour) }
	}
	end, err = x.try(e.ID)
	require.NoError(t, err)
	require.Zero(t, end.Later)
	require.Equal(t, 3, x.experiment(e.ID).Requests)
}

// What can be rerun by nothing does not hold the others up, and is told.
func TestPartsThatDie(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	x := newTrial(t, coretest.Real(t), 2)
	e := x.begin(classes.Trial{})
	_, err := x.try(e.ID)
	require.NoError(t, err)
	_, err = x.reg.RemoveHarness(ctx, x.tess, "cs", "hw1")
	require.NoError(t, err)
	for _, part := range x.parts(e.ID) {
		_, err := x.try(part)
		require.Equal(t, core.CodeInvalid, core.CodeOf(err))
		_, err = x.store.EndTask(ctx, core.TaskEnd{ID: part, Generation: 1, State: core.TaskDead, Note: err.Error()})
		require.NoError(t, err)
	}
	end, err := x.try(e.ID)
	require.NoError(t, err)
	require.Zero(t, end.Later)
	require.Equal(t, school.ExperimentReady, x.experiment(e.ID).State)
}

func TestAnExperimentOfNothingIsReadyAtOnce(t *testing.T) {
	t.Parallel()
	x := newTrial(t, coretest.Real(t), 0)
	e := x.begin(classes.Trial{})
	end, err := x.try(e.ID)
	require.NoError(t, err)
	require.Zero(t, end.Later)
	require.Equal(t, school.ExperimentReady, x.experiment(e.ID).State)
	done, err := x.reg.ApplyExperiment(context.Background(), x.tess, e.ID)
	require.NoError(t, err)
	require.Zero(t, done.Bound)
}

// Only the users that it names, and only submissions that existed when it began.
func TestWhatAnExperimentReruns(t *testing.T) {
	t.Parallel()
	x := newTrial(t, coretest.Real(t), 4)
	more := school.Deadline{Class: "cs", Assignment: x.hw, User: student(2), Due: time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()}
	require.NoError(t, x.reg.SetDeadline(t.Context(), x.tess, more))
	e := x.begin(classes.Trial{Users: []string{student(1), student(2)}, Repeat: 2})
	x.submit(student(1))
	x.spread(e.ID)
	want := x.standings()[student(2)].Submission.ID
	for _, row := range x.requests(e.ID) {
		require.Equal(t, want, row.Spec.Submission)
		require.Contains(t, string(row.Spec.Input), "2999-01-01", "the user's own deadline counts")
	}
	require.Len(t, x.requests(e.ID), 2)
}
