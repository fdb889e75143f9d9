// Package task has the commands of background tasks and their schedules, and functions for other commands: waiting
// for a task, and fetching its file.
package task

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/classes"
	"drover/core/school"
)

// Command is drover task.
func Command() *cli.Command {
	return &cli.Command{
		Name: "task", Usage: "list and control background work: archives, gradebooks, deletions, deliveries", OnUsageError: terminal.UsageError,
		Subcommands: []*cli.Command{
			access.BackendCommand("list", "list tasks, newest first", "", "drover task list --state running --kind archive", slices.Concat([]cli.Flag{
				&cli.StringSliceFlag{Name: "state", Usage: "only tasks in `STATE` (queued, delayed, running, cancelling, done, dead, cancelled); repeatable"},
				&cli.StringFlag{Name: "kind", Usage: "only those of `KIND`, such as archive"},
				&cli.StringFlag{Name: "requester", Usage: "only those that the user `HANDLE` asked for"},
				&cli.StringFlag{Name: "class", Usage: "only those about the class `HANDLE`"},
				&cli.StringFlag{Name: "part-of", Usage: "only the parts of the task `ID`"},
			}, terminal.PageFlags("before", "task `ID`")), listTasks),
			access.BackendCommand("show", "show one task, its progress and its result", "ID", "drover task show --follow 01j8x3k4", []cli.Flag{
				&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "print how far it is until it ends; exits with 0 if it was done", DisableDefaultText: true},
			}, showTask),
			access.BackendCommand("cancel", "cancel a task with all its parts, waiting or running", "ID", "drover task cancel 01j8x3k4", nil, cancelTask),
			access.BackendCommand("retry", "retry a dead or cancelled task", "ID", "drover task retry 01j8x3k4", nil, retryTask),
			access.BackendCommand("fetch", "write the file that a task made for you", "ID", "drover task fetch --to hw1.zip 01j8x3k4", FetchFlags(), fetchTask),
			access.UserCommand("queues", "show how many tasks of each kind wait, their rate, and when the next one may start", "", "drover task queues", nil, listTaskQueues),
		},
	}
}

// taskStates are those that --state may name.
var taskStates = []core.TaskState{
	core.TaskQueued, core.TaskDelayed, core.TaskRunning, core.TaskCancelling, core.TaskDone, core.TaskDead, core.TaskCancelled,
}

func taskStatesFlag(c *cli.Context) ([]core.TaskState, error) {
	var states []core.TaskState
	for _, word := range c.StringSlice("state") {
		state := core.TaskState(word)
		if !slices.Contains(taskStates, state) {
			return nil, core.Errorf(core.CodeInvalid, word, "--state %q is none: use queued, delayed, running, cancelling, done, dead or cancelled", word)
		}
		states = append(states, state)
	}
	return states, nil
}

func listTasks(c *cli.Context, d access.Backend) error {
	if err := terminal.NoArgs(c); err != nil {
		return err
	}
	limit, err := terminal.LimitFlag(c)
	if err != nil {
		return err
	}
	f := core.TaskFilter{
		Kind: c.String("kind"), Requester: c.String("requester"), Class: c.String("class"), Parent: c.String("part-of"), Before: c.String("before"), Limit: limit,
	}
	if f.Kind != "" {
		if _, err := school.TaskKinds().Find(f.Kind); err != nil {
			return core.Errorf(core.CodeInvalid, f.Kind, "--kind %q is none: use %s", f.Kind, strings.Join(school.TaskKinds().Names(), ", "))
		}
	}
	for kind, name := range map[string]string{"requester": f.Requester, "class": f.Class, "task id": f.Before, "task": f.Parent} {
		if err := core.CheckName(kind, name); name != "" && err != nil {
			return err
		}
	}
	if f.States, err = taskStatesFlag(c); err != nil {
		return err
	}
	views, err := d.TrackTasks(c.Context, f)
	if err != nil {
		return err
	}
	return terminal.Page[classes.TaskView]{
		Empty: "no tasks", Header: table.Row{"id", "kind", "state", "about", "requester", "progress", "made", "note"},
		Row: func(t *classes.TaskView) table.Row {
			return table.Row{t.ID, t.Kind, t.State, t.About, t.Requester, progressWord(t.Progress), terminal.Since(t.Created), terminal.FirstLine(noteOf(&t.Task))}
		},
		Cursor: "before", Last: func(t *classes.TaskView) string { return t.ID },
	}.Print(c, views)
}

// noteOf returns what a task did, or its last failure.
func noteOf(t *core.Task) string {
	if n := len(t.Failures); t.Note == "" && n > 0 {
		return fmt.Sprintf("try %d failed: %s", t.Failures[n-1].Attempt, t.Failures[n-1].Text)
	}
	return t.Note
}

// progressWord formats how far a task has come: n of m.
func progressWord(p *core.TaskProgress) string {
	switch {
	case p == nil:
		return ""
	case p.Total > 0:
		return fmt.Sprintf("%d of %d", p.Done, p.Total)
	}
	return fmt.Sprint(p.Done)
}

func showTask(c *cli.Context, d access.Backend) error {
	id, err := terminal.OneArg(c, "task id")
	if err != nil {
		return err
	}
	t, err := d.TrackTask(c.Context, id)
	if err != nil {
		return err
	}
	if c.Bool("follow") {
		if t, err = followTask(c, d, id); err != nil {
			return err
		}
	}
	if c.Bool("json") {
		err = terminal.PrintJSON(c.App.Writer, t)
	} else {
		err = printTask(c, &t)
	}
	if err == nil && c.Bool("follow") {
		err = EndOfTask(&t.Task)
	}
	return err
}

func printTask(c *cli.Context, t *classes.TaskView) error {
	rows := []table.Row{{"task", t.ID}, {"kind", t.Kind}, {"state", t.State}}
	add := func(name, value string) {
		if value != "" && value != "-" {
			rows = append(rows, table.Row{name, value})
		}
	}
	add("about", t.About)
	add("requester", t.Requester)
	add("part of", t.Parent)
	add("arguments", terminal.Clean(string(t.Args)))
	add("progress", progressWord(t.Progress))
	if t.Progress != nil {
		add("it is at", terminal.Clean(t.Progress.Text))
	}
	if p := t.Place; p != nil {
		add("held by", p.Owner)
		if p.Due > 0 {
			add("goes on", terminal.ShowMoment(p.Due, time.Local))
		}
	} else if !t.State.Terminal() {
		add("where it is", "not known, Redis does not say")
	}
	add("note", terminal.Clean(t.Note))
	if d := t.Download; d != nil {
		add("file", fmt.Sprintf("%s, %s", terminal.Clean(d.Name), terminal.Size(d.Size)))
		add("kept until", terminal.ShowMoment(d.Expires, time.Local))
	}
	add("made", terminal.Since(t.Created))
	add("ended", terminal.Since(t.Ended))
	for _, f := range t.Failures {
		add(fmt.Sprintf("try %d of generation %d", f.Attempt, f.Generation), terminal.Since(f.At)+": "+terminal.Clean(f.Text))
	}
	return terminal.PrintTable(c.App.Writer, "", table.Row{"", ""}, rows)
}

func cancelTask(c *cli.Context, d access.Backend) error {
	id, err := terminal.OneArg(c, "task id")
	if err != nil {
		return err
	}
	state, err := d.CancelTask(c.Context, id)
	if err != nil {
		return err
	}
	return terminal.Say(c, map[string]any{"id": id, "state": state}, "task %s is %s", id, state)
}

func retryTask(c *cli.Context, d access.Backend) error {
	id, err := terminal.OneArg(c, "task id")
	if err != nil {
		return err
	}
	t, err := d.RetryTask(c.Context, id)
	if err != nil {
		return err
	}
	return terminal.Say(c, t, "task %s runs again as generation %d; drover task show --follow %s", id, t.Generation, id)
}
