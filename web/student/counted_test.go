package student_test

import (
	"context"
	"reflect"
	"regexp"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/classes"
	"drover/core/requests"
	"drover/core/school"
	"drover/core/store/sqlite"
)

// counted counts how often a store is read.
type counted struct {
	*sqlite.Store
	n atomic.Int64
}

func (s *counted) CountChildren(ctx context.Context, a string) (core.TaskTally, error) {
	s.n.Add(1)
	return s.Store.CountChildren(ctx, a)
}

func (s *counted) Deadlines(ctx context.Context, a, b, c string) ([]school.Deadline, error) {
	s.n.Add(1)
	return s.Store.Deadlines(ctx, a, b, c)
}

func (s *counted) Get(ctx context.Context, a string) (core.Row, error) {
	s.n.Add(1)
	return s.Store.Get(ctx, a)
}

func (s *counted) GetAssignment(ctx context.Context, a, b string) (school.Assignment, error) {
	s.n.Add(1)
	return s.Store.GetAssignment(ctx, a, b)
}

func (s *counted) GetClass(ctx context.Context, a string) (school.Class, error) {
	s.n.Add(1)
	return s.Store.GetClass(ctx, a)
}

func (s *counted) GetImage(ctx context.Context, a string) (core.Image, error) {
	s.n.Add(1)
	return s.Store.GetImage(ctx, a)
}

func (s *counted) ListImages(ctx context.Context) ([]core.Image, error) {
	s.n.Add(1)
	return s.Store.ListImages(ctx)
}

func (s *counted) GetExperiment(ctx context.Context, a string) (school.Experiment, error) {
	s.n.Add(1)
	return s.Store.GetExperiment(ctx, a)
}

func (s *counted) GetSubmission(ctx context.Context, a string) (school.Submission, error) {
	s.n.Add(1)
	return s.Store.GetSubmission(ctx, a)
}

func (s *counted) GetTask(ctx context.Context, a string) (core.Task, error) {
	s.n.Add(1)
	return s.Store.GetTask(ctx, a)
}

func (s *counted) GetUser(ctx context.Context, a string) (school.User, error) {
	s.n.Add(1)
	return s.Store.GetUser(ctx, a)
}

func (s *counted) GetWebhook(ctx context.Context, a string) (core.Webhook, error) {
	s.n.Add(1)
	return s.Store.GetWebhook(ctx, a)
}

func (s *counted) List(ctx context.Context, a core.Filter) ([]core.Row, error) {
	s.n.Add(1)
	return s.Store.List(ctx, a)
}

func (s *counted) ListAssignments(ctx context.Context, a, b string, c int) ([]school.Assignment, error) {
	s.n.Add(1)
	return s.Store.ListAssignments(ctx, a, b, c)
}

func (s *counted) ListClasses(ctx context.Context, a string, b int) ([]school.Class, error) {
	s.n.Add(1)
	return s.Store.ListClasses(ctx, a, b)
}

func (s *counted) ListAuditEntries(ctx context.Context, a core.AuditFilter) ([]core.AuditEntry, error) {
	s.n.Add(1)
	return s.Store.ListAuditEntries(ctx, a)
}

func (s *counted) GetBatch(ctx context.Context, a string) (core.Batch, error) {
	s.n.Add(1)
	return s.Store.GetBatch(ctx, a)
}

func (s *counted) ListBatches(ctx context.Context, a core.BatchFilter) ([]core.Batch, error) {
	s.n.Add(1)
	return s.Store.ListBatches(ctx, a)
}

func (s *counted) GetJobType(ctx context.Context, a string) (core.JobType, error) {
	s.n.Add(1)
	return s.Store.GetJobType(ctx, a)
}

func (s *counted) JobTypes(ctx context.Context) ([]core.JobType, error) {
	s.n.Add(1)
	return s.Store.JobTypes(ctx)
}

func (s *counted) Buckets(ctx context.Context, a int64, b string, c, d int64) ([]core.Bucket, error) {
	s.n.Add(1)
	return s.Store.Buckets(ctx, a, b, c, d)
}

func (s *counted) ListExperiments(ctx context.Context, a, b string, c int) ([]school.Experiment, error) {
	s.n.Add(1)
	return s.Store.ListExperiments(ctx, a, b, c)
}

func (s *counted) ListSchedules(ctx context.Context) ([]core.Schedule, error) {
	s.n.Add(1)
	return s.Store.ListSchedules(ctx)
}

func (s *counted) ListSubmissions(ctx context.Context, a school.SubmissionFilter) ([]school.Standing, error) {
	s.n.Add(1)
	return s.Store.ListSubmissions(ctx, a)
}

func (s *counted) ListTasks(ctx context.Context, a core.TaskFilter) ([]core.Task, error) {
	s.n.Add(1)
	return s.Store.ListTasks(ctx, a)
}

func (s *counted) ListUsers(ctx context.Context, a string, b int) ([]school.User, error) {
	s.n.Add(1)
	return s.Store.ListUsers(ctx, a, b)
}

func (s *counted) ListWebhooks(ctx context.Context, a, b string, c int) ([]core.Webhook, error) {
	s.n.Add(1)
	return s.Store.ListWebhooks(ctx, a, b, c)
}

func (s *counted) Members(ctx context.Context, a, b string, c int) ([]school.Enrolment, error) {
	s.n.Add(1)
	return s.Store.Members(ctx, a, b, c)
}

func (s *counted) Memberships(ctx context.Context, a string) ([]school.Enrolment, error) {
	s.n.Add(1)
	return s.Store.Memberships(ctx, a)
}

func (s *counted) ToldLease(ctx context.Context, a string) (core.Lease, error) {
	s.n.Add(1)
	return s.Store.ToldLease(ctx, a)
}

func (s *counted) Outbox(ctx context.Context, a int) ([]core.Notice, error) {
	s.n.Add(1)
	return s.Store.Outbox(ctx, a)
}

func (s *counted) Pools(ctx context.Context) ([]core.Pool, error) {
	s.n.Add(1)
	return s.Store.Pools(ctx)
}

func (s *counted) Standings(ctx context.Context, a, b, c string, d int) ([]school.Standing, error) {
	s.n.Add(1)
	return s.Store.Standings(ctx, a, b, c, d)
}

func (s *counted) Attempts(ctx context.Context, a string) ([]core.Attempt, error) {
	s.n.Add(1)
	return s.Store.Attempts(ctx, a)
}

func (s *counted) WaysIn(ctx context.Context, a []string) ([]school.WayIn, error) {
	s.n.Add(1)
	return s.Store.WaysIn(ctx, a)
}

func (s *counted) GetRosterImport(ctx context.Context, a string) (school.RosterImport, error) {
	s.n.Add(1)
	return s.Store.GetRosterImport(ctx, a)
}

func (s *counted) StateChanges(ctx context.Context, a core.StateChangeFilter) ([]core.StateChange, error) {
	s.n.Add(1)
	return s.Store.StateChanges(ctx, a)
}

func (s *counted) GetUsers(ctx context.Context, keys []string) ([]school.User, error) {
	s.n.Add(1)
	return s.Store.GetUsers(ctx, keys)
}

func (s *counted) Leads(ctx context.Context, class string, users []string) ([]school.Lead, error) {
	s.n.Add(1)
	return s.Store.Leads(ctx, class, users)
}

func (s *counted) GetComment(ctx context.Context, a string) (school.Comment, error) {
	s.n.Add(1)
	return s.Store.GetComment(ctx, a)
}

func (s *counted) ListComments(ctx context.Context, a school.CommentFilter) ([]school.Comment, error) {
	s.n.Add(1)
	return s.Store.ListComments(ctx, a)
}

func (s *counted) CountQuestions(ctx context.Context, a []string) ([]school.QuestionCount, error) {
	s.n.Add(1)
	return s.Store.CountQuestions(ctx, a)
}

// writes are what no page that is only looked at does.
var writes = regexp.MustCompile(`^(Add|Bind|Create|Delete|Drop|Edit|Enrol|Put|Release|See|Sent|Set)`)

// Every method that reads is counted.
func TestCountedCountsAll(t *testing.T) {
	t.Parallel()
	for _, of := range []reflect.Type{reflect.TypeFor[classes.Store](), reflect.TypeFor[requests.Store]()} {
		for i := range of.NumMethod() {
			if name := of.Method(i).Name; !writes.MatchString(name) {
				require.Equal(t, int64(1), calls(name), name)
			}
		}
	}
}

// calls calls a method of a store that is none, and returns how often that was counted.
func calls(name string) int64 {
	c := &counted{}
	method := reflect.ValueOf(c).MethodByName(name)
	in := make([]reflect.Value, method.Type().NumIn())
	for i := range in {
		in[i] = reflect.Zero(method.Type().In(i))
	}
	func() {
		defer func() { _ = recover() }() // there is nothing that could answer
		method.Call(in)
	}()
	return c.n.Load()
}
