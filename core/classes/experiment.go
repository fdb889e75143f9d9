package classes

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"drover/core"
	"drover/core/classes/experiment"
	"drover/core/harness"
	"drover/core/school"
)

// Trial describes an experiment to start.
type Trial struct {
	Harness io.Reader // an archive in a form that SetHarness accepts; nil: the assignment's own harness
	Users   []string  // whose newest submissions are run; empty: all users'
	Repeat  int       // runs of each submission, 1 to school.MaxRepeat; 0 is 1
}

// decidedAtOnce is how many experiments are searched for an undecided one, which is always among the newest.
const decidedAtOnce = 50

// StartExperiment starts the task that reruns the newest submissions to an assignment; the results do not count until
// they are applied. Returns NOTFOUND, FORBIDDEN, INVALID, LIMIT, and CONFLICT with the name of the assignment's other
// experiment, if that is neither applied nor aborted.
func (r *Service) StartExperiment(ctx context.Context, a core.Actor, class, handle string, t Trial) (school.Experiment, error) {
	as, err := r.openAssignment(ctx, a, class, handle, core.ActExperiment, "")
	if err != nil {
		return school.Experiment{}, err
	}
	if err := r.undecided(ctx, as); err != nil {
		return school.Experiment{}, err
	}
	t.Repeat = cmp.Or(t.Repeat, 1)
	e := school.Experiment{ID: r.newID(), Class: class, Assignment: handle, Users: t.Users, Repeat: t.Repeat, State: school.ExperimentRunning, By: a.Handle}
	if err := e.Check(); err != nil {
		return school.Experiment{}, err
	}
	if err := r.checkTrial(ctx, as, t); err != nil {
		return school.Experiment{}, err
	}
	var p harness.Package
	if t.Harness != nil {
		if p, err = harness.Read(t.Harness); err != nil {
			return school.Experiment{}, err
		}
	}
	text := fmt.Sprintf("starts experiment %s of %s with %s, %d times each", e.ID, as.Name(), trying(t), t.Repeat)
	err = r.change(ctx, a, aboutExperiment(&e, text), func() (err error) {
		if t.Harness != nil {
			if e.Harness, err = r.keepHarness(ctx, as, p); err != nil {
				return err
			}
		}
		e.Created = r.now().UnixMilli()
		e.Revision, err = r.begin(ctx, a, as, e)
		return err
	})
	return e, err
}

func trying(t Trial) string {
	what, whose := "its own harness", "the newest submission of every user"
	if t.Harness != nil {
		what = "another harness"
	}
	if len(t.Users) > 0 {
		whose = "the newest submissions of " + strings.Join(t.Users, ", ")
	}
	return what + ", on " + whose
}

func (r *Service) checkTrial(ctx context.Context, as school.Assignment, t Trial) error {
	switch {
	case as.Pool == "":
		return unpooled(as)
	case t.Harness == nil && as.Harness == nil:
		return core.Errorf(core.CodeInvalid, as.Name(), "assignment %s has no harness: name one to try", as.Name())
	}
	for i, user := range t.Users {
		if slices.Contains(t.Users[:i], user) {
			return core.Errorf(core.CodeInvalid, user, "user %.80q is named twice", user)
		}
		if role, err := r.roleIn(ctx, as.Class, user); err != nil || role == "" {
			return cmp.Or(err, noMember(as.Class, user))
		}
	}
	_, err := r.pool(ctx, as.Pool)
	return err
}

// begin makes the task, of which an assignment has one at a time, and then the experiment. An experiment that became
// ready before the task was made is detected afterwards.
func (r *Service) begin(ctx context.Context, a core.Actor, as school.Assignment, e school.Experiment) (int64, error) {
	args, err := json.Marshal(school.ExperimentArgs{Experiment: e.ID})
	if err != nil {
		return 0, core.Wrap(err, core.CodeInternal, e.ID, "the arguments of experiment %s cannot be written", e.ID)
	}
	notify, err := r.notified(ctx, as.Class, core.EventTaskEnded)
	if err != nil {
		return 0, err
	}
	_, created, err := r.Intake.SubmitTask(ctx, core.Task{
		ID: e.ID, Kind: school.KindExperiment, Args: args, Unique: school.KindExperiment + ":" + as.Name(),
		Priority: core.PriorityNormal, Requester: a.Handle, About: as.Name(), Notify: notify,
	})
	if err != nil {
		return 0, err
	}
	if !created {
		return 0, cmp.Or(r.undecided(ctx, as), busy(as.Name()))
	}
	err = r.undecided(ctx, as)
	var revision int64
	if err == nil {
		revision, err = r.Store.PutExperiment(ctx, e)
	}
	if err != nil {
		// If this fails too, the task ends by itself.
		_, _ = r.Intake.CancelTask(context.WithoutCancel(ctx), e.ID, core.System().Handle)
	}
	return revision, err
}

// undecided returns CONFLICT if an assignment has an experiment that is neither applied nor aborted.
func (r *Service) undecided(ctx context.Context, as school.Assignment) error {
	all, err := r.Store.ListExperiments(ctx, as.Class, as.Handle, decidedAtOnce)
	if err != nil {
		return err
	}
	for _, e := range all {
		if !e.State.Decided() {
			return core.Errorf(core.CodeConflict, e.ID, "experiment %s of %s is %s: apply or abort it first", e.ID, as.Name(), e.State)
		}
	}
	return nil
}

func aboutExperiment(e *school.Experiment, text string) core.AuditEntry {
	return core.AuditEntry{Action: core.ActExperiment, Class: e.Class, Subject: e.Class + "/" + e.Assignment, Text: text}
}

func noExperiment(id string) error {
	return core.Errorf(core.CodeNotFound, id, "there is no experiment %.80q", id)
}

// experiment returns an experiment and its assignment, if the actor has the right to experiments.
func (r *Service) experiment(ctx context.Context, a core.Actor, id string) (school.Experiment, school.Assignment, error) {
	if !core.ValidName(id) {
		return school.Experiment{}, school.Assignment{}, noExperiment(id)
	}
	e, err := r.Store.GetExperiment(ctx, id)
	if core.Is(err, core.CodeNotFound) {
		return school.Experiment{}, school.Assignment{}, noExperiment(id)
	}
	if err != nil {
		return school.Experiment{}, school.Assignment{}, err
	}
	as, err := r.assignment(ctx, a, e.Class, e.Assignment, core.ActExperiment, "")
	if core.Is(err, core.CodeNotFound) {
		err = noExperiment(id)
	}
	return e, as, err
}

// Experiments lists the experiments of an assignment, newest first. Returns NOTFOUND, FORBIDDEN, INVALID.
func (r *Service) Experiments(ctx context.Context, a core.Actor, class, handle string, limit int) ([]school.Experiment, error) {
	if _, err := r.assignment(ctx, a, class, handle, core.ActExperiment, ""); err != nil {
		return nil, err
	}
	return r.Store.ListExperiments(ctx, class, handle, limit)
}

// ExperimentProgress returns an experiment with the number of its requests that have ended, and their total. It is
// cheap enough for polling. Returns NOTFOUND.
func (r *Service) ExperimentProgress(ctx context.Context, a core.Actor, id string) (school.Experiment, core.TaskProgress, error) {
	e, _, err := r.experiment(ctx, a, id)
	if err != nil || e.State != school.ExperimentRunning {
		return e, core.TaskProgress{Done: int64(e.Requests), Total: int64(e.Requests)}, err
	}
	ended, total, err := experiment.Ended(ctx, r.Store, id)
	return e, core.TaskProgress{Done: int64(ended), Total: int64(total)}, err
}

// OutcomePage selects outcomes of an experiment. A zero field matches every outcome.
type OutcomePage struct {
	Differing bool   // only of submissions that differ, are flaky, or have no result
	After     string // submissions after this one, oldest first: a page's cursor
	Limit     int    // 1 to 1000; 0 is 50
}

// ExperimentView is an experiment with its outcomes so far.
type ExperimentView struct {
	school.Experiment
	Summary  experiment.Summary   `json:"summary"`
	Outcomes []experiment.Outcome `json:"outcomes"`
}

// ViewExperiment returns an experiment and compares its verdicts with the old ones, in sum and for each submission of
// a page. Returns NOTFOUND, INVALID.
func (r *Service) ViewExperiment(ctx context.Context, a core.Actor, id string, p OutcomePage) (ExperimentView, error) {
	e, _, err := r.experiment(ctx, a, id)
	if err != nil {
		return ExperimentView{}, err
	}
	p.Limit = cmp.Or(p.Limit, 50)
	if p.Limit < 1 || p.Limit > 1000 {
		return ExperimentView{}, core.Errorf(core.CodeInvalid, id, "a page of %d submissions cannot be: ask for 1 to 1000", p.Limit)
	}
	all, err := experiment.Outcomes(ctx, r.Store, e)
	if err != nil {
		return ExperimentView{}, err
	}
	v := ExperimentView{Experiment: e, Summary: experiment.Summarize(all), Outcomes: []experiment.Outcome{}}
	for _, o := range all {
		if o.Submission <= p.After || p.Differing && !o.Differs && !o.Flaky && o.Counts() != nil {
			continue
		}
		if len(v.Outcomes) == p.Limit {
			break
		}
		if o.User, err = r.submitterOf(ctx, o.Submission); err != nil {
			return ExperimentView{}, err
		}
		v.Outcomes = append(v.Outcomes, o)
	}
	return v, nil
}

// submitterOf returns the user of a submission; "" if it is gone.
func (r *Service) submitterOf(ctx context.Context, id string) (string, error) {
	s, err := r.Store.GetSubmission(ctx, id)
	if core.Is(err, core.CodeNotFound) {
		return "", nil
	}
	return s.User, err
}
