package classes

import (
	"cmp"
	"context"
	"io"
	"strings"

	"drover/core"
	"drover/core/school"
	"drover/core/store/bounds"
)

// classOf returns the class that a task is about; "" for none.
func classOf(t *core.Task) string { return of(t.About) }

// of returns the class in "class" or "class/assignment".
func of(about string) string {
	class, _, _ := strings.Cut(about, "/")
	return class
}

func objectOf(t *core.Task) core.Object { return core.Object{Class: classOf(t), Owner: t.Requester} }

// task returns a task to which the actor may apply the action.
func (r *Service) task(ctx context.Context, a core.Actor, id string, act core.Action) (core.Task, error) {
	if !core.ValidName(id) {
		return core.Task{}, noTask(id)
	}
	t, err := r.Store.GetTask(ctx, id)
	if err != nil && !core.Is(err, core.CodeNotFound) {
		return core.Task{}, err
	}
	if err != nil || core.Allow(a, core.ActTaskView, objectOf(&t)) != nil {
		return core.Task{}, noTask(id)
	}
	return t, core.Allow(a, act, objectOf(&t))
}

// stillMay returns FORBIDDEN if the actor has no right any more to what a task makes, or never had: schedules also
// decide what a task is about. A retry, and fetching the file, need the right again.
func stillMay(a core.Actor, t *core.Task) error {
	k, err := school.TaskKinds().Find(t.Kind)
	if err != nil || k.Right == "" {
		return nil //nolint:nilerr // a kind that drover no longer has makes nothing that somebody could have
	}
	target, err := k.Read(t.Args)
	if err != nil {
		return err
	}
	act, owner := needed(a, &k, target)
	return core.Allow(a, act, core.Object{Class: cmp.Or(target.Class, classOf(t)), Owner: owner})
}

// ViewTask returns a task to its requester, to staff of the class that it is about, and to operators. Returns
// NOTFOUND.
func (r *Service) ViewTask(ctx context.Context, a core.Actor, id string) (core.Task, error) {
	return r.task(ctx, a, id, core.ActTaskView)
}

// ListTasks lists the tasks that the actor may view, newest first. Returns INVALID.
func (r *Service) ListTasks(ctx context.Context, a core.Actor, f core.TaskFilter) ([]core.Task, error) {
	if core.Allow(a, core.ActTaskView, core.Object{Class: f.Class}) != nil {
		f.Requester = cmp.Or(f.Requester, a.Handle)
	}
	limit := cmp.Or(f.Limit, bounds.DefaultRows)
	if err := bounds.Rows(limit); err != nil {
		return nil, err
	}
	all := []core.Task{}
	for {
		some, err := r.Store.ListTasks(ctx, f)
		if err != nil {
			return nil, err
		}
		for i := range some {
			f.Before = some[i].ID
			if core.Allow(a, core.ActTaskView, objectOf(&some[i])) == nil && len(all) < limit {
				all = append(all, some[i])
			}
		}
		if len(some) < cmp.Or(f.Limit, bounds.DefaultRows) || len(all) == limit {
			return all, nil
		}
		f.Limit = page // other users' may be many
	}
}

// CancelTask stops a task in any place and returns its state: cancelled if it waited, cancelling if it runs and will
// be stopped. Returns NOTFOUND, FORBIDDEN, ENDED.
func (r *Service) CancelTask(ctx context.Context, a core.Actor, id string) (core.TaskState, error) {
	t, err := r.task(ctx, a, id, core.ActTaskControl)
	if err != nil {
		return "", err
	}
	var state core.TaskState
	err = r.change(ctx, a, aboutTask(&t, "cancels"), func() (err error) {
		state, err = r.Intake.CancelTask(ctx, id, a.Handle)
		return err
	})
	return state, err
}

// RetryTask starts a dead or cancelled task again. Returns NOTFOUND, FORBIDDEN, CONFLICT, LIMIT.
func (r *Service) RetryTask(ctx context.Context, a core.Actor, id string) (core.Task, error) {
	t, err := r.task(ctx, a, id, core.ActTaskControl)
	if err != nil {
		return core.Task{}, err
	}
	if t.Requester == a.Handle {
		if err := stillMay(a, &t); err != nil {
			return core.Task{}, err
		}
	}
	err = r.change(ctx, a, aboutTask(&t, "retries"), func() (err error) {
		t, err = r.Intake.RetryTask(ctx, id)
		return err
	})
	return t, err
}

func aboutTask(t *core.Task, verb string) core.AuditEntry {
	about := ""
	if t.About != "" {
		about = ", about " + t.About
	}
	return core.AuditEntry{Action: core.ActTaskControl, Class: classOf(t), Subject: t.ID, Text: verb + " task " + t.ID + " (" + t.Kind + about + ")"}
}

// OpenDownload opens the file that a task made, only for its requester, and only while the requester has the right to
// its content. Returns NOTFOUND, FORBIDDEN, CONFLICT if the task has not made it yet, ENDED once it has expired.
func (r *Service) OpenDownload(ctx context.Context, a core.Actor, id string) (core.Download, io.ReadCloser, error) {
	t, err := r.task(ctx, a, id, core.ActTaskDownload)
	if err == nil {
		err = stillMay(a, &t)
	}
	if err != nil {
		return core.Download{}, nil, err
	}
	d := t.Download
	switch {
	case d == nil && !t.State.Terminal():
		return core.Download{}, nil, core.Errorf(core.CodeConflict, id, "task %s has not made its file yet: ask again later", id)
	case d == nil:
		return core.Download{}, nil, core.Errorf(core.CodeNotFound, id, "task %s is %s and made no file", id, t.State)
	case r.now().UnixMilli() >= d.Expires:
		return core.Download{}, nil, core.Errorf(core.CodeEnded, id, "the file of task %s has expired (%s): ask for a new one", id, moment(d.Expires))
	}
	content, err := r.Blobs.Open(ctx, d.Digest)
	return *d, content, err
}
