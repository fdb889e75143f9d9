package intake

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"drover/core"
)

// maxTaskBytes bounds a task's arguments.
const maxTaskBytes = 64 << 10

// SubmitTask checks a task, fills its id and time, makes it durable and queues
// it. It returns false if the task is there already, or an unfinished one with the
// same Unique key. As with Submit, Redis may come later. Returns INVALID, LIMIT,
// NOTFOUND for a webhook, CONFLICT if the id is taken by another task, UNAVAILABLE.
func (in *Intake) SubmitTask(ctx context.Context, t core.Task) (core.Task, bool, error) {
	t.ID, t.Generation = cmp.Or(t.ID, in.newID()), 1
	t.Created, t.State = in.now().UnixMilli(), core.TaskQueued
	if err := checkTask(&t); err != nil {
		return core.Task{}, false, err
	}
	if err := in.checkNotify(ctx, t.ID, t.About, t.Notify); err != nil {
		return core.Task{}, false, err
	}
	created, err := in.Store.CreateTask(ctx, t)
	if err != nil || !created {
		return t, false, err
	}
	_ = in.Tasks.EnqueueTask(ctx, t) // it is accepted: if this failed, Sweep queues it
	return t, true, nil
}

func checkTask(t *core.Task) error {
	if err := core.CheckName("task id", t.ID); err != nil {
		return err
	}
	// Kinds are named as functions are: with underscores.
	if err := core.CheckName("task kind", strings.ReplaceAll(t.Kind, "_", "-")); err != nil {
		return err
	}
	switch {
	case len(t.Args) > maxTaskBytes:
		return core.Errorf(core.CodeLimit, t.ID, "the arguments of task %s have %d bytes, at most %d are allowed", t.Kind, len(t.Args), maxTaskBytes)
	case len(t.Args) > 0 && !json.Valid(t.Args):
		return core.Errorf(core.CodeInvalid, t.ID, "the arguments of task %s are not JSON", t.Kind)
	case len(t.Unique) > maxText:
		return core.Errorf(core.CodeLimit, t.ID, "the unique key of task %s has %d bytes, at most %d are allowed", t.Kind, len(t.Unique), maxText)
	}
	return nil
}
