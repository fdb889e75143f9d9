package classes_test

import (
	"context"
	"sync"

	"drover/core"
	"drover/core/requests/intake"
	"drover/core/school"
)

// steps are the changes that a call makes, in their order. It can make one of them fail.
type steps struct {
	mu      sync.Mutex
	names   []string
	entries []core.AuditEntry
	fail    bool // every change but of the audit log
}

var errBroken = core.Errorf(core.CodeUnavailable, "", "the store is away")

func (s *steps) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names, s.entries = nil, nil
}

func (s *steps) step(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names = append(s.names, name)
	if s.fail {
		return errBroken
	}
	return nil
}

// watched is a store whose changes are noted.
type watched struct {
	school.ResultStore
	*steps
}

func (s watched) AddAuditEntry(ctx context.Context, d core.AuditEntry) error {
	s.mu.Lock()
	s.names, s.entries = append(s.names, "entry"), append(s.entries, d)
	s.mu.Unlock()
	return s.ResultStore.AddAuditEntry(ctx, d)
}

func (s watched) PutUser(ctx context.Context, u school.User) (int64, error) {
	if err := s.step("put user"); err != nil {
		return 0, err
	}
	return s.ResultStore.PutUser(ctx, u)
}

func (s watched) DeleteUser(ctx context.Context, handle string) error {
	if err := s.step("delete user"); err != nil {
		return err
	}
	return s.ResultStore.DeleteUser(ctx, handle)
}

func (s watched) PutClass(ctx context.Context, c school.Class) (int64, error) {
	if err := s.step("put class"); err != nil {
		return 0, err
	}
	return s.ResultStore.PutClass(ctx, c)
}

func (s watched) Enrol(ctx context.Context, e school.Enrolment) error {
	if err := s.step("enrol"); err != nil {
		return err
	}
	return s.ResultStore.Enrol(ctx, e)
}

func (s watched) Drop(ctx context.Context, class, user string) (bool, error) {
	if err := s.step("drop"); err != nil {
		return false, err
	}
	return s.ResultStore.Drop(ctx, class, user)
}

func (s watched) PutAssignment(ctx context.Context, as school.Assignment) (int64, error) {
	if err := s.step("put assignment"); err != nil {
		return 0, err
	}
	return s.ResultStore.PutAssignment(ctx, as)
}

func (s watched) PutDeadline(ctx context.Context, d school.Deadline) error {
	if err := s.step("put deadline"); err != nil {
		return err
	}
	return s.ResultStore.PutDeadline(ctx, d)
}

func (s watched) CreateSubmission(ctx context.Context, sub school.Submission, grading *core.Spec) (school.Submission, bool, error) {
	if err := s.step("create submission"); err != nil {
		return school.Submission{}, false, err
	}
	return s.ResultStore.CreateSubmission(ctx, sub, grading)
}

func (s watched) SetGrade(ctx context.Context, id string, g *school.Grade) error {
	if err := s.step("set grade"); err != nil {
		return err
	}
	return s.ResultStore.SetGrade(ctx, id, g)
}

func (s watched) PutSchedule(ctx context.Context, one core.Schedule) (int64, error) {
	if err := s.step("put schedule"); err != nil {
		return 0, err
	}
	return s.ResultStore.PutSchedule(ctx, one)
}

func (s watched) DeleteSchedule(ctx context.Context, name string) error {
	if err := s.step("delete schedule"); err != nil {
		return err
	}
	return s.ResultStore.DeleteSchedule(ctx, name)
}

// intaking is an intake whose changes are noted.
type intaking struct {
	*intake.Intake
	*steps
}

func (d intaking) Rerun(ctx context.Context, id string) (core.Row, error) {
	if err := d.step("rerun"); err != nil {
		return core.Row{}, err
	}
	return d.Intake.Rerun(ctx, id)
}

func (d intaking) Cancel(ctx context.Context, id, by string) (core.RequestState, error) {
	if err := d.step("cancel"); err != nil {
		return "", err
	}
	return d.Intake.Cancel(ctx, id, by)
}

func (d intaking) SubmitTask(ctx context.Context, t core.Task) (core.Task, bool, error) {
	if err := d.step("submit task"); err != nil {
		return core.Task{}, false, err
	}
	return d.Intake.SubmitTask(ctx, t)
}

func (d intaking) CancelTask(ctx context.Context, id, by string) (core.TaskState, error) {
	if err := d.step("cancel task"); err != nil {
		return "", err
	}
	return d.Intake.CancelTask(ctx, id, by)
}

func (d intaking) RetryTask(ctx context.Context, id string) (core.Task, error) {
	if err := d.step("retry task"); err != nil {
		return core.Task{}, err
	}
	return d.Intake.RetryTask(ctx, id)
}

func (s watched) AddComment(ctx context.Context, c school.Comment) error {
	if err := s.step("add comment"); err != nil {
		return err
	}
	return s.ResultStore.AddComment(ctx, c)
}

func (s watched) EditComment(ctx context.Context, id, text string, at int64) error {
	if err := s.step("edit comment"); err != nil {
		return err
	}
	return s.ResultStore.EditComment(ctx, id, text, at)
}

func (s watched) DeleteComment(ctx context.Context, id string) error {
	if err := s.step("delete comment"); err != nil {
		return err
	}
	return s.ResultStore.DeleteComment(ctx, id)
}

func (s watched) ReleaseComments(ctx context.Context, class, assignment, submission string, at int64, tell bool) (int, error) {
	if err := s.step("release comments"); err != nil {
		return 0, err
	}
	return s.ResultStore.ReleaseComments(ctx, class, assignment, submission, at, tell)
}
