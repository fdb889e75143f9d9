package requests

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"drover/core"
)

// Cancel stops a request in any state and returns its new state. Returns NOTFOUND, FORBIDDEN, ENDED.
func (d *Service) Cancel(ctx context.Context, a core.Actor, id string) (state core.RequestState, err error) {
	row, err := d.row(ctx, a, id, core.ActRequestControl)
	if err != nil {
		return "", err
	}
	err = d.control(ctx, a, &row.Spec, "stops", func() (err error) {
		state, err = d.Intake.Cancel(ctx, id, a.Handle)
		return err
	})
	return state, err
}

// Change changes priority, pool and limits of a request that waits; what c leaves out stays. Returns NOTFOUND, FORBIDDEN,
// INVALID or LIMIT as Submit does, CONFLICT if an owner has claimed it or it has ended, FULL if there is no room where it
// would wait, UNAVAILABLE.
func (d *Service) Change(ctx context.Context, a core.Actor, id string, c core.Change) (View, error) {
	row, err := d.row(ctx, a, id, core.ActRequestControl)
	if err != nil {
		return View{}, err
	}
	if c.Priority == core.PriorityHigh { // as for a submission
		if err := core.Allow(a, core.ActClusterOperate, core.Object{}); err != nil {
			return View{}, err
		}
	}
	c.By = a.Handle
	err = d.control(ctx, a, &row.Spec, "changes", func() (err error) {
		row, err = d.Intake.Change(ctx, id, c)
		return err
	})
	if err != nil {
		return View{}, err
	}
	return d.located(ctx, a, row)
}

// Remove deletes a request in any state, with its results and output, and returns whether it is gone: a running one is
// stopped first, and goes by itself once it has ended. Returns NOTFOUND, FORBIDDEN, CONFLICT if it tests a submission.
func (d *Service) Remove(ctx context.Context, a core.Actor, id string) (gone bool, err error) {
	row, err := d.row(ctx, a, id, core.ActRequestControl)
	if err != nil {
		return false, err
	}
	err = d.control(ctx, a, &row.Spec, "deletes", func() (err error) {
		gone, err = d.Intake.Remove(ctx, id, a.Handle)
		return err
	})
	return gone, err
}

// Rerun runs an ended request again, as its next generation. Returns NOTFOUND, FORBIDDEN, CONFLICT if it has not
// ended, LIMIT if it was run too often.
func (d *Service) Rerun(ctx context.Context, a core.Actor, id string) (v View, err error) {
	row, err := d.row(ctx, a, id, core.ActRequestControl)
	if err != nil {
		return View{}, err
	}
	err = d.control(ctx, a, &row.Spec, "runs again", func() (err error) {
		row, err = d.Intake.Rerun(ctx, id)
		return err
	})
	if err != nil {
		return View{}, err
	}
	v = viewOf(row)
	conceal(a, &row.Spec, &v)
	return v, nil
}

// control changes a request. A change to another user's request goes into the audit log.
func (d *Service) control(ctx context.Context, a core.Actor, s *core.Spec, what string, do func() error) error {
	if a.Handle == s.Submitter {
		return do()
	}
	return d.change(ctx, a, core.ActRequestControl, s.ID, fmt.Sprintf("%s request %s of %s", what, s.ID, s.Submitter), do)
}

// Attempts returns all tries of a request, oldest first, with the beginning of their output. The actor must be
// allowed to see the request, or the submission that it grades. Returns NOTFOUND.
func (d *Service) Attempts(ctx context.Context, a core.Actor, id string) ([]core.Attempt, error) {
	row, _, err := d.watched(ctx, a, id)
	if err != nil {
		return nil, err
	}
	all, err := d.Store.Attempts(ctx, id)
	for i := range all {
		v := View{Result: all[i].Result}
		conceal(a, &row.Spec, &v)
		all[i].Result = v.Result
	}
	return all, err
}

// OpenFile opens a file that was collected from a request. Returns NOTFOUND, CONFLICT if the request has not ended.
func (d *Service) OpenFile(ctx context.Context, a core.Actor, id, path string) (core.File, io.ReadCloser, error) {
	row, err := d.row(ctx, a, id, core.ActRequestView)
	if err != nil {
		return core.File{}, nil, err
	}
	v := viewOf(row)
	conceal(a, &row.Spec, &v)
	if row.Result == nil {
		return core.File{}, nil, core.Errorf(core.CodeConflict, id, "request %s has not ended: its files are collected then", id)
	}
	if err := Expired(row.Result); err != nil {
		return core.File{}, nil, err
	}
	i := slices.IndexFunc(v.Files, func(f core.File) bool { return f.Path == path })
	if i < 0 {
		return core.File{}, nil, core.Errorf(core.CodeNotFound, id, "no file %.80q was collected of request %s", path, id)
	}
	content, err := d.Blobs.Open(ctx, v.Files[i].Digest)
	return v.Files[i], content, err
}

// Expired returns NOTFOUND if the outputs of a result were deleted by its pool's KeepOutputs.
func Expired(r *core.Result) error {
	if r.Expired == 0 {
		return nil
	}
	return core.Errorf(core.CodeNotFound, r.ID, "the output and files of request %s were deleted on %s: its pool keeps them for a time only (pool %s); its score and tests are still there",
		r.ID, time.UnixMilli(r.Expired).Format(time.DateTime), r.Pool)
}
