package cells

import (
	"context"

	"drover/core"
)

// ofTask returns the first cell, which has all tasks.
func (c *Cells) ofTask(context.Context, string) (*Cell, error) { return c.all[0], nil }

// EnqueueTask implements core.Tasks.
func (c *Cells) EnqueueTask(ctx context.Context, t core.Task) error {
	return tell(ctx, c.ofTask, t.ID, func(r Redis) error { return r.EnqueueTask(ctx, t) })
}

// PresentTasks implements core.Tasks.
func (c *Cells) PresentTasks(ctx context.Context, keys []string) ([]bool, error) {
	return ask(ctx, c.ofTask, "", func(r Redis) ([]bool, error) { return r.PresentTasks(ctx, keys) })
}

// LocateTasks implements core.Tasks.
func (c *Cells) LocateTasks(ctx context.Context, keys []string) ([]core.TaskPlace, error) {
	return ask(ctx, c.ofTask, "", func(r Redis) ([]core.TaskPlace, error) { return r.LocateTasks(ctx, keys) })
}

// CancelTask implements core.Tasks.
func (c *Cells) CancelTask(ctx context.Context, key, by string) (core.TaskPlace, error) {
	return ask(ctx, c.ofTask, key, func(r Redis) (core.TaskPlace, error) { return r.CancelTask(ctx, key, by) })
}

// WithdrawTask implements core.Tasks.
func (c *Cells) WithdrawTask(ctx context.Context, key string) (bool, error) {
	return ask(ctx, c.ofTask, key, func(r Redis) (bool, error) { return r.WithdrawTask(ctx, key) })
}

// TaskQueues implements core.Tasks.
func (c *Cells) TaskQueues(ctx context.Context) ([]core.TaskQueueInfo, error) {
	return ask(ctx, c.ofTask, "", func(r Redis) ([]core.TaskQueueInfo, error) { return r.TaskQueues(ctx) })
}
