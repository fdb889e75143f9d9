package taskrunner

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"drover/core"
	"drover/core/school"
	"drover/core/store/storetest"
)

// stopper cancels requests as intake does: claimed ones end later.
type stopper struct {
	store   school.ResultStore
	running map[string]bool
}

// Cancel implements Canceller.
func (c *stopper) Cancel(ctx context.Context, id, by string) (core.RequestState, error) {
	row, err := c.store.Get(ctx, id)
	switch {
	case err != nil:
		return "", err
	case row.State.Terminal():
		return row.State, core.Errorf(core.CodeEnded, id, "it has ended")
	case c.running[id]:
		return core.RequestCancelling, nil
	}
	return core.RequestCancelled, c.stop(ctx, row.Spec, by)
}

// CancelTask implements Canceller.
func (c *stopper) CancelTask(ctx context.Context, id, by string) (core.TaskState, error) {
	_, err := c.store.EndTask(ctx, core.TaskEnd{ID: id, Generation: 1, State: core.TaskCancelled, Note: "cancelled by " + by})
	return core.TaskCancelled, err
}

func (c *stopper) stop(ctx context.Context, spec core.Spec, by string) error {
	_, err := c.store.Record(ctx, core.Result{
		ID: spec.ID, Generation: spec.Generation, State: core.RequestCancelled, Reason: "cancelled by " + by, Pool: spec.Pool,
		Times: core.Times{Submitted: spec.Submitted, Claimed: -1, Started: -1},
	})
	return err
}

func (s *campus) deletion() *Deletion {
	return &Deletion{Store: s.store, Work: &stopper{store: s.store}, Clock: s.clock}
}

// mark says that a class or an assignment is being deleted.
func (s *campus) mark(class, assignment string) {
	s.t.Helper()
	if assignment != "" {
		a, err := s.store.GetAssignment(s.ctx, class, assignment)
		require.NoError(s.t, err)
		a.Deleting = true
		_, err = s.store.PutAssignment(s.ctx, a)
		require.NoError(s.t, err)
		return
	}
	c, err := s.store.GetClass(s.ctx, class)
	require.NoError(s.t, err)
	c.Deleting = true
	_, err = s.store.PutClass(s.ctx, c)
	require.NoError(s.t, err)
}

// busy fills an assignment: graded and waiting submissions, an experiment with its
// requests, a deadline.
func (s *campus) busy(class, handle, user string, submissions int) {
	s.t.Helper()
	name := class + "/" + handle
	e := school.Experiment{
		ID: strings.ToLower(storetest.NewID()), Class: class, Assignment: handle, Repeat: 1, State: school.ExperimentRunning, By: "tea",
	}
	_, err := s.store.PutExperiment(s.ctx, e)
	require.NoError(s.t, err)
	for i := range submissions {
		sub := s.graded(name, user, time.Duration(i)*time.Minute, float64(i))
		s.request(sub, school.ExperimentAssignment(e.ID))
	}
	sub := s.submit(name, user, 0, s.files("b.c", name))
	s.request(sub, name)
	require.NoError(s.t, s.store.PutDeadline(s.ctx, school.Deadline{Class: class, Assignment: handle, User: user, Due: 5, By: "tea"}))
}

// about is everything that the store has about a class, or one of its assignments.
func (s *campus) about(class, assignment string) (all []string) {
	s.t.Helper()
	add := func(what string, x any, err error) {
		require.NoError(s.t, err)
		all = append(all, fmt.Sprintf("%s %+v", what, x))
	}
	if assignment == "" {
		if c, err := s.store.GetClass(s.ctx, class); !core.Is(err, core.CodeNotFound) {
			add("class", c, err)
		}
		members, err := s.store.Members(s.ctx, class, "", 1000)
		require.NoError(s.t, err)
		for _, m := range members {
			add("member", m, nil)
		}
		schedules, err := s.store.ListSchedules(s.ctx)
		require.NoError(s.t, err)
		for _, x := range schedules {
			if x.About == class || strings.HasPrefix(x.About, class+"/") {
				add("schedule", x, nil)
			}
		}
	}
	assignments, err := s.store.ListAssignments(s.ctx, class, "", 1000)
	require.NoError(s.t, err)
	for _, a := range assignments {
		if assignment != "" && a.Handle != assignment {
			continue
		}
		add("assignment", a, nil)
		deadlines, err := s.store.Deadlines(s.ctx, class, a.Handle, "")
		for _, d := range deadlines {
			add("deadline", d, err)
		}
		submissions, err := s.store.ListSubmissions(s.ctx, school.SubmissionFilter{Class: class, Assignment: a.Handle, Limit: 1000})
		for _, x := range submissions {
			add("submission", x.Submission.ID+" "+string(x.State), err)
		}
		experiments, err := s.store.ListExperiments(s.ctx, class, a.Handle, 1000)
		require.NoError(s.t, err)
		names := []string{a.Name()}
		for _, e := range experiments {
			add("experiment", e, nil)
			names = append(names, school.ExperimentAssignment(e.ID))
		}
		for _, name := range names {
			rows, err := s.store.List(s.ctx, core.Filter{Assignment: name, Limit: 1000})
			for _, r := range rows {
				add("request", r.Spec.ID+" "+string(r.State), err)
			}
		}
	}
	return all
}

// requests counts those that the store has, of whatever.
func (s *campus) requests() int {
	rows, err := s.store.List(s.ctx, core.Filter{Limit: 1000})
	require.NoError(s.t, err)
	return len(rows)
}

func TestDeleteAssignment(t *testing.T) {
	t.Parallel()
	s := newClass(t)
	s.busy("cs", "hw1", "ann", 3)
	s.busy("cs", "hw2", "ann", 2)
	other, requests := s.about("cs", "hw2"), s.requests()
	_, err := s.run(s.deletion().Assignment(), school.DeleteArgs{Class: "cs", Assignment: "hw1"})
	require.True(t, core.Is(err, core.CodeInvalid), "only what was marked: %v", err)
	require.Equal(t, requests, s.requests())

	s.mark("cs", "hw1")
	end, err := s.run(s.deletion().Assignment(), school.DeleteArgs{Class: "cs", Assignment: "hw1"})
	require.NoError(t, err)
	require.Zero(t, end.Later)
	require.Equal(t, "cs/hw1 is gone, with its last 4 submissions", end.Note)
	require.Empty(t, s.about("cs", "hw1"))
	require.Equal(t, other, s.about("cs", "hw2"))
	require.Equal(t, requests-7, s.requests())
	for range 2 { // again is fine
		end, err = s.run(s.deletion().Assignment(), school.DeleteArgs{Class: "cs", Assignment: "hw1"})
		require.NoError(t, err)
		require.Zero(t, end.Later)
	}
}

func TestDeleteClass(t *testing.T) {
	t.Parallel()
	s := newClass(t)
	s.class("ma", "hw1")
	s.user("ann", "", "ma", core.RoleStudent)
	for _, name := range []string{"cs/hw1", "cs/hw2", "ma/hw1"} {
		class, handle, _ := strings.Cut(name, "/")
		s.busy(class, handle, "ann", 2)
		for i, about := range []string{class, name} {
			x := core.Schedule{Name: fmt.Sprint(class, "-", handle, "-", i), Cron: "@daily", Kind: school.KindGradebook, Priority: core.PriorityNormal, About: about}
			_, err := s.store.PutSchedule(s.ctx, x)
			require.NoError(t, err)
		}
	}
	for name, about := range map[string]string{"purge": "", "alike": "cs2/hw1"} {
		_, err := s.store.PutSchedule(s.ctx, core.Schedule{Name: name, Cron: "@daily", Kind: core.KindPurge, Priority: core.PriorityNormal, About: about})
		require.NoError(t, err)
	}
	other := s.about("ma", "")
	_, err := s.run(s.deletion().Class(), school.DeleteArgs{Class: "cs"})
	require.True(t, core.Is(err, core.CodeInvalid), "only what was marked: %v", err)

	s.mark("cs", "")
	end, err := s.run(s.deletion().Class(), school.DeleteArgs{Class: "cs"})
	require.NoError(t, err)
	require.Zero(t, end.Later)
	require.Equal(t, "cs is gone, with its last 6 submissions", end.Note)
	require.Empty(t, s.about("cs", ""))
	require.Equal(t, other, s.about("ma", ""))
	left, err := s.store.ListSchedules(s.ctx)
	require.NoError(t, err)
	require.Len(t, left, 4, "those of ma and of nobody here")
	end, err = s.run(s.deletion().Class(), school.DeleteArgs{Class: "cs"})
	require.NoError(t, err)
	require.Zero(t, end.Later)
}

func TestArgumentsOfADeletion(t *testing.T) {
	t.Parallel()
	s := newClass(t)
	s.mark("cs", "")
	for _, k := range []Kind{s.deletion().Class(), s.deletion().Assignment()} {
		args := school.DeleteArgs{Class: "cs"}
		if k.Name == school.KindDeleteClass {
			args.Assignment = "hw1"
		}
		_, err := s.run(k, args)
		require.True(t, core.Is(err, core.CodeInvalid), err)
	}
	require.NotEmpty(t, s.about("cs", ""))
}

// task makes a task about something.
func (s *campus) task(id, kind, about string) {
	s.t.Helper()
	_, err := s.store.CreateTask(s.ctx, core.Task{ID: id, Generation: 1, Kind: kind, About: about})
	require.NoError(s.t, err)
}

func (s *campus) state(id string) core.TaskState {
	s.t.Helper()
	task, err := s.store.GetTask(s.ctx, id)
	require.NoError(s.t, err)
	return task.State
}

// What else is to be done about the thing is cancelled, and nothing besides.
func TestADeletionCancelsOtherTasks(t *testing.T) {
	t.Parallel()
	about := map[string]string{
		"t1": "cs/hw1", "archive": "cs/hw1", "hw10": "cs/hw10", "hw2": "cs/hw2", "gradebook": "cs", "other": "cs2", "others": "cs2/hw1", "purge": "",
	}
	for doomed, want := range map[string][]string{"hw1": {"archive"}, "": {"archive", "gradebook", "hw10", "hw2"}} {
		s := newClass(t)
		for id, name := range about {
			s.task(id, school.KindArchive, name)
		}
		s.mark("cs", doomed)
		k := s.deletion().Class()
		if doomed != "" {
			k = s.deletion().Assignment()
		}
		_, err := s.run(k, school.DeleteArgs{Class: "cs", Assignment: doomed})
		require.NoError(t, err)
		var got []string
		for id := range about {
			if s.state(id) == core.TaskCancelled {
				got = append(got, id)
			}
		}
		slices.Sort(got)
		require.Equal(t, want, got)
	}
}

// A request that an owner has ends in its own time: the deletion waits for it, and
// continues with all the rest in the meantime.
func TestADeletionWaitsForWhatIsInHand(t *testing.T) {
	t.Parallel()
	s := newClass(t)
	s.busy("cs", "hw1", "ann", 2)
	s.busy("cs", "hw2", "ann", 2)
	sub := s.submit("cs/hw1", "bob", 0, nil)
	slow := s.request(sub, "cs/hw1")
	s.mark("cs", "")
	d := s.deletion()
	c := &stopper{store: s.store, running: map[string]bool{slow.ID: true}}
	d.Work = c
	for range 3 {
		job := s.job(d.Class(), school.DeleteArgs{Class: "cs"})
		job.teller = newTeller(s.clock, time.Hour, nil)
		end, err := d.Class().Handle(s.ctx, job)
		require.NoError(t, err)
		require.Equal(t, lookAgain, end.Later)
		require.Equal(t, "waiting until the requests of 1 submissions have ended", job.teller.progress().Text)
		subs, err := s.store.ListSubmissions(s.ctx, school.SubmissionFilter{Class: "cs"})
		require.NoError(t, err)
		require.Len(t, subs, 1)
		require.Empty(t, s.about("cs", "hw2"))
	}
	require.NoError(t, c.stop(s.ctx, slow, "its owner"))
	end, err := s.run(d.Class(), school.DeleteArgs{Class: "cs"})
	require.NoError(t, err)
	require.Zero(t, end.Later)
	require.Empty(t, s.about("cs", ""))
	require.Zero(t, s.requests())
}

// A long deletion gives way to others now and then.
func TestADeletionTakesTurns(t *testing.T) {
	t.Parallel()
	s := newClass(t)
	for range deletedAtOnce + 1 {
		s.submit("cs/hw1", "ann", 0, nil)
	}
	s.mark("cs", "hw1")
	d := s.deletion()
	k := d.Assignment()
	w := d.begin(s.job(k, nil))
	s.clock.Advance(deletionTurn + time.Second)
	a, err := s.store.GetAssignment(s.ctx, "cs", "hw1")
	require.NoError(t, err)
	done, err := w.assignment(s.ctx, &a)
	require.NoError(t, err)
	require.False(t, done)
	require.EqualValues(t, deletedAtOnce, w.removed)
	end, err := s.run(k, school.DeleteArgs{Class: "cs", Assignment: "hw1"})
	require.NoError(t, err)
	require.Zero(t, end.Later)
}

// Each call that a deletion makes fails once, before or after it took effect; the
// next try goes on.
func TestADeletionThatIsCutShortGoesOn(t *testing.T) {
	t.Parallel()
	calls := 0
	for _, after := range []bool{false, true} {
		for at := 1; ; at++ {
			s := newClass(t)
			s.class("ma", "hw1")
			s.user("ann", "", "ma", core.RoleStudent)
			s.busy("cs", "hw1", "ann", 2)
			s.busy("cs", "hw2", "bob", 1)
			s.busy("ma", "hw1", "ann", 1)
			_, err := s.store.PutSchedule(s.ctx, core.Schedule{Name: "grades", Cron: "@daily", Kind: school.KindGradebook, Priority: core.PriorityNormal, About: "cs"})
			require.NoError(t, err)
			s.task("t2", school.KindArchive, "cs/hw1")
			other := s.about("ma", "")
			s.mark("cs", "")
			f := &faulty{ResultStore: s.store, at: at, after: after}
			d := &Deletion{Store: f, Work: &stopper{store: f}, Clock: s.clock}
			_, err = s.run(d.Class(), school.DeleteArgs{Class: "cs"})
			if f.n < at {
				require.NoError(t, err)
				calls = at
				break
			}
			require.ErrorIs(t, err, errLost, "call %d", at)
			end, err := s.run(d.Class(), school.DeleteArgs{Class: "cs"})
			require.NoError(t, err, "call %d", at)
			require.Zero(t, end.Later)
			require.Empty(t, s.about("cs", ""), "call %d", at)
			require.Equal(t, other, s.about("ma", ""))
			require.Equal(t, core.TaskCancelled, s.state("t2"))
		}
	}
	require.Greater(t, calls, 20)
}

// Whatever there is, a deletion takes all of what it names and nothing else.
func TestADeletionTakesNothingElse(t *testing.T) {
	t.Parallel()
	s := newCampus(t)
	round := 0
	rapid.Check(t, func(t *rapid.T) {
		s.t = t
		round++
		classes := []string{fmt.Sprint("cs", round), fmt.Sprint("cs", round, "x")}
		hws := []string{"hw", "hw1", "hw10"}
		for _, class := range classes {
			s.class(class, hws...)
			for _, user := range []string{"ann", "bob"} {
				s.user(user, "", class, rapid.SampledFrom([]core.UserRole{core.RoleStudent, core.RoleTeacher}).Draw(t, "role"))
			}
			for range rapid.IntRange(0, 6).Draw(t, "things") {
				s.busy(class, rapid.SampledFrom(hws).Draw(t, "assignment"), rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "user"), rapid.IntRange(0, 2).Draw(t, "submissions"))
			}
		}
		doomed := rapid.SampledFrom(append([]string{""}, hws...)).Draw(t, "doomed")
		k, args := s.deletion().Class(), school.DeleteArgs{Class: classes[0]}
		others := func() []string { return s.about(classes[1], "") }
		if doomed != "" {
			k, args = s.deletion().Assignment(), school.DeleteArgs{Class: classes[0], Assignment: doomed}
			others = func() []string {
				all := s.about(classes[1], "")
				for _, hw := range slices.DeleteFunc(slices.Clone(hws), func(hw string) bool { return hw == doomed }) {
					all = append(all, s.about(classes[0], hw)...)
				}
				return all
			}
		}
		before := others()
		s.mark(classes[0], doomed)
		end, err := s.run(k, args)
		require.NoError(t, err)
		require.Zero(t, end.Later)
		require.Empty(t, s.about(classes[0], doomed))
		require.Equal(t, before, others())
	})
}
