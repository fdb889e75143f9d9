package classes

import (
	"cmp"
	"context"
	"slices"

	"drover/core"
	"drover/core/store/bounds"
)

// TaskView is a task with its place in Redis. Place is nil if the task has ended, or if Redis is away.
type TaskView struct {
	core.Task
	Place *core.TaskPlace `json:"place,omitempty"`
}

// TrackTask is ViewTask with the task's state and progress as Redis has them.
func (r *Service) TrackTask(ctx context.Context, a core.Actor, id string) (TaskView, error) {
	t, err := r.ViewTask(ctx, a, id)
	if err != nil {
		return TaskView{}, err
	}
	views, err := r.located(ctx, []core.Task{t})
	if err != nil {
		return TaskView{}, err
	}
	return views[0], nil
}

// TrackTasks is ListTasks with places. If f.States is not empty, it lists tasks in these states, including those that
// only Redis distinguishes. Returns INVALID.
func (r *Service) TrackTasks(ctx context.Context, a core.Actor, f core.TaskFilter) ([]TaskView, error) {
	f.Limit = cmp.Or(f.Limit, bounds.DefaultRows)
	asked, most := f.States, f.Limit
	f.States = stored(asked)
	views := []TaskView{}
	for {
		some, err := r.ListTasks(ctx, a, f)
		if err != nil {
			return nil, err
		}
		located, err := r.located(ctx, some)
		if err != nil {
			return nil, err
		}
		for i := range located {
			f.Before = located[i].ID
			if len(views) < most && (len(asked) == 0 || slices.Contains(asked, located[i].State)) {
				views = append(views, located[i])
			}
		}
		if len(some) < f.Limit || len(views) == most {
			return views, nil
		}
	}
}

// stored returns the corresponding states in the store, where every unfinished task is queued.
func stored(states []core.TaskState) []core.TaskState {
	var all []core.TaskState
	for _, s := range states {
		if !s.Terminal() {
			s = core.TaskQueued
		}
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// located adds the places of tasks.
func (r *Service) located(ctx context.Context, tasks []core.Task) ([]TaskView, error) {
	views := make([]TaskView, len(tasks))
	var keys []string
	var open []int
	for i := range tasks {
		if views[i].Task = tasks[i]; !tasks[i].State.Terminal() {
			keys, open = append(keys, tasks[i].Key()), append(open, i)
		}
	}
	if len(keys) == 0 {
		return views, nil
	}
	places, err := r.Intake.LocateTasks(ctx, keys)
	if core.Is(err, core.CodeUnavailable) {
		return views, nil // ends come from the store
	}
	if err != nil {
		return nil, err
	}
	for n, i := range open {
		p := places[n]
		if p.State == "" {
			// It has just ended, or is not in Redis yet.
			if views[i].Task, err = r.Store.GetTask(ctx, tasks[i].ID); err != nil {
				return nil, err
			}
			continue
		}
		views[i].Place, views[i].State = &p, p.State
		if p.Progress != nil {
			views[i].Progress = p.Progress
		}
	}
	return views, nil
}
