package student

import (
	"encoding/json"
	"strings"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"
	"drover/web/page"
)

// tasksShown is how many tasks a page lists.
const tasksShown = 50

// tasks shows the reader's background tasks.
type tasks struct {
	Rows []task
	Next string
}

type task struct {
	classes.TaskView
	Name  string // its kind's title
	Badge badge
	Open  bool // it has not ended
	Stop  bool // the reader may stop it
	Retry bool // the reader may retry it
	Ready bool // the reader can download its file
	Stuck bool // it waits, and no taskrunner is alive
}

// titleOf returns the title of a kind of task.
func titleOf(kind string) string {
	k, err := school.TaskKinds().Find(kind)
	if err != nil {
		return kind
	}
	return k.Title
}

// taskStates are the badges of tasks.
var taskStates = map[core.TaskState]badge{
	core.TaskQueued:     {"calm", page.Sentence("waiting")},
	core.TaskDelayed:    {"calm", page.Sentence("waiting for its time")},
	core.TaskRunning:    {"calm", page.Sentence("under way")},
	core.TaskCancelling: {"warn", page.Sentence("is being stopped")},
	core.TaskDone:       {"good", page.Sentence("done")},
	core.TaskDead:       {"bad", page.Sentence("failed")},
	core.TaskCancelled:  {"", page.Sentence("cancelled")},
}

func (d *student) tasks(r *page.Request) error {
	all, err := d.deps.Classes.TrackTasks(r.Context(), r.Actor(), core.TaskFilter{
		Requester: r.Actor().Handle, Before: r.URL.Query().Get("before"), Limit: tasksShown,
	})
	if err != nil {
		return err
	}
	var t tasks
	for i := range all {
		t.Rows = append(t.Rows, readTask(r, all[i]))
	}
	if len(all) == tasksShown {
		t.Next = more(r.Request, "before", all[len(all)-1].ID)
	}
	return r.Render("student/tasks", t)
}

func readTask(r *page.Request, is classes.TaskView) task {
	class, _, _ := strings.Cut(is.About, "/")
	o := core.Object{Class: class, Owner: is.Requester}
	d, control := is.Download, core.Allow(r.Actor(), core.ActTaskControl, o) == nil
	return task{
		TaskView: is, Name: r.T(titleOf(is.Kind)), Badge: taskStates[is.State].said(r), Open: !is.State.Terminal(),
		Stop:  control && !is.State.Terminal() && is.State != core.TaskCancelling,
		Retry: control && (is.State == core.TaskDead || is.State == core.TaskCancelled),
		Ready: d != nil && r.Now().UnixMilli() < d.Expires && core.Allow(r.Actor(), core.ActTaskDownload, o) == nil,
	}
}

func (d *student) task(r *page.Request) error {
	t, err := d.deps.Classes.TrackTask(r.Context(), r.Actor(), r.PathValue("id"))
	if err != nil {
		return err
	}
	read := readTask(r, t)
	if t.State == core.TaskQueued {
		runs, err := d.deps.Requests.TasksRun(r.Context())
		read.Stuck = err == nil && !runs // without Redis this is not shown
	}
	return r.Render("student/task", read)
}

func (d *student) cancelTask(r *page.Request) error {
	id := r.PathValue("id")
	if _, err := d.deps.Classes.CancelTask(r.Context(), r.Actor(), id); err != nil {
		return err
	}
	return r.Redirect(path("tasks", id), r.T("It is stopped."))
}

func (d *student) retryTask(r *page.Request) error {
	id := r.PathValue("id")
	if _, err := d.deps.Classes.RetryTask(r.Context(), r.Actor(), id); err != nil {
		return err
	}
	return r.Redirect(path("tasks", id), r.T("It will be retried."))
}

func (d *student) download(r *page.Request) error {
	f, content, err := d.deps.Classes.OpenDownload(r.Context(), r.Actor(), r.PathValue("id"))
	if err != nil {
		return err
	}
	defer content.Close() //nolint:errcheck // only read from
	return d.deliver(r, f.Name, f.Size, content)
}

// archive makes a zip of all the reader's submissions to an assignment.
func (d *student) archive(r *page.Request) error {
	args, err := json.Marshal(school.ArchiveArgs{Class: r.PathValue("class"), Assignment: r.PathValue("assignment"), User: r.Actor().Handle})
	if err != nil {
		return core.Wrap(err, core.CodeInternal, "", "the arguments of an archive cannot be written")
	}
	t, err := d.deps.Classes.StartTask(r.Context(), r.Actor(), school.KindArchive, args)
	if err != nil {
		return err
	}
	return r.Redirect(path("tasks", t.ID), "")
}
