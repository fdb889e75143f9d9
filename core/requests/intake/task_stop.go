package intake

import (
	"context"

	"drover/core"
)

const (
	maxDepth  = 4 // of parts within parts
	partsPage = 500
)

// CancelTask stops a task and all its parts in any place, and returns its state: cancelled if it waited, cancelling
// if a taskrunner has claimed it and will stop it. Cancelling a cancelled task succeeds, and continues with remaining
// parts. By says who asked, for the record. Returns INVALID, NOTFOUND, ENDED (with its state) if it ended otherwise,
// UNAVAILABLE.
func (in *Intake) CancelTask(ctx context.Context, id, by string) (core.TaskState, error) {
	if err := checkBy(id, by); err != nil {
		return "", err
	}
	t, err := in.Store.GetTask(ctx, id)
	if err != nil {
		return "", err
	}
	state := t.State
	if !state.Terminal() {
		if state, err = in.stopTask(ctx, t, by); err != nil {
			return "", err
		}
	}
	if state != core.TaskCancelled && state.Terminal() {
		return state, core.Errorf(core.CodeEnded, id, "task %s has ended already, as %s", id, state)
	}
	return state, in.stopParts(ctx, id, by, maxDepth)
}

// stopParts stops the unfinished parts of a task, and their parts. One failure does not hold back the others; the
// error lists all of them.
func (in *Intake) stopParts(ctx context.Context, parent, by string, depth int) error {
	if depth == 0 {
		return nil
	}
	var troubles []error
	for before := ""; ; {
		parts, err := in.Store.ListTasks(ctx, core.TaskFilter{
			Parent: parent, States: []core.TaskState{core.TaskQueued}, Before: before, Limit: partsPage,
		})
		if err != nil {
			return err
		}
		for _, t := range parts {
			_, err := in.stopTask(ctx, t, by)
			troubles = append(troubles, err, in.stopParts(ctx, t.ID, by, depth-1))
			before = t.ID
		}
		if len(parts) < partsPage || ctx.Err() != nil {
			return gather("not all parts of the task could be stopped; cancel it again", troubles...)
		}
	}
}

// stopTask ends a task that no owner has claimed, like stop: it marks the task, records its end and withdraws it. A
// task in a slot is only marked: its owner stops it.
func (in *Intake) stopTask(ctx context.Context, t core.Task, by string) (core.TaskState, error) {
	key := t.Key()
	place, err := in.Tasks.CancelTask(ctx, key, by)
	if err == nil && place.State == "" {
		// It is queued first, so that its end leaves a tombstone for an EnqueueTask in flight.
		if err = in.Tasks.EnqueueTask(ctx, t); err == nil || core.Is(err, core.CodeEnded) {
			place, err = in.Tasks.CancelTask(ctx, key, by)
		}
	}
	if err != nil {
		return "", err
	}
	if place.Owner != "" {
		return core.TaskCancelling, nil
	}
	end := core.TaskEnd{ID: t.ID, Generation: t.Generation, State: core.TaskCancelled, Note: "cancelled by " + by}
	first, err := in.Store.EndTask(ctx, end)
	if err != nil {
		return "", err
	}
	if _, err := in.Tasks.WithdrawTask(ctx, key); err != nil {
		return "", err
	}
	if first {
		return core.TaskCancelled, nil
	}
	t, err = in.Store.GetTask(ctx, t.ID)
	return t.State, err
}

// stopOrphans stops those of the tasks whose parent was cancelled: the process that cancelled it died before it
// reached them, or they were made in the meantime. It returns the others, and how many it stopped.
func (in *Intake) stopOrphans(ctx context.Context, tasks []core.Task) ([]core.Task, int, error) {
	cancelled := make(map[string]bool)
	var rest []core.Task
	var troubles []error
	n := 0
	for _, t := range tasks {
		over, known := cancelled[t.Parent]
		if t.Parent != "" && !known {
			whole, err := in.Store.GetTask(ctx, t.Parent)
			if err != nil && !core.Is(err, core.CodeNotFound) {
				return nil, n, err
			}
			over = whole.State == core.TaskCancelled
			cancelled[t.Parent] = over
		}
		if !over {
			rest = append(rest, t)
			continue
		}
		state, err := in.stopTask(ctx, t, platform+": the task that it is a part of was cancelled")
		troubles = append(troubles, err)
		if state == core.TaskCancelled {
			n++
		}
	}
	return rest, n, gather("not all parts of cancelled tasks could be stopped", troubles...)
}
