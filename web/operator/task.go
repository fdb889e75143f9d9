package operator

import (
	"slices"

	"drover/core"
	"drover/web/page"
)

// tasksPage is how many tasks one page shows.
const tasksPage = 50

// taskStates are what the store knows of tasks.
var taskStates = []core.TaskState{core.TaskQueued, core.TaskDone, core.TaskDead, core.TaskCancelled}

// tasksData is what the page of tasks shows.
type tasksData struct {
	Tasks       []core.Task
	Queues      []core.TaskQueueInfo
	Kinds       []string
	States      []core.TaskState
	Kind, State string // that are shown; "" is all
	Next        string
}

func (s *pages) tasks(r *page.Request) error {
	queues, err := s.Operator.Queues(r.Context(), r.Actor())
	if err != nil {
		return err
	}
	d := tasksData{Queues: queues.Tasks, Kinds: core.TaskKinds(), States: taskStates, Kind: r.FormValue("kind"), State: r.FormValue("state")}
	f := core.TaskFilter{Before: r.FormValue("before"), Limit: tasksPage}
	if slices.Contains(d.Kinds, d.Kind) {
		f.Kind = d.Kind
	}
	if state := core.TaskState(d.State); slices.Contains(taskStates, state) {
		f.States = []core.TaskState{state}
	}
	if d.Tasks, err = s.Registrar.ListTasks(r.Context(), r.Actor(), f); err != nil {
		return err
	}
	if len(d.Tasks) == tasksPage {
		d.Next = more(r, "before", d.Tasks[len(d.Tasks)-1].ID)
	}
	return r.Render("operator/tasks", d)
}

func (s *pages) cancelTask(r *page.Request) error {
	id := r.PathValue("id")
	if _, err := s.Registrar.CancelTask(r.Context(), r.Actor(), id); err != nil {
		return err
	}
	return r.Redirect(r.Next("/herd/tasks"), r.T("Task %s is stopped.", id))
}

func (s *pages) retryTask(r *page.Request) error {
	id := r.PathValue("id")
	if _, err := s.Registrar.RetryTask(r.Context(), r.Actor(), id); err != nil {
		return err
	}
	return r.Redirect(r.Next("/herd/tasks"), r.T("Task %s runs again.", id))
}
