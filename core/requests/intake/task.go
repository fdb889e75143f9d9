package intake

import (
	"cmp"
	"context"

	"drover/core"
)

// maxOpenTasks bounds the unfinished tasks of a requester.
const maxOpenTasks = 1000

// SubmitTask checks a task, fills its id, generation, priority, lane and time, makes it durable and queues it. It
// returns false if the task exists already, or an unfinished one with the same Unique key does. As with Submit, Redis
// may follow later. Returns INVALID, LIMIT, NOTFOUND for a webhook, FULL if its requester has too many unfinished
// tasks (parts of a task are always accepted), CONFLICT if the id belongs to another task, UNAVAILABLE.
func (in *Intake) SubmitTask(ctx context.Context, t core.Task) (core.Task, bool, error) {
	t.ID, t.Generation = cmp.Or(t.ID, in.newID()), 1
	t.Priority, t.Lane = cmp.Or(t.Priority, core.PriorityNormal), cmp.Or(t.Lane, t.Requester)
	t.Created, t.State = in.now().UnixMilli(), core.TaskQueued
	if err := t.Check(); err != nil {
		return core.Task{}, false, err
	}
	if err := in.taskRefused(ctx, &t); err != nil {
		return core.Task{}, false, err
	}
	created, err := in.Store.CreateTask(ctx, t)
	if err != nil || !created {
		return t, false, err
	}
	_ = in.Tasks.EnqueueTask(ctx, t) // it is accepted: if this failed, Sweep queues it
	return t, true, nil
}

// taskRefused returns why a task is refused. A task that was accepted before is not refused now, whatever has changed
// since.
func (in *Intake) taskRefused(ctx context.Context, t *core.Task) error {
	err := in.taskRoom(ctx, t)
	if err == nil {
		err = in.checkNotify(ctx, t.ID, t.About, t.Notify)
	}
	if err == nil {
		return nil
	}
	if _, missing := in.Store.GetTask(ctx, t.ID); missing != nil {
		return err
	}
	return nil
}

// taskRoom returns FULL if the requester has too many unfinished tasks.
func (in *Intake) taskRoom(ctx context.Context, t *core.Task) error {
	if t.Requester == "" || t.Parent != "" {
		return nil
	}
	open, err := in.Store.ListTasks(ctx, core.TaskFilter{
		Requester: t.Requester, States: []core.TaskState{core.TaskQueued}, Limit: maxOpenTasks,
	})
	if err != nil || len(open) < maxOpenTasks {
		return err
	}
	return core.Errorf(core.CodeFull, t.Requester, "%s has %d tasks that have not ended, as many as may be: wait until some have, or cancel them",
		t.Requester, len(open))
}

// LocateTasks returns the places of tasks in Redis, by their keys. Returns UNAVAILABLE.
func (in *Intake) LocateTasks(ctx context.Context, keys []string) ([]core.TaskPlace, error) {
	return in.Tasks.LocateTasks(ctx, keys)
}

// RetryTask starts the next generation of a dead or cancelled task. If Redis is away it waits in the store until
// Sweep can queue it. Returns NOTFOUND, CONFLICT if it is in another state or a task with the same Unique key waits,
// LIMIT after too many, UNAVAILABLE.
func (in *Intake) RetryTask(ctx context.Context, id string) (core.Task, error) {
	t, err := in.Store.RetryTask(ctx, id, in.now().UnixMilli())
	if err != nil {
		return core.Task{}, err
	}
	_ = in.Tasks.EnqueueTask(ctx, t) // it is accepted: if this failed, Sweep queues it
	return t, nil
}
