package taskrunner

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"drover/core"
	"drover/core/classes/experiment"
	"drover/core/school"
)

const (
	experimentLook  = 2 * time.Second // between looks at its requests
	experimentGrace = time.Minute     // after which a task without an experiment counts as a failed start
	partsAtOnce     = 16              // made at a time; the store waits for its disk once for all of them
	roomPause       = 15 * time.Second
	roomPauseMost   = 10 * time.Minute
)

// Requests accepts and stops requests; intake.Intake implements it.
type Requests interface {
	Canceller
	Submit(ctx context.Context, spec core.Spec) (core.Row, bool, error)
}

// Experiments makes the requests of experiments, and detects when all have ended. Package core/classes/experiment
// describes what crashes leave and how it is repaired.
type Experiments struct {
	Store interface {
		experiment.Parts
		school.Assignments
		school.Submissions
		school.Experiments
	}
	Work  Requests
	Tasks TaskSubmitter
}

// Whole is school.KindExperiment. It makes a part for every run of a submission, waits for their requests, and then
// marks the experiment as ready.
func (x *Experiments) Whole() Kind {
	return Kind{Name: school.KindExperiment, MaxAttempts: experimentTries, Handle: func(ctx context.Context, job *Job) (End, error) {
		var args school.ExperimentArgs
		if err := job.Args(&args); err != nil {
			return End{}, err
		}
		e, err := x.Store.GetExperiment(ctx, args.Experiment)
		if core.Is(err, core.CodeNotFound) {
			return x.missing(job, args.Experiment), nil
		}
		if err != nil {
			return End{}, err
		}
		switch e.State {
		case school.ExperimentRunning:
			return x.goOn(ctx, job, e)
		case school.ExperimentAborted: // by a call that may have died before it was done
			err := experiment.StopRequests(ctx, x.Store, x.Work, e.ID, core.System().Handle)
			return End{Note: "aborted"}, err
		default:
			return End{Note: string(e.State)}, nil
		}
	}}
}

// experimentTries is more than usual, because nobody would ask again for something half done.
const experimentTries = 20

// missing waits for an experiment whose start is between its two steps.
func (x *Experiments) missing(job *Job, id string) End {
	if job.Age < experimentGrace {
		return End{Later: experimentLook}
	}
	return End{Note: fmt.Sprintf("there is no experiment %s: it went with its assignment, or its start failed", id)}
}

func (x *Experiments) goOn(ctx context.Context, job *Job, e school.Experiment) (End, error) {
	if e.Requests == 0 {
		n, err := x.fanOut(ctx, job, e)
		if err != nil {
			return End{}, err
		}
		if n > 0 {
			e.Requests = n
			return x.move(ctx, e, End{Later: experimentLook})
		}
	}
	ended, total, err := experiment.Ended(ctx, x.Store, e.ID)
	if err != nil {
		return End{}, err
	}
	if ended < total {
		job.Progress(int64(ended), int64(total), fmt.Sprintf("%d of %d requests", ended, total))
		return End{Later: experimentLook}, nil
	}
	all, err := experiment.Outcomes(ctx, x.Store, e)
	if err != nil {
		return End{}, err
	}
	sum := experiment.Summarize(all)
	job.Progress(int64(total), int64(total), "ready")
	e.State = school.ExperimentReady
	return x.move(ctx, e, End{Note: "ready: " + sum.Sentence()})
}

// move stores the experiment. If it was aborted in the meantime, the next look sees that.
func (x *Experiments) move(ctx context.Context, e school.Experiment, end End) (End, error) {
	_, err := x.Store.PutExperiment(ctx, e)
	if core.Is(err, core.CodeConflict) || core.Is(err, core.CodeNotFound) {
		return End{Later: experimentLook}, nil
	}
	return end, err
}

// fanOut makes the parts and returns how many there are. Submissions made after the beginning of the experiment are
// not included.
func (x *Experiments) fanOut(ctx context.Context, job *Job, e school.Experiment) (int, error) {
	made := 0
	group, making := errgroup.WithContext(ctx)
	group.SetLimit(partsAtOnce)
	err := eachStanding(ctx, x.Store, e.Class, e.Assignment, "", func(s *school.Standing) error {
		if s.Submission.At > e.Created || len(e.Users) > 0 && !slices.Contains(e.Users, s.Submission.User) {
			return nil
		}
		for run := range e.Repeat {
			part, err := newPart(&job.Task, e.ID, s.Submission.ID, run)
			if err != nil {
				return err
			}
			group.Go(func() error {
				_, _, err := x.Tasks.SubmitTask(making, part)
				return err
			})
		}
		made++
		job.Progress(0, 0, fmt.Sprintf("%d submissions", made))
		return making.Err()
	})
	if broke := group.Wait(); broke != nil {
		return 0, broke
	}
	if err != nil {
		return 0, err
	}
	tally, err := x.Store.CountChildren(ctx, e.ID)
	return tally.Total, err
}

func newPart(whole *core.Task, id, submission string, run int) (core.Task, error) {
	args, err := json.Marshal(school.RerunArgs{Experiment: id, Submission: submission, Run: run})
	return core.Task{
		ID: experiment.PartID(id, submission, run), Kind: school.KindRerun, Args: args, Priority: core.PriorityLow,
		Lane: id, Requester: whole.Requester, About: whole.About, Parent: whole.ID,
	}, err
}
