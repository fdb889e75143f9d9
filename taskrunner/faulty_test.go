package taskrunner

import (
	"context"

	"drover/core"
	"drover/core/school"
)

// faulty is a store of which the nth call fails, before or after it took effect.
type faulty struct {
	school.ResultStore
	n, at int
	after bool
}

// call makes a call, or fails.
func call[T any](f *faulty, do func() (T, error)) (T, error) {
	f.n++
	var none T
	if f.n == f.at && !f.after {
		return none, errLost
	}
	x, err := do()
	if f.n == f.at {
		return none, errLost
	}
	return x, err
}

var errLost = core.Errorf(core.CodeUnavailable, "", "the call was lost")

func (f *faulty) only(do func() error) error {
	_, err := call(f, func() (struct{}, error) { return struct{}{}, do() })
	return err
}

func (f *faulty) GetClass(ctx context.Context, class string) (school.Class, error) {
	return call(f, func() (school.Class, error) { return f.ResultStore.GetClass(ctx, class) })
}

func (f *faulty) ListAssignments(ctx context.Context, class, after string, limit int) ([]school.Assignment, error) {
	return call(f, func() ([]school.Assignment, error) { return f.ResultStore.ListAssignments(ctx, class, after, limit) })
}

func (f *faulty) ListExperiments(ctx context.Context, class, handle string, limit int) ([]school.Experiment, error) {
	return call(f, func() ([]school.Experiment, error) { return f.ResultStore.ListExperiments(ctx, class, handle, limit) })
}

func (f *faulty) PutExperiment(ctx context.Context, e school.Experiment) (int64, error) {
	return call(f, func() (int64, error) { return f.ResultStore.PutExperiment(ctx, e) })
}

func (f *faulty) List(ctx context.Context, filter core.Filter) ([]core.Row, error) {
	return call(f, func() ([]core.Row, error) { return f.ResultStore.List(ctx, filter) })
}

func (f *faulty) ListTasks(ctx context.Context, filter core.TaskFilter) ([]core.Task, error) {
	return call(f, func() ([]core.Task, error) { return f.ResultStore.ListTasks(ctx, filter) })
}

func (f *faulty) EndTask(ctx context.Context, e core.TaskEnd) (bool, error) {
	return call(f, func() (bool, error) { return f.ResultStore.EndTask(ctx, e) })
}

func (f *faulty) Record(ctx context.Context, r core.Result) (bool, error) {
	return call(f, func() (bool, error) { return f.ResultStore.Record(ctx, r) })
}

func (f *faulty) DeleteSubmissions(ctx context.Context, class, handle string, limit int) (removed, left int, err error) {
	_, err = call(f, func() (int, error) {
		removed, left, err = f.ResultStore.DeleteSubmissions(ctx, class, handle, limit)
		return removed, err
	})
	return removed, left, err
}

func (f *faulty) DeleteAssignment(ctx context.Context, class, handle string) error {
	return f.only(func() error { return f.ResultStore.DeleteAssignment(ctx, class, handle) })
}

func (f *faulty) ListSchedules(ctx context.Context) ([]core.Schedule, error) {
	return call(f, func() ([]core.Schedule, error) { return f.ResultStore.ListSchedules(ctx) })
}

func (f *faulty) DeleteSchedule(ctx context.Context, name string) error {
	return f.only(func() error { return f.ResultStore.DeleteSchedule(ctx, name) })
}

func (f *faulty) DeleteClass(ctx context.Context, class string) error {
	return f.only(func() error { return f.ResultStore.DeleteClass(ctx, class) })
}
