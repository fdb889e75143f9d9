package taskrunner

import (
	"context"
	"errors"
	"time"

	"drover/core"
	"drover/core/classes/experiment"
	"drover/core/school"
)

// Part is school.KindRerun. It makes the request of one run, once there is room for it.
func (x *Experiments) Part() Kind {
	return Kind{Name: school.KindRerun, Handle: func(ctx context.Context, job *Job) (End, error) {
		var args school.RerunArgs
		if err := job.Args(&args); err != nil {
			return End{}, err
		}
		e, err := x.Store.GetExperiment(ctx, args.Experiment)
		if err != nil {
			return End{}, err
		}
		if e.State != school.ExperimentRunning {
			return End{Note: "the experiment is " + string(e.State)}, nil
		}
		spec, err := x.request(ctx, e, args)
		if err != nil {
			return End{}, err
		}
		_, _, err = x.Work.Submit(ctx, spec)
		if late := x.tooLate(ctx, e.ID, spec.ID); late != nil {
			return End{}, errors.Join(err, late)
		}
		if core.Is(err, core.CodeFull) {
			job.Progress(0, 0, "waiting for room: "+err.Error())
			return End{Later: x.pause(ctx, spec.ID)}, nil
		}
		return End{Note: "request " + spec.ID}, err
	}}
}

// request returns the request of a run.
func (x *Experiments) request(ctx context.Context, e school.Experiment, args school.RerunArgs) (core.Spec, error) {
	as, err := x.Store.GetAssignment(ctx, e.Class, e.Assignment)
	if err == nil && as.Deleting {
		err = core.Errorf(core.CodeNotFound, as.Name(), "assignment %s is being deleted", as.Name())
	}
	if err != nil {
		return core.Spec{}, err
	}
	sub, err := x.Store.GetSubmission(ctx, args.Submission)
	if err != nil {
		return core.Spec{}, err
	}
	own, err := x.Store.Deadlines(ctx, e.Class, e.Assignment, sub.User)
	if err != nil {
		return core.Spec{}, err
	}
	if len(own) > 0 {
		as = as.For(&own[0])
	}
	return experiment.Request(e, as, sub, args.Run)
}

// tooLate stops a request that was made while its experiment was aborted.
func (x *Experiments) tooLate(ctx context.Context, id, request string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), hintTimeout)
	defer cancel()
	e, err := x.Store.GetExperiment(ctx, id)
	if err != nil || e.State == school.ExperimentRunning {
		return err
	}
	_, err = x.Work.Cancel(ctx, request, core.System().Handle)
	if ended(err) {
		return nil
	}
	return core.Wrap(err, core.CodeOf(err), request, "%s of experiment %s, which is %s, is not stopped yet", request, id, e.State)
}

// pause returns how long a run waits for room. It grows with each refusal, because each uses up a generation of its
// request.
func (x *Experiments) pause(ctx context.Context, request string) time.Duration {
	row, err := x.Store.Get(ctx, request)
	if err != nil {
		return roomPause // it was refused before it was stored
	}
	return min(roomPause*time.Duration(row.Spec.Generation), roomPauseMost)
}
