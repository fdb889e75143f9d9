package api

import (
	"context"

	"drover/core"
	"drover/core/classes"
)

func taskTable() []entry {
	return []entry{
		is(Operation{"listTasks", get, "/tasks", "", core.ScopeRead, 0, "List the tasks that one may see, newest first"}, (*server).listTasks),
		is(Operation{"viewTask", get, "/tasks/{id}", core.ActTaskView, core.ScopeRead, 0, "Look at a task and how far it is"}, (*server).viewTask),
		is(Operation{"cancelTask", post, "/tasks/{id}/cancel", core.ActTaskControl, core.ScopeSubmit, 202, "Stop a task"}, (*server).cancelTask),
		is(Operation{"retryTask", post, "/tasks/{id}/retry", core.ActTaskControl, core.ScopeSubmit, 202, "Start a dead or cancelled task once more"}, (*server).retryTask),
		is(Operation{"downloadTask", get, "/tasks/{id}/download", core.ActTaskDownload, core.ScopeRead, 0, "Download the file that a task of one's own made"}, (*server).downloadTask),
		is(Operation{"listAuditLog", get, "/audit", core.ActAuditView, core.ScopeRead, 0, "List what was done, newest first; of one class for who teaches it"}, (*server).listAuditLog),
		is(Operation{"listSchedules", get, "/schedules", core.ActSchedule, core.ScopeCluster, 0, "List what makes tasks again and again, in order of name"}, (*server).listSchedules),
		is(Operation{"setSchedule", put, "/schedules/{name}", core.ActSchedule, core.ScopeCluster, 0, "Make or change a schedule"}, (*server).setSchedule),
		is(Operation{"removeSchedule", remove, "/schedules/{name}", core.ActSchedule, core.ScopeCluster, 0, "Remove a schedule; what it made stays"}, (*server).removeSchedule),
		is(Operation{"runSchedule", post, "/schedules/{name}/run", core.ActSchedule, core.ScopeCluster, 202, "Make a schedule's task now, out of turn"}, (*server).runSchedule),
	}
}

func (s *server) listTasks(ctx context.Context, a core.Actor, in *struct {
	Cursor
	State     []core.TaskState `query:"state" maxItems:"7" enum:"queued,delayed,running,cancelling,done,dead,cancelled" doc:"only in these states"`
	Kind      string           `query:"kind" maxLength:"64"`
	Requester string           `query:"requester" maxLength:"64"`
	Class     string           `query:"class" maxLength:"64" doc:"only about this class and its assignments"`
	Parent    string           `query:"parent" maxLength:"64" doc:"only the parts of this task"`
},
) (*listed[classes.TaskView], error) {
	found, err := s.Classes.TrackTasks(ctx, a, core.TaskFilter{
		States: in.State, Kind: in.Kind, Requester: in.Requester, Class: in.Class, Parent: in.Parent, Before: in.Cursor.Cursor, Limit: in.more(),
	})
	if err != nil {
		return nil, err
	}
	return paged(ctx, in.Cursor, found, func(t *classes.TaskView) string { return t.ID }), nil
}

func (s *server) viewTask(ctx context.Context, a core.Actor, in *One) (*answer[classes.TaskView], error) {
	return answered(s.Classes.TrackTask(ctx, a, in.ID))
}

// StoppedTask says how a task that was cancelled stands now.
type StoppedTask struct {
	State core.TaskState `json:"state"`
}

func (s *server) cancelTask(ctx context.Context, a core.Actor, in *One) (*answer[StoppedTask], error) {
	state, err := s.Classes.CancelTask(ctx, a, in.ID)
	return answered(StoppedTask{state}, err)
}

func (s *server) retryTask(ctx context.Context, a core.Actor, in *One) (*started, error) {
	return begun(s.Classes.RetryTask(ctx, a, in.ID))
}

func (s *server) downloadTask(ctx context.Context, a core.Actor, in *One) (*download, error) {
	d, content, err := s.Classes.OpenDownload(ctx, a, in.ID)
	if err != nil {
		return nil, err
	}
	return s.saved(ctx, "downloadTask", d.Name, d.Size, copied(content)), nil
}

func (s *server) listAuditLog(ctx context.Context, a core.Actor, in *struct {
	Cursor
	Class   string `query:"class" maxLength:"64"`
	Actor   string `query:"actor" maxLength:"64" doc:"only what this user did"`
	Subject string `query:"subject" maxLength:"160" doc:"only what was done to this, such as cs101/hw1"`
},
) (*listed[core.AuditEntry], error) {
	found, err := s.Classes.AuditEntries(ctx, a, core.AuditFilter{
		Class: in.Class, Actor: in.Actor, Subject: in.Subject, Before: in.Cursor.Cursor, Limit: in.more(),
	})
	if err != nil {
		return nil, err
	}
	return paged(ctx, in.Cursor, found, func(d *core.AuditEntry) string { return d.ID }), nil
}
