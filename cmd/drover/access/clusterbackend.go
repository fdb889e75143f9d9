package access

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"slices"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"
)

var _ Backend = (*Session)(nil)

// At names the cluster by its Redis.
func (s *Session) At() string { return "the cluster at " + s.Config.Redis.String() }

// Who returns the acting user.
func (s *Session) Who(context.Context) (core.Actor, error) { return s.Actor, nil }

func (s *Session) FindClass(ctx context.Context, query string) (school.Class, error) {
	return s.Reg.FindClass(ctx, s.Actor, query)
}

func (s *Session) ListClasses(ctx context.Context, after string, limit int) ([]classes.ClassEntry, error) {
	return s.Reg.ListClasses(ctx, s.Actor, after, limit)
}

func (s *Session) ViewClass(ctx context.Context, handle string) (classes.ClassEntry, error) {
	return s.Reg.ViewClass(ctx, s.Actor, handle)
}

func (s *Session) Roster(ctx context.Context, class, after string, limit int) ([]classes.Member, error) {
	return s.Reg.Roster(ctx, s.Actor, class, after, limit)
}

func (s *Session) FindAssignment(ctx context.Context, query string) (school.Assignment, error) {
	return s.Reg.FindAssignment(ctx, s.Actor, query)
}

func (s *Session) ListAssignments(ctx context.Context, f classes.AssignmentFilter) (all []classes.AssignmentEntry, left int, err error) {
	return s.Reg.ListAssignments(ctx, s.Actor, f)
}

func (s *Session) ViewAssignment(ctx context.Context, class, handle string) (classes.AssignmentEntry, error) {
	return s.Reg.ViewAssignment(ctx, s.Actor, class, handle)
}

func (s *Session) Deadlines(ctx context.Context, class, assignment, user string) ([]school.Deadline, error) {
	return s.Reg.Deadlines(ctx, s.Actor, class, assignment, user)
}

func (s *Session) Progress(ctx context.Context, class, assignment string) (classes.Progress, error) {
	return s.Reg.Progress(ctx, s.Actor, class, assignment)
}

func (s *Session) ChangeGrade(ctx context.Context, change classes.GradeChange) (school.Standing, error) {
	return s.Reg.ChangeGrade(ctx, s.Actor, change)
}

func (s *Session) Submit(ctx context.Context, h classes.NewSubmission) (school.Submission, error) {
	return s.Reg.Submit(ctx, s.Actor, h)
}

func (s *Session) ListSubmissions(ctx context.Context, f school.SubmissionFilter) ([]classes.SubmissionEntry, error) {
	return s.Reg.ListSubmissions(ctx, s.Actor, f)
}

func (s *Session) ViewSubmission(ctx context.Context, id string) (classes.SubmissionView, error) {
	return s.Reg.ViewSubmission(ctx, s.Actor, id)
}

func (s *Session) Handout(ctx context.Context, class, handle string) ([]core.File, error) {
	_, sizes, err := s.Reg.ViewHandout(ctx, s.Actor, class, handle)
	var all []core.File
	for _, path := range slices.Sorted(maps.Keys(sizes)) {
		all = append(all, core.File{Path: path, Size: sizes[path]})
	}
	return all, err
}

func (s *Session) OpenHandout(ctx context.Context, class, handle, path string) (core.File, io.ReadCloser, error) {
	return s.Reg.OpenHandout(ctx, s.Actor, class, handle, path)
}

func (s *Session) OpenFile(ctx context.Context, id, path string) (core.File, io.ReadCloser, error) {
	return s.Reg.OpenFile(ctx, s.Actor, id, path)
}

func (s *Session) Resubmit(ctx context.Context, id string) error {
	return s.Reg.Resubmit(ctx, s.Actor, id)
}

func (s *Session) CancelSubmission(ctx context.Context, id string) (core.RequestState, error) {
	return s.Reg.CancelSubmission(ctx, s.Actor, id)
}

func (s *Session) StartTask(ctx context.Context, kind string, args json.RawMessage) (core.Task, error) {
	return s.Reg.StartTask(ctx, s.Actor, kind, args)
}

func (s *Session) TrackTask(ctx context.Context, id string) (classes.TaskView, error) {
	return s.Reg.TrackTask(ctx, s.Actor, id)
}

func (s *Session) TrackTasks(ctx context.Context, f core.TaskFilter) ([]classes.TaskView, error) {
	return s.Reg.TrackTasks(ctx, s.Actor, f)
}

func (s *Session) CancelTask(ctx context.Context, id string) (core.TaskState, error) {
	return s.Reg.CancelTask(ctx, s.Actor, id)
}

func (s *Session) RetryTask(ctx context.Context, id string) (core.Task, error) {
	return s.Reg.RetryTask(ctx, s.Actor, id)
}

func (s *Session) OpenDownload(ctx context.Context, id string) (core.Download, io.ReadCloser, error) {
	return s.Reg.OpenDownload(ctx, s.Actor, id)
}

// WriteZip writes a submission as a zip. After an error the output is no valid zip.
func (s *Session) WriteZip(ctx context.Context, id string, to io.Writer) error {
	z, err := s.Reg.OpenZip(ctx, s.Actor, id)
	if err != nil {
		return err
	}
	return z.Write(ctx, to)
}

// WhyTaskWaits returns which part of the cluster is missing.
func (s *Session) WhyTaskWaits(ctx context.Context) string {
	owners, err := s.Redis.ListOwners(ctx)
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
