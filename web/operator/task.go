package operator

import (
	"slices"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"
	"drover/web/page"
)

// tasksPage is how many tasks one page shows.
const tasksPage = 50

// taskStates are the states of tasks, with their look.
var taskStates = map[core.TaskState]string{
	core.TaskQueued: "calm", core.TaskDelayed: "", core.TaskRunning: "calm", core.TaskCancelling: "warn",
	core.TaskDone: "good", core.TaskDead: "bad", core.TaskCancelled: "",
}

// tasksData is what the page of tasks shows.
type tasksData struct {
	Tasks       []taskRow
	Queues      []core.TaskQueueInfo
	Kinds       []string
	States      []core.TaskState
	Kind, State string // shown; "" is all
	Next        string
}

type taskRow struct {
	classes.TaskView

	Badge string
	Stop  bool // it can be stopped
	Retry bool // it can be run again
}

func (s *pages) tasks(r *page.Request) error {
	queues, err := s.Cluster.Queues(r.Context(), r.Actor())
	if err != nil {
		return err
	}
	d := tasksData{
		Queues: queues.Tasks, Kinds: school.TaskKinds().Names(), Kind: r.FormValue("kind"), State: r.FormValue("state"),
		States: []core.TaskState{
			core.TaskQueued, core.TaskDelayed, core.TaskRunning, core.TaskCancelling, core.TaskDone, core.TaskDead, core.TaskCancelled,
		},
	}
	f := core.TaskFilter{Before: r.FormValue("before"), Limit: tasksPage}
	if slices.Contains(d.Kinds, d.Kind) {
		f.Kind = d.Kind
	}
	if state := core.TaskState(d.State); slices.Contains(d.States, state) {
		f.States = []core.TaskState{state}
	}
	found, err := s.Classes.TrackTasks(r.Context(), r.Actor(), f)
	if err != nil {
		return err
	}
	may := core.Allow(r.Actor(), core.ActTaskControl, core.Object{}) == nil
	for i := range found {
		t := taskRow{TaskView: found[i], Badge: taskStates[found[i].State]}
		t.Stop = may && !t.State.Terminal() && t.State != core.TaskCancelling
		t.Retry = may && (t.State == core.TaskDead || t.State == core.TaskCancelled)
		d.Tasks = append(d.Tasks, t)
	}
	if len(found) == tasksPage {
		d.Next = more(r, "before", found[len(found)-1].ID)
	}
	return r.Render("operator/tasks", d)
}

func (s *pages) cancelTask(r *page.Request) error {
	id := r.PathValue("id")
	if _, err := s.Classes.CancelTask(r.Context(), r.Actor(), id); err != nil {
		return err
	}
	return r.Redirect(r.Next("/cluster/tasks"), r.T("Task %s is stopped.", id))
}

func (s *pages) retryTask(r *page.Request) error {
	id := r.PathValue("id")
	if _, err := s.Classes.RetryTask(r.Context(), r.Actor(), id); err != nil {
		return err
	}
	return r.Redirect(r.Next("/cluster/tasks"), r.T("Task %s runs again.", id))
}
