package api

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"
)

func taskTable() []entry {
	return []entry{
		is(Operation{"listTasks", get, "/tasks", "", school.ScopeRead, 0, "List the tasks that the caller may see, newest first"}, (*server).listTasks),
		is(Operation{"startTask", post, "/tasks", core.ActExport, school.ScopeTeach, 202, "Start the task that makes a file; for one of your own submissions the right to see them is enough"}, (*server).startTask),
		is(Operation{"viewTask", get, "/tasks/{id}", core.ActTaskView, school.ScopeRead, 0, "Return a task and its progress"}, (*server).viewTask),
		is(Operation{"cancelTask", post, "/tasks/{id}/cancel", core.ActTaskControl, school.ScopeSubmit, 202, "Cancel a task"}, (*server).cancelTask),
		is(Operation{"retryTask", post, "/tasks/{id}/retry", core.ActTaskControl, school.ScopeSubmit, 202, "Retry a dead or cancelled task"}, (*server).retryTask),
		is(Operation{"downloadTask", get, "/tasks/{id}/download", core.ActTaskDownload, school.ScopeRead, 0, "Download the file of one of the caller's tasks"}, (*server).downloadTask),
		is(Operation{"listAuditLog", get, "/audit", core.ActAuditView, school.ScopeRead, 0, "List the audit log, newest first; teachers may list that of their class"}, (*server).listAuditLog),
		is(Operation{"listSchedules", get, "/schedules", core.ActSchedule, school.ScopeCluster, 0, "List the schedules of repeated tasks, by name"}, (*server).listSchedules),
		is(Operation{"setSchedule", put, "/schedules/{name}", core.ActSchedule, school.ScopeCluster, 0, "Create or change a schedule"}, (*server).setSchedule),
		is(Operation{"removeSchedule", remove, "/schedules/{name}", core.ActSchedule, school.ScopeCluster, 0, "Remove a schedule; its tasks stay"}, (*server).removeSchedule),
		is(Operation{"runSchedule", post, "/schedules/{name}/run", core.ActSchedule, school.ScopeCluster, 202, "Create a schedule's task now"}, (*server).runSchedule),
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

// Kinds of task that a call may name.
type (
	requestable string
	schedulable string
)

// Schema implements huma.SchemaProvider.
func (requestable) Schema(huma.Registry) *huma.Schema { return oneOf(school.Requestable()) }

// Schema implements huma.SchemaProvider.
func (schedulable) Schema(huma.Registry) *huma.Schema { return oneOf(school.Schedulable()) }

// oneOf describes kinds, each with its arguments.
func oneOf(kinds core.TaskKinds) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString}
	var each []string
	for i := range kinds {
		s.Enum = append(s.Enum, kinds[i].Name)
		var args []string
		for _, a := range kinds[i].Args {
			args = append(args, a.Name)
		}
		each = append(each, kinds[i].Name+" ("+strings.Join(args, ", ")+")")
	}
	s.Description = "kinds and their arguments: " + strings.Join(each, "; ")
	return s
}

// NewTask is a task to be started.
type NewTask struct {
	Kind requestable     `json:"kind"`
	Args json.RawMessage `json:"args" doc:"arguments of the task, by its kind"`
}

func (s *server) startTask(ctx context.Context, a core.Actor, in *struct{ Body NewTask }) (*started, error) {
	return begun(s.Classes.StartTask(ctx, a, string(in.Body.Kind), in.Body.Args))
}

func (s *server) viewTask(ctx context.Context, a core.Actor, in *One) (*answer[classes.TaskView], error) {
	return answered(s.Classes.TrackTask(ctx, a, in.ID))
}

// StoppedTask is the new state of a cancelled task.
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
	Actor   string `query:"actor" maxLength:"64" doc:"only entries of this user"`
	Subject string `query:"subject" maxLength:"160" doc:"only entries about this object, such as cs101/hw1"`
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
