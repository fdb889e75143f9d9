package task

import (
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/request"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/classes"
)

// Intervals of looking at a task: short at first, then longer.
const (
	FollowFirst = 2 * time.Millisecond
	followMost  = 200 * time.Millisecond
)

// WaitFlags are those of commands that start a task.
func WaitFlags() []cli.Flag {
	return []cli.Flag{&cli.BoolFlag{Name: "no-wait", Usage: "print the task's id and do not wait for its end", DisableDefaultText: true}}
}

// Teller prints how far a task has come: on a terminal in one line, else a line for each step.
type Teller struct {
	W        io.Writer
	Terminal bool
	last     string
}

// Tell prints how far a task has come, if that has changed.
func (t *Teller) Tell(view *classes.TaskView) {
	text := string(view.State)
	if p := view.Progress; p != nil {
		text += ", " + progressWord(p)
		if p.Text != "" {
			text += ": " + terminal.FirstLine(p.Text)
		}
	}
	if text == t.last {
		return
	}
	t.last = text
	if t.Terminal {
		fmt.Fprintf(t.W, "\r\x1b[Kdrover: %s is %s", view.Kind, text)
		return
	}
	fmt.Fprintf(t.W, "drover: %s is %s\n", view.Kind, text)
}

// Done ends the line.
func (t *Teller) Done() {
	if t.Terminal && t.last != "" {
		fmt.Fprint(t.W, "\r\x1b[K")
	}
}

// followTask prints how far a task has come until it has ended, and returns it then.
func followTask(c *cli.Context, d access.Backend, id string) (classes.TaskView, error) {
	tell := &Teller{W: c.App.ErrWriter, Terminal: terminal.OnTerminal(c.App.ErrWriter)}
	defer tell.Done()
	wonder, began := request.FollowWonder, time.Now()
	for pause := FollowFirst; ; pause = min(2*pause, followMost) {
		t, err := d.TrackTask(c.Context, id)
		if err != nil || t.State.Terminal() {
			return t, err
		}
		if t.Place != nil {
			tell.Tell(&t)
		}
		if wonder > 0 && time.Since(began) >= wonder && t.Place != nil && t.State == core.TaskQueued {
			wonder = 0
			tell.Done()
			fmt.Fprintln(c.App.ErrWriter, "drover: "+d.WhyTaskWaits(c.Context))
		}
		select {
		case <-c.Context.Done():
			return t, c.Context.Err()
		case <-time.After(pause):
		}
	}
}

// EndOfTask returns nil for a successful task.
func EndOfTask(t *core.Task) error {
	switch t.State {
	case core.TaskDone:
		return nil
	case core.TaskCancelled:
		return terminal.ExitCode(terminal.ExitStopped)
	default:
		return core.Errorf(core.CodeInternal, t.ID, "task %s (%s) is %s: %s", t.ID, t.Kind, t.State, noteOf(t))
	}
}

// Started waits for a task's end, or with --no-wait prints its id and returns false.
func Started(c *cli.Context, d access.Backend, t core.Task) (core.Task, bool, error) {
	if c.Bool("no-wait") {
		return t, false, terminal.Say(c, t, "%s", t.ID)
	}
	ended, err := followTask(c, d, t.ID)
	if err == nil {
		err = EndOfTask(&ended.Task)
	}
	return ended.Task, err == nil, err
}

// Deletion waits for the task that deletes something.
func Deletion(c *cli.Context, d access.Backend, t core.Task, what string) error {
	t, ended, err := Started(c, d, t)
	if err != nil || !ended {
		return err
	}
	return terminal.Say(c, t, "%s is deleted: %s", what, terminal.Clean(t.Note))
}
