package main

import (
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"drover/core"
	"drover/core/classes"
)

// How often one looks how far a task is: soon at first, then gently.
const (
	followFirst = 2 * time.Millisecond
	followMost  = 200 * time.Millisecond
)

// waitFlags are those of commands that start a task.
func waitFlags() []cli.Flag {
	return []cli.Flag{&cli.BoolFlag{Name: "no-wait", Usage: "print the task's id and do not wait for its end", DisableDefaultText: true}}
}

// teller says how far a task is: on a terminal in one line, else a line for each step.
type teller struct {
	w        io.Writer
	terminal bool
	last     string
}

func (t *teller) tell(view *classes.TaskView) {
	text := string(view.State)
	if p := view.Progress; p != nil {
		text += ", " + progressWord(p)
		if p.Text != "" {
			text += ": " + firstLine(p.Text)
		}
	}
	if text == t.last {
		return
	}
	t.last = text
	if t.terminal {
		fmt.Fprintf(t.w, "\r\x1b[Kdrover: %s is %s", view.Kind, text)
		return
	}
	fmt.Fprintf(t.w, "drover: %s is %s\n", view.Kind, text)
}

// done leaves the line.
func (t *teller) done() {
	if t.terminal && t.last != "" {
		fmt.Fprint(t.w, "\r\x1b[K")
	}
}

// followTask tells how far a task is until it has ended, and returns it then.
func followTask(c *cli.Context, d backend, id string) (classes.TaskView, error) {
	tell := &teller{w: c.App.ErrWriter, terminal: onTerminal(c.App.ErrWriter)}
	defer tell.done()
	wonder, began := followWonder, time.Now()
	for pause := followFirst; ; pause = min(2*pause, followMost) {
		t, err := d.TrackTask(c.Context, id)
		if err != nil || t.State.Terminal() {
			return t, err
		}
		if t.Place != nil {
			tell.tell(&t)
		}
		if wonder > 0 && time.Since(began) >= wonder && t.Place != nil && t.State == core.TaskQueued {
			wonder = 0
			tell.done()
			fmt.Fprintln(c.App.ErrWriter, "drover: "+d.WhyTaskWaits(c.Context))
		}
		select {
		case <-c.Context.Done():
			return t, c.Context.Err()
		case <-time.After(pause):
		}
	}
}

// endOfTask is nil for a task that was done.
func endOfTask(t *core.Task) error {
	switch t.State {
	case core.TaskDone:
		return nil
	case core.TaskCancelled:
		return exitCode(exitStopped)
	default:
		return core.Errorf(core.CodeInternal, t.ID, "task %s (%s) is %s: %s", t.ID, t.Kind, t.State, noteOf(t))
	}
}

// started prints a task's id, or waits for its end with --no-wait away. It returns false where nobody waits.
func started(c *cli.Context, d backend, t core.Task) (core.Task, bool, error) {
	if c.Bool("no-wait") {
		return t, false, say(c, t, "%s", t.ID)
	}
	ended, err := followTask(c, d, t.ID)
	if err == nil {
		err = endOfTask(&ended.Task)
	}
	return ended.Task, err == nil, err
}

// deletion waits for what the deletion of something started.
func deletion(c *cli.Context, d backend, t core.Task, what string) error {
	t, ended, err := started(c, d, t)
	if err != nil || !ended {
		return err
	}
	return say(c, t, "%s is deleted: %s", what, clean(t.Note))
}
