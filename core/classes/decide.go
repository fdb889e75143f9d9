package classes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"drover/core"
	"drover/core/classes/experiment"
	"drover/core/school"

	"golang.org/x/sync/errgroup"
)

// Applied is the result of applying an experiment.
type Applied struct {
	Experiment school.Experiment `json:"experiment"`
	Bound      int               `json:"bound"`   // submissions whose new result counts
	Skipped    []Skipped         `json:"skipped"` // the others, in order of submission
}

// Skipped is a submission that an experiment leaves unchanged.
type Skipped struct {
	Submission string `json:"submission"`
	User       string `json:"user"`
	Why        string `json:"why"`
}

// boundAtOnce is how many submissions are bound at a time: the store then waits for its disk once for all of them.
const boundAtOnce = 16

// ApplyExperiment makes the results of a ready experiment count: for each submission, that of its first run replaces
// the one that counted when the experiment began. A harness under trial becomes the assignment's. Submissions are
// left unchanged and listed if their user has submitted again, their result has changed since, or they have no new
// result. Grades by people stay. If a crash interrupts it, another call completes it. Returns NOTFOUND, CONFLICT
// while the experiment runs or after it was aborted or applied.
func (r *Service) ApplyExperiment(ctx context.Context, a core.Actor, id string) (Applied, error) {
	e, as, err := r.experiment(ctx, a, id)
	if err != nil {
		return Applied{}, err
	}
	if e.Harness != nil {
		if err := core.Allow(a, core.ActAssignmentEdit, core.Object{Class: e.Class}); err != nil {
			return Applied{}, err
		}
	}
	if _, err := r.openAssignment(ctx, a, e.Class, e.Assignment, core.ActExperiment, ""); err != nil {
		return Applied{}, err
	}
	if e.State != school.ExperimentReady && e.State != school.ExperimentApplying {
		return Applied{}, notReady(&e)
	}
	text := fmt.Sprintf("applies experiment %s of %s", id, as.Name())
	if e.Harness != nil {
		text += ", and makes the harness that it tried the assignment's"
	}
	var done Applied
	err = r.change(ctx, a, aboutExperiment(&e, text), func() error {
		if e.State == school.ExperimentReady {
			if err := r.decide(ctx, a, &e, school.ExperimentApplying); err != nil {
				return err
			}
		}
		if err := r.adopt(ctx, e); err != nil {
			return err
		}
		if done, err = r.bindAll(ctx, as, e); err != nil {
			return err
		}
		done.Experiment, err = r.applied(ctx, e)
		return err
	})
	return done, err
}

func notReady(e *school.Experiment) error {
	switch e.State {
	case school.ExperimentRunning:
		return core.Errorf(core.CodeConflict, e.ID, "experiment %s still runs: wait until it is ready, or abort it", e.ID)
	case school.ExperimentApplying:
		return core.Errorf(core.CodeConflict, e.ID, "experiment %s is being applied by %s: there is no way back; apply it to the end, if nobody does", e.ID, e.DecidedBy)
	default:
		return core.Errorf(core.CodeConflict, e.ID, "experiment %s was %s by %s already", e.ID, e.State, e.DecidedBy)
	}
}

// decide changes the state of an experiment, unless another call just did.
func (r *Service) decide(ctx context.Context, a core.Actor, e *school.Experiment, to school.ExperimentState) error {
	moved := *e
	moved.State, moved.DecidedBy, moved.Decided = to, a.Handle, r.now().UnixMilli()
	revision, err := r.Store.PutExperiment(ctx, moved)
	if err != nil {
		return err
	}
	*e = moved
	e.Revision = revision
	return nil
}

// adopt makes the harness under trial the assignment's. It comes first, so that new submissions are graded by it.
func (r *Service) adopt(ctx context.Context, e school.Experiment) error {
	if e.Harness == nil {
		return nil
	}
	as, err := r.Store.GetAssignment(ctx, e.Class, e.Assignment)
	if err != nil || as.Harness != nil && as.Harness.File.Digest == e.Harness.File.Digest {
		return err
	}
	as.Harness = e.Harness
	_, err = r.Store.PutAssignment(ctx, as)
	return err
}

// applied marks the experiment as applied, unless a concurrent call did.
func (r *Service) applied(ctx context.Context, e school.Experiment) (school.Experiment, error) {
	e.State = school.ExperimentApplied
	revision, err := r.Store.PutExperiment(ctx, e)
	if core.Is(err, core.CodeConflict) {
		if is, read := r.Store.GetExperiment(ctx, e.ID); read == nil && is.State == school.ExperimentApplied {
			return is, nil
		}
	}
	e.Revision = revision
	return e, err
}

// bindAll makes the new results count.
func (r *Service) bindAll(ctx context.Context, as school.Assignment, e school.Experiment) (Applied, error) {
	all, err := experiment.Outcomes(ctx, r.Store, e)
	if err != nil {
		return Applied{}, err
	}
	done := Applied{Experiment: e, Skipped: []Skipped{}}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(boundAtOnce)
	for i := range all {
		group.Go(func() error {
			user, why, err := r.bind(ctx, as, &all[i])
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
			case why == "":
				done.Bound++
			default:
				done.Skipped = append(done.Skipped, Skipped{all[i].Submission, user, why})
			}
			return err
		})
	}
	err = group.Wait()
	slices.SortFunc(done.Skipped, func(a, b Skipped) int { return strings.Compare(a.Submission, b.Submission) })
	return done, err
}

// bind makes the new result of a submission count, or returns why it does not.
func (r *Service) bind(ctx context.Context, as school.Assignment, o *experiment.Outcome) (user, why string, err error) {
	s, err := r.Store.GetSubmission(ctx, o.Submission)
	if core.Is(err, core.CodeNotFound) {
		return "", "it was deleted", nil
	}
	if err != nil {
		return "", "", err
	}
	if slices.ContainsFunc(o.Runs, func(run experiment.Run) bool { return run.Request != "" && run.Request == s.Request }) {
		return s.User, "", nil // bound by an earlier call
	}
	first := o.Counts()
	if first == nil {
		return s.User, "none of its runs came to a result", nil
	}
	newest, err := r.newest(ctx, as, s.User)
	switch {
	case err != nil:
		return "", "", err
	case newest == nil || newest.Submission.ID != s.ID:
		return s.User, s.User + " has submitted anew since", nil
	}
	bound, err := r.Store.Bind(ctx, s.ID, o.Old.Request, first.Request)
	if err == nil && !bound {
		why = "another result counts for it since"
	}
	return s.User, why, err
}

// AbortExperiment stops an experiment: waiting runs are withdrawn at once, running ones are cancelled, and no result
// counts. When it returns without an error none of its requests waits; another call continues an incomplete abort.
// Returns NOTFOUND, CONFLICT once it was applied, UNAVAILABLE if some of it does not stop.
func (r *Service) AbortExperiment(ctx context.Context, a core.Actor, id string) (school.Experiment, error) {
	e, as, err := r.experiment(ctx, a, id)
	if err != nil {
		return school.Experiment{}, err
	}
	if e.State == school.ExperimentApplying || e.State == school.ExperimentApplied {
		return school.Experiment{}, notReady(&e)
	}
	err = r.change(ctx, a, aboutExperiment(&e, fmt.Sprintf("aborts experiment %s of %s", id, as.Name())), func() error {
		if err := r.abort(ctx, a, &e); err != nil {
			return err
		}
		return experiment.Stop(ctx, r.Store, r.Intake, e.ID, a.Handle)
	})
	return e, err
}

// abortTries is how often abort reads an experiment again whose state its task has just changed.
const abortTries = 5

// abort marks an experiment as aborted, even if its task or another call has just changed its state.
func (r *Service) abort(ctx context.Context, a core.Actor, e *school.Experiment) error {
	for try := 1; e.State != school.ExperimentAborted; try++ {
		err := r.decide(ctx, a, e, school.ExperimentAborted)
		if err == nil || !core.Is(err, core.CodeConflict) || try == abortTries {
			return err
		}
		if *e, err = r.Store.GetExperiment(ctx, e.ID); err != nil {
			return err
		}
		if e.State == school.ExperimentApplying || e.State == school.ExperimentApplied {
			return notReady(e)
		}
	}
	return nil
}
