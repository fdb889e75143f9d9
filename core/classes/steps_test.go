package classes_test

import (
	"context"
	"sync"

	"drover/core"
	"drover/core/requests/intake"
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
	core.ResultStore
	*steps
}

func (s watched) AddAuditEntry(ctx context.Context, d core.AuditEntry) error {
	s.mu.Lock()
	s.names, s.entries = append(s.names, "entry"), append(s.entries, d)
	s.mu.Unlock()
	return s.ResultStore.AddAuditEntry(ctx, d)
}

func (s watched) PutUser(ctx context.Context, u core.User) (int64, error) {
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

func (s watched) PutClass(ctx context.Context, c core.Class) (int64, error) {
	if err := s.step("put class"); err != nil {
		return 0, err
	}
	return s.ResultStore.PutClass(ctx, c)
}

func (s watched) Enrol(ctx context.Context, e core.Enrolment) error {
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

func (s watched) PutAssignment(ctx context.Context, as core.Assignment) (int64, error) {
	if err := s.step("put assignment"); err != nil {
		return 0, err
	}
	return s.ResultStore.PutAssignment(ctx, as)
}

func (s watched) PutDeadline(ctx context.Context, d core.Deadline) error {
	if err := s.step("put deadline"); err != nil {
		return err
	}
	return s.ResultStore.PutDeadline(ctx, d)
}

func (s watched) CreateSubmission(ctx context.Context, sub core.Submission) (core.Submission, bool, error) {
	if err := s.step("create submission"); err != nil {
		return core.Submission{}, false, err
	}
	return s.ResultStore.CreateSubmission(ctx, sub)
}

func (s watched) SetGrade(ctx context.Context, id string, g *core.Grade) error {
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

func (d intaking) Submit(ctx context.Context, spec core.Spec) (core.Row, bool, error) {
	if err := d.step("submit"); err != nil {
		return core.Row{}, false, err
	}
	return d.Intake.Submit(ctx, spec)
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
