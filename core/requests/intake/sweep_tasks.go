package intake

import (
	"context"
	"errors"

	"drover/core"
)

// sweepTasks queues a page of unfinished tasks that Redis does not have, and stops parts
// of tasks that were cancelled.
func (in *Intake) sweepTasks(ctx context.Context, after string) (next string, n int, err error) {
	tasks, err := in.Store.UnfinishedTasks(ctx, after, in.batch())
	if err != nil {
		return after, 0, err
	}
	if len(tasks) == in.batch() {
		next = tasks[len(tasks)-1].ID
	}
	tasks, n, err = in.stopOrphans(ctx, tasks)
	queued, queueErr := in.queueLost(ctx, after, tasks)
	return next, n + queued, errors.Join(err, queueErr)
}

// queueLost queues the lost ones of a page of unfinished tasks.
func (in *Intake) queueLost(ctx context.Context, after string, tasks []core.Task) (int, error) {
	lost, err := in.absentTasks(ctx, tasks)
	if err != nil || len(lost) == 0 {
		return 0, err
	}
	// Once more: work that was in flight is in Redis now, or has ended.
	if tasks, err = in.Store.UnfinishedTasks(ctx, after, in.batch()); err != nil {
		return 0, err
	}
	open := make(map[string]bool, len(tasks))
	for _, t := range tasks {
		open[t.Key()] = true
	}
	if lost, err = in.absentTasks(ctx, pick(lost, func(i int) bool { return open[lost[i].Key()] })); err != nil {
		return 0, err
	}
	var troubles []error
	n := 0
	for _, t := range lost {
		err := in.Tasks.EnqueueTask(ctx, t)
		if core.Is(err, core.CodeEnded) {
			if is, asked := in.reopenTask(ctx, t); !is {
				troubles = append(troubles, asked)
				continue
			}
			err = in.Tasks.EnqueueTask(ctx, t)
		}
		if err != nil {
			troubles = append(troubles, err)
			continue
		}
		n++
	}
	return n, errors.Join(troubles...)
}

// reopenTask is reopen for a task.
func (in *Intake) reopenTask(ctx context.Context, t core.Task) (bool, error) {
	now, err := in.Store.GetTask(ctx, t.ID)
	if err != nil || now.Generation != t.Generation || now.State != core.TaskQueued {
		if core.Is(err, core.CodeNotFound) {
			err = nil
		}
		return false, err
	}
	err = in.Queue.ForgetEnds(ctx, []string{t.Key()})
	return err == nil, err
}

// absentTasks returns the tasks that Redis has nowhere.
func (in *Intake) absentTasks(ctx context.Context, tasks []core.Task) ([]core.Task, error) {
	if len(tasks) == 0 {
		return nil, nil
	}
	keys := make([]string, len(tasks))
	for i := range tasks {
		keys[i] = tasks[i].Key()
	}
	present, err := in.Tasks.PresentTasks(ctx, keys)
	if err != nil {
		return nil, err
	}
	return pick(tasks, func(i int) bool { return !present[i] }), nil
}
