package taskrunner

import (
	"context"
	"fmt"
	"strings"
	"time"

	"drover/core"
	"drover/core/school"
	"drover/core/service/clock"
)

const (
	deletedAtOnce = 200             // submissions
	endedAtOnce   = 100             // requests or tasks cancelled at a time
	lookAgain     = 5 * time.Second // between checks of requests that must end first
	nextTurn      = time.Second     // if there is nothing to wait for
	deletionTurn  = 5 * time.Minute // of one try, after which others go first
	maxAborted    = 1000            // experiments of one assignment
	deletionTries = 20              // more than usual, because nobody would ask again for something half deleted; over an hour with the pauses
)

// Canceller stops requests and tasks, as core/requests/intake does.
type Canceller interface {
	Cancel(ctx context.Context, id, by string) (core.RequestState, error)
	CancelTask(ctx context.Context, id, by string) (core.TaskState, error)
}

// Deletion deletes an assignment or class that was marked as being deleted, with all its contents. Waiting or running
// work for it is cancelled and experiments are aborted. Submissions and their requests are deleted in batches once
// the requests have ended, then deadlines and the assignment; for a class also its schedules, enrolments and
// webhooks. A later purge deletes the files. If a try is interrupted, the next one continues.
type Deletion struct {
	Store interface {
		school.Roster
		school.Assignments
		school.Submissions
		school.Experiments
		core.Schedules
		List(ctx context.Context, f core.Filter) ([]core.Row, error)
		ListTasks(ctx context.Context, f core.TaskFilter) ([]core.Task, error)
	}
	Work  Canceller
	Clock clock.Clock
}

// deleting is one try.
type deleting struct {
	*Deletion
	job     *Job
	until   time.Time
	removed int64
	left    int // submissions whose requests must end first
}

func (d *Deletion) begin(job *Job) *deleting {
	return &deleting{Deletion: d, job: job, until: d.Clock.Now().Add(deletionTurn)}
}

// Assignment is school.KindDeleteAssignment.
func (d *Deletion) Assignment() Kind {
	return Kind{Name: school.KindDeleteAssignment, MaxAttempts: deletionTries, Handle: func(ctx context.Context, job *Job) (End, error) {
		args, err := deleteArgs(job)
		if err != nil {
			return End{}, err
		}
		a, err := d.Store.GetAssignment(ctx, args.Class, args.Assignment)
		switch {
		case core.Is(err, core.CodeNotFound):
			return gone(args.Class+"/"+args.Assignment, 0), nil
		case err != nil:
			return End{}, err
		case !a.Deleting:
			return End{}, unmarked("assignment", a.Name())
		}
		w := d.begin(job)
		if err := w.tasks(ctx, a.Class, a.Handle); err != nil {
			return End{}, err
		}
		done, err := w.assignment(ctx, &a)
		return w.end(a.Name(), done, err)
	}}
}

// Class is school.KindDeleteClass.
func (d *Deletion) Class() Kind {
	return Kind{Name: school.KindDeleteClass, MaxAttempts: deletionTries, Handle: func(ctx context.Context, job *Job) (End, error) {
		args, err := deleteArgs(job)
		if err != nil {
			return End{}, err
		}
		c, err := d.Store.GetClass(ctx, args.Class)
		switch {
		case core.Is(err, core.CodeNotFound):
			return gone(args.Class, 0), nil
		case err != nil:
			return End{}, err
		case !c.Deleting:
			return End{}, unmarked("class", c.Handle)
		}
		w := d.begin(job)
		if err := w.tasks(ctx, c.Handle, ""); err != nil {
			return End{}, err
		}
		done, err := w.class(ctx, c.Handle)
		return w.end(c.Handle, done, err)
	}}
}

func deleteArgs(job *Job) (args school.DeleteArgs, err error) {
	if err = job.Args(&args); err != nil {
		return args, err
	}
	if (args.Assignment == "") != (job.Task.Kind == school.KindDeleteClass) {
		err = core.Errorf(core.CodeInvalid, job.Task.ID, "task %s names class %q and assignment %q: a class is deleted by %s, an assignment by %s",
			job.Task.Kind, args.Class, args.Assignment, school.KindDeleteClass, school.KindDeleteAssignment)
	}
	return args, err
}

func unmarked(what, name string) error {
	return core.Errorf(core.CodeInvalid, name, "%s %s is not marked as being deleted: delete it by drover %s remove", what, name, what)
}

func gone(name string, removed int64) End {
	note := name + " is gone"
	if removed > 0 {
		note += fmt.Sprintf(", with its last %d submissions", removed) // earlier tries removed others
	}
	return End{Note: note}
}

func (w *deleting) end(name string, done bool, err error) (End, error) {
	switch {
	case err != nil:
		return End{}, err
	case !done && w.left > 0:
		w.say(fmt.Sprintf("waiting until the requests of %d submissions have ended", w.left))
		return End{Later: lookAgain}, nil
	case !done:
		return End{Later: nextTurn}, nil
	}
	return gone(name, w.removed), nil
}

// class deletes a class. Returns false if something must end first.
func (w *deleting) class(ctx context.Context, class string) (bool, error) {
	all := true
	err := eachAssignment(ctx, w.Store, class, func(a *school.Assignment) error {
		done, err := w.assignment(ctx, a)
		all = all && done
		return err
	})
	if err != nil || !all {
		return false, err
	}
	if err := w.schedules(ctx, class); err != nil {
		return false, err
	}
	return past(w.Store.DeleteClass(ctx, class))
}

// assignment deletes an assignment. Returns false if something must end first.
func (w *deleting) assignment(ctx context.Context, a *school.Assignment) (bool, error) {
	w.say("cancelling what waits or runs for " + a.Name())
	if ok, err := past(w.abort(ctx, a)); !ok {
		return false, err
	}
	if err := w.cancel(ctx, a.Name()); err != nil {
		return false, err
	}
	for {
		removed, left, err := w.Store.DeleteSubmissions(ctx, a.Class, a.Handle, deletedAtOnce)
		w.removed += int64(removed)
		switch {
		case err != nil:
			return false, err
		case removed == 0 && left == 0:
			return past(w.Store.DeleteAssignment(ctx, a.Class, a.Handle))
		case removed == 0:
			w.left += left
			return false, nil
		case ctx.Err() != nil:
			return false, ctx.Err()
		case w.Clock.Now().After(w.until):
			return false, nil
		}
		w.say("deleting submissions of " + a.Name())
	}
}

func (w *deleting) say(text string) { w.job.Progress(w.removed, 0, text) }

// past reports whether a step is done: the object is gone, or in the wanted state. A CONFLICT means that it is still
// being changed, or that something refers to it.
func past(err error) (bool, error) {
	switch {
	case err == nil || core.Is(err, core.CodeNotFound):
		return true, nil
	case core.Is(err, core.CodeConflict):
		return false, nil
	}
	return false, err
}

// abort aborts the experiments of an assignment. It stops the requests of all of them, because an interrupted try may
// have left requests of an experiment that it had aborted.
func (w *deleting) abort(ctx context.Context, a *school.Assignment) error {
	all, err := w.Store.ListExperiments(ctx, a.Class, a.Handle, maxAborted)
	if err != nil {
		return err
	}
	for _, e := range all {
		if e.State == school.ExperimentRunning || e.State == school.ExperimentReady {
			e.State, e.DecidedBy, e.Decided = school.ExperimentAborted, core.System().Handle, w.Clock.Now().UnixMilli()
			if _, err := w.Store.PutExperiment(ctx, e); err != nil {
				return err
			}
		}
		if err := w.cancel(ctx, school.ExperimentAssignment(e.ID)); err != nil {
			return err
		}
	}
	return nil
}

// cancel cancels the unfinished requests for an assignment.
func (w *deleting) cancel(ctx context.Context, assignment string) error {
	f := core.Filter{Assignment: assignment, States: []core.RequestState{core.RequestQueued}, Limit: endedAtOnce}
	for {
		page, err := w.Store.List(ctx, f)
		if err != nil {
			return err
		}
		for _, row := range page {
			f.Before = row.Spec.ID
			if _, err := w.Work.Cancel(ctx, row.Spec.ID, core.System().Handle); !ended(err) {
				return err
			}
		}
		if len(page) < f.Limit {
			return nil
		}
	}
}

// ended reports whether work is cancelled, or has ended otherwise.
func ended(err error) bool {
	return err == nil || core.Is(err, core.CodeEnded) || core.Is(err, core.CodeNotFound)
}

// tasks cancels the other tasks that are about a class or, if one is named, about an
// assignment of it.
func (w *deleting) tasks(ctx context.Context, class, assignment string) error {
	f := core.TaskFilter{Class: class, States: []core.TaskState{core.TaskQueued}, Limit: endedAtOnce}
	for {
		page, err := w.Store.ListTasks(ctx, f)
		if err != nil {
			return err
		}
		for _, t := range page {
			f.Before = t.ID
			if t.ID == w.job.Task.ID || assignment != "" && t.About != class+"/"+assignment {
				continue
			}
			if _, err := w.Work.CancelTask(ctx, t.ID, core.System().Handle); !ended(err) {
				return err
			}
		}
		if len(page) < f.Limit {
			return nil
		}
	}
}

// schedules removes the schedules about a class or its assignments.
func (w *deleting) schedules(ctx context.Context, class string) error {
	all, err := w.Store.ListSchedules(ctx)
	if err != nil {
		return err
	}
	for _, s := range all {
		if about, _, _ := strings.Cut(s.About, "/"); about != class {
			continue
		}
		if err := w.Store.DeleteSchedule(ctx, s.Name); err != nil && !core.Is(err, core.CodeNotFound) {
			return err
		}
	}
	return nil
}
