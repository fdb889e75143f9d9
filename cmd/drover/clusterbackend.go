package main

import (
	"context"
	"io"

	"drover/core"
	"drover/core/classes"
)

var _ backend = (*session)(nil)

// At names the cluster by its Redis.
func (s *session) At() string { return "the cluster at " + s.cfg.Redis.String() }

// Who is who acts.
func (s *session) Who(context.Context) (core.Actor, error) { return s.actor, nil }

func (s *session) FindClass(ctx context.Context, query string) (core.Class, error) {
	return s.reg.FindClass(ctx, s.actor, query)
}

func (s *session) ListClasses(ctx context.Context, after string, limit int) ([]classes.ClassEntry, error) {
	return s.reg.ListClasses(ctx, s.actor, after, limit)
}

func (s *session) ViewClass(ctx context.Context, handle string) (classes.ClassEntry, error) {
	return s.reg.ViewClass(ctx, s.actor, handle)
}

func (s *session) Roster(ctx context.Context, class, after string, limit int) ([]classes.Member, error) {
	return s.reg.Roster(ctx, s.actor, class, after, limit)
}

func (s *session) FindAssignment(ctx context.Context, query string) (core.Assignment, error) {
	return s.reg.FindAssignment(ctx, s.actor, query)
}

func (s *session) ListAssignments(ctx context.Context, f classes.AssignmentFilter) (all []classes.AssignmentEntry, left int, err error) {
	return s.reg.ListAssignments(ctx, s.actor, f)
}

func (s *session) ViewAssignment(ctx context.Context, class, handle string) (classes.AssignmentEntry, error) {
	return s.reg.ViewAssignment(ctx, s.actor, class, handle)
}

func (s *session) Deadlines(ctx context.Context, class, assignment, user string) ([]core.Deadline, error) {
	return s.reg.Deadlines(ctx, s.actor, class, assignment, user)
}

func (s *session) Progress(ctx context.Context, class, assignment string) (classes.Progress, error) {
	return s.reg.Progress(ctx, s.actor, class, assignment)
}

func (s *session) ChangeGrade(ctx context.Context, change classes.GradeChange) (core.Standing, error) {
	return s.reg.ChangeGrade(ctx, s.actor, change)
}

func (s *session) Submit(ctx context.Context, h classes.NewSubmission) (core.Submission, error) {
	return s.reg.Submit(ctx, s.actor, h)
}

func (s *session) ListSubmissions(ctx context.Context, f core.SubmissionFilter) ([]classes.SubmissionEntry, error) {
	return s.reg.ListSubmissions(ctx, s.actor, f)
}

func (s *session) ViewSubmission(ctx context.Context, id string) (classes.SubmissionView, error) {
	return s.reg.ViewSubmission(ctx, s.actor, id)
}

func (s *session) OpenFile(ctx context.Context, id, path string) (core.File, io.ReadCloser, error) {
	return s.reg.OpenFile(ctx, s.actor, id, path)
}

func (s *session) Resubmit(ctx context.Context, id string) error {
	return s.reg.Resubmit(ctx, s.actor, id)
}

func (s *session) CancelSubmission(ctx context.Context, id string) (core.RequestState, error) {
	return s.reg.CancelSubmission(ctx, s.actor, id)
}

func (s *session) StartGradebook(ctx context.Context, args core.GradebookArgs) (core.Task, error) {
	return s.reg.StartGradebook(ctx, s.actor, args)
}

func (s *session) StartArchive(ctx context.Context, args core.ArchiveArgs) (core.Task, error) {
	return s.reg.StartArchive(ctx, s.actor, args)
}

func (s *session) StartAssignmentCSV(ctx context.Context, args core.AssignmentCSVArgs) (core.Task, error) {
	return s.reg.StartAssignmentCSV(ctx, s.actor, args)
}

func (s *session) TrackTask(ctx context.Context, id string) (classes.TaskView, error) {
	return s.reg.TrackTask(ctx, s.actor, id)
}

func (s *session) TrackTasks(ctx context.Context, f core.TaskFilter) ([]classes.TaskView, error) {
	return s.reg.TrackTasks(ctx, s.actor, f)
}

func (s *session) CancelTask(ctx context.Context, id string) (core.TaskState, error) {
	return s.reg.CancelTask(ctx, s.actor, id)
}

func (s *session) RetryTask(ctx context.Context, id string) (core.Task, error) {
	return s.reg.RetryTask(ctx, s.actor, id)
}

func (s *session) OpenDownload(ctx context.Context, id string) (core.Download, io.ReadCloser, error) {
	return s.reg.OpenDownload(ctx, s.actor, id)
}

// WriteZip writes a submission as a zip. What was written before an error is none.
func (s *session) WriteZip(ctx context.Context, id string, to io.Writer) error {
	z, err := s.reg.OpenZip(ctx, s.actor, id)
	if err != nil {
		return err
	}
	return z.Write(ctx, to)
}

// WhyTaskWaits says which part of the cluster is missing.
func (s *session) WhyTaskWaits(ctx context.Context) string {
	owners, err := s.redis.ListOwners(ctx)
	if err != nil {
		return "still waiting, and Redis does not say why: " + err.Error()
	}
	for _, o := range owners {
		if o.Role == core.RoleTaskrunner && !o.Late {
			return "still waiting for its turn; drover task queues says what waits and at which rate"
		}
	}
	return "still waiting: no taskrunner is running; start one with drover taskrunner, or a whole cluster with drover up"
}
