package staff_test

import (
	"context"
	"sync/atomic"

	"drover/core"
	"drover/core/school"
)

// counting is a store that counts what pages read.
type counting struct {
	school.ResultStore
	calls, most atomic.Int64 // most rows that one call returned
}

// count has the classes service's calls of the store counted from now on.
func (w *fixture) count() *counting {
	c := &counting{ResultStore: w.reg.Store.(school.ResultStore)}
	w.reg.Store = c
	return c
}

func (c *counting) note(rows int) {
	c.calls.Add(1)
	c.most.Store(max(c.most.Load(), int64(rows)))
}

func (c *counting) GetUser(ctx context.Context, handle string) (school.User, error) {
	rows, err := c.ResultStore.GetUser(ctx, handle)
	c.note(1)
	return rows, err
}

func (c *counting) GetClass(ctx context.Context, handle string) (school.Class, error) {
	rows, err := c.ResultStore.GetClass(ctx, handle)
	c.note(1)
	return rows, err
}

func (c *counting) Memberships(ctx context.Context, user string) ([]school.Enrolment, error) {
	rows, err := c.ResultStore.Memberships(ctx, user)
	c.note(len(rows))
	return rows, err
}

func (c *counting) Members(ctx context.Context, class, after string, limit int) ([]school.Enrolment, error) {
	rows, err := c.ResultStore.Members(ctx, class, after, limit)
	c.note(len(rows))
	return rows, err
}

func (c *counting) GetAssignment(ctx context.Context, class, handle string) (school.Assignment, error) {
	rows, err := c.ResultStore.GetAssignment(ctx, class, handle)
	c.note(1)
	return rows, err
}

func (c *counting) ListAssignments(ctx context.Context, class, after string, limit int) ([]school.Assignment, error) {
	rows, err := c.ResultStore.ListAssignments(ctx, class, after, limit)
	c.note(len(rows))
	return rows, err
}

func (c *counting) Deadlines(ctx context.Context, class, assignment, user string) ([]school.Deadline, error) {
	rows, err := c.ResultStore.Deadlines(ctx, class, assignment, user)
	c.note(len(rows))
	return rows, err
}

func (c *counting) GetSubmission(ctx context.Context, id string) (school.Submission, error) {
	rows, err := c.ResultStore.GetSubmission(ctx, id)
	c.note(1)
	return rows, err
}

func (c *counting) ListSubmissions(ctx context.Context, f school.SubmissionFilter) ([]school.Standing, error) {
	rows, err := c.ResultStore.ListSubmissions(ctx, f)
	c.note(len(rows))
	return rows, err
}

func (c *counting) Standings(ctx context.Context, class, assignment, after string, limit int) ([]school.Standing, error) {
	rows, err := c.ResultStore.Standings(ctx, class, assignment, after, limit)
	c.note(len(rows))
	return rows, err
}

func (c *counting) ListExperiments(ctx context.Context, class, assignment string, limit int) ([]school.Experiment, error) {
	rows, err := c.ResultStore.ListExperiments(ctx, class, assignment, limit)
	c.note(len(rows))
	return rows, err
}

func (c *counting) GetExperiment(ctx context.Context, id string) (school.Experiment, error) {
	rows, err := c.ResultStore.GetExperiment(ctx, id)
	c.note(1)
	return rows, err
}

func (c *counting) Get(ctx context.Context, id string) (core.Row, error) {
	rows, err := c.ResultStore.Get(ctx, id)
	c.note(1)
	return rows, err
}

func (c *counting) List(ctx context.Context, f core.Filter) ([]core.Row, error) {
	rows, err := c.ResultStore.List(ctx, f)
	c.note(len(rows))
	return rows, err
}

func (c *counting) Attempts(ctx context.Context, id string) ([]core.Attempt, error) {
	rows, err := c.ResultStore.Attempts(ctx, id)
	c.note(len(rows))
	return rows, err
}

func (c *counting) Pools(ctx context.Context) ([]core.Pool, error) {
	rows, err := c.ResultStore.Pools(ctx)
	c.note(len(rows))
	return rows, err
}

func (c *counting) ListTasks(ctx context.Context, f core.TaskFilter) ([]core.Task, error) {
	rows, err := c.ResultStore.ListTasks(ctx, f)
	c.note(len(rows))
	return rows, err
}

func (c *counting) ListAuditEntries(ctx context.Context, f core.AuditFilter) ([]core.AuditEntry, error) {
	rows, err := c.ResultStore.ListAuditEntries(ctx, f)
	c.note(len(rows))
	return rows, err
}

func (c *counting) ListWebhooks(ctx context.Context, class, after string, limit int) ([]core.Webhook, error) {
	rows, err := c.ResultStore.ListWebhooks(ctx, class, after, limit)
	c.note(len(rows))
	return rows, err
}

func (c *counting) GetWebhook(ctx context.Context, id string) (core.Webhook, error) {
	rows, err := c.ResultStore.GetWebhook(ctx, id)
	c.note(1)
	return rows, err
}

func (c *counting) CountChildren(ctx context.Context, parent string) (core.TaskTally, error) {
	rows, err := c.ResultStore.CountChildren(ctx, parent)
	c.note(1)
	return rows, err
}
