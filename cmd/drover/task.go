package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/core"
	"drover/core/classes"
)

func taskCommand() *cli.Command {
	return &cli.Command{
		Name: "task", Usage: "look at background work: archives, gradebooks, deletions, deliveries", OnUsageError: usageError,
		Subcommands: []*cli.Command{
			backendCommand("list", "list tasks, newest first", "", "drover task list --state running --kind archive", slices.Concat([]cli.Flag{
				&cli.StringSliceFlag{Name: "state", Usage: "only tasks in `STATE` (queued, delayed, running, cancelling, done, dead, cancelled); repeatable"},
				&cli.StringFlag{Name: "kind", Usage: "only those of `KIND`, such as archive"},
				&cli.StringFlag{Name: "requester", Usage: "only those that the user `HANDLE` asked for"},
				&cli.StringFlag{Name: "class", Usage: "only those about the class `HANDLE`"},
				&cli.StringFlag{Name: "part-of", Usage: "only the parts of the task `ID`"},
			}, pageFlags("before", "task `ID`")), listTasks),
			backendCommand("show", "show one task, how far it is and what became of it", "ID", "drover task show --follow 01j8x3k4", []cli.Flag{
				&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "print how far it is until it ends; exits with 0 if it was done", DisableDefaultText: true},
			}, showTask),
			backendCommand("cancel", "stop a task, and all its parts, wherever they are", "ID", "drover task cancel 01j8x3k4", nil, cancelTask),
			backendCommand("retry", "start a dead or cancelled task once more", "ID", "drover task retry 01j8x3k4", nil, retryTask),
			backendCommand("fetch", "write the file that a task made for you", "ID", "drover task fetch --to hw1.zip 01j8x3k4", fetchFlags(), fetchTask),
			userCommand("queues", "show what waits of each kind, at which rate it may begin, and when the next may", "", "drover task queues", nil, listTaskQueues),
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

func listTasks(c *cli.Context, d backend) error {
	if err := noArgs(c); err != nil {
		return err
	}
	limit, err := limitFlag(c)
	if err != nil {
		return err
	}
	f := core.TaskFilter{
		Kind: c.String("kind"), Requester: c.String("requester"), Class: c.String("class"), Parent: c.String("part-of"), Before: c.String("before"), Limit: limit,
	}
	if f.Kind != "" && !slices.Contains(core.TaskKinds(), f.Kind) {
		return core.Errorf(core.CodeInvalid, f.Kind, "--kind %q is none: use %s", f.Kind, strings.Join(core.TaskKinds(), ", "))
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
	return page[classes.TaskView]{
		empty: "no tasks", header: table.Row{"id", "kind", "state", "about", "requester", "progress", "made", "note"},
		row: func(t *classes.TaskView) table.Row {
			return table.Row{t.ID, t.Kind, t.State, t.About, t.Requester, progressWord(t.Progress), since(t.Created), firstLine(noteOf(&t.Task))}
		},
		cursor: "before", last: func(t *classes.TaskView) string { return t.ID },
	}.print(c, views)
}

// noteOf is what a task did, or what was wrong with it so far.
func noteOf(t *core.Task) string {
	if n := len(t.Failures); t.Note == "" && n > 0 {
		return fmt.Sprintf("try %d failed: %s", t.Failures[n-1].Attempt, t.Failures[n-1].Text)
	}
	return t.Note
}

// progressWord is how far a task is: n of m.
func progressWord(p *core.TaskProgress) string {
	switch {
	case p == nil:
		return ""
	case p.Total > 0:
		return fmt.Sprintf("%d of %d", p.Done, p.Total)
	}
	return fmt.Sprint(p.Done)
}

func showTask(c *cli.Context, d backend) error {
	id, err := oneArg(c, "task id")
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
		err = printJSON(c.App.Writer, t)
	} else {
		err = printTask(c, &t)
	}
	if err == nil && c.Bool("follow") {
		err = endOfTask(&t.Task)
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
	add("arguments", clean(string(t.Args)))
	add("progress", progressWord(t.Progress))
	if t.Progress != nil {
		add("it is at", clean(t.Progress.Text))
	}
	if p := t.Place; p != nil {
		add("held by", p.Owner)
		if p.Due > 0 {
			add("goes on", showMoment(p.Due, time.Local))
		}
	} else if !t.State.Terminal() {
		add("where it is", "not known, Redis does not say")
	}
	add("note", clean(t.Note))
	if d := t.Download; d != nil {
		add("file", fmt.Sprintf("%s, %s", clean(d.Name), size(d.Size)))
		add("kept until", showMoment(d.Expires, time.Local))
	}
	add("made", since(t.Created))
	add("ended", since(t.Ended))
	for _, f := range t.Failures {
		add(fmt.Sprintf("try %d of generation %d", f.Attempt, f.Generation), since(f.At)+": "+clean(f.Text))
	}
	return printTable(c.App.Writer, "", table.Row{"", ""}, rows)
}

func cancelTask(c *cli.Context, d backend) error {
	id, err := oneArg(c, "task id")
	if err != nil {
		return err
	}
	state, err := d.CancelTask(c.Context, id)
	if err != nil {
		return err
	}
	return say(c, map[string]any{"id": id, "state": state}, "task %s is %s", id, state)
}

func retryTask(c *cli.Context, d backend) error {
	id, err := oneArg(c, "task id")
	if err != nil {
		return err
	}
	t, err := d.RetryTask(c.Context, id)
	if err != nil {
		return err
	}
	return say(c, t, "task %s runs again as generation %d; drover task show --follow %s", id, t.Generation, id)
}
