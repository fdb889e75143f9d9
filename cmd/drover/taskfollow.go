package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"drover/core"
)

// waitFlags are those of commands that start a task.
func waitFlags() []cli.Flag {
	return []cli.Flag{&cli.BoolFlag{Name: "no-wait", Usage: "print the task's id and do not wait for its end", DisableDefaultText: true}}
}

// teller says how far a task is: on a terminal in one line, else a line for each step.
type teller struct {
	w        io.Writer
	terminal bool
	told     string
}

func (t *teller) tell(view *taskView) {
	text := string(view.State)
	if p := view.Progress; p != nil {
		text += ", " + progressWord(p)
		if p.Text != "" {
			text += ": " + firstLine(p.Text)
		}
	}
	if text == t.told {
		return
	}
	t.told = text
	if t.terminal {
		fmt.Fprintf(t.w, "\r\x1b[Kdrover: %s is %s", view.Kind, text)
		return
	}
	fmt.Fprintf(t.w, "drover: %s is %s\n", view.Kind, text)
}

// done leaves the line.
func (t *teller) done() {
	if t.terminal && t.told != "" {
		fmt.Fprint(t.w, "\r\x1b[K")
	}
}

// followTask tells how far a task is until it has ended, and returns it then.
func (s *session) followTask(c *cli.Context, id string) (core.Task, error) {
	tell := &teller{w: c.App.ErrWriter, terminal: onTerminal(c.App.ErrWriter)}
	defer tell.done()
	wonder, began := followWonder, time.Now()
	for pause := followFirst; ; pause = min(2*pause, followMost) {
		t, err := s.reg.ViewTask(c.Context, s.actor, id)
		if err != nil {
			return t, err
		}
		if t.State.Terminal() {
			return t, nil
		}
		views, err := s.located(c.Context, []core.Task{t})
		switch {
		case err == nil:
			tell.tell(&views[0])
		case !core.Is(err, core.CodeUnavailable): // its end comes from the store
			return t, err
		}
		if wonder > 0 && time.Since(began) >= wonder && err == nil && views[0].State == core.TaskQueued {
			wonder = 0
			tell.done()
			fmt.Fprintln(c.App.ErrWriter, "drover: "+s.whyTaskWaits(c.Context))
		}
		select {
		case <-c.Context.Done():
			return t, c.Context.Err()
		case <-time.After(pause):
		}
	}
}

// whyTaskWaits says why nobody has begun a task yet.
func (s *session) whyTaskWaits(ctx context.Context) string {
	owners, err := s.redis.ListOwners(ctx)
	if err != nil {
		return "still waiting, and Redis does not say why: " + err.Error()
	}
	for _, o := range owners {
		if o.Role == core.RoleTaskrunner && !o.Late {
			return "still waiting for its turn; drover task queues says what waits and at which rate"
		}
	}
	return "still waiting: no taskrunner is running; start one with drover taskrunner, or a whole herd with drover up"
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
func (s *session) started(c *cli.Context, t core.Task) (core.Task, bool, error) {
	if c.Bool("no-wait") {
		return t, false, say(c, t, "%s", t.ID)
	}
	t, err := s.followTask(c, t.ID)
	if err == nil {
		err = endOfTask(&t)
	}
	return t, err == nil, err
}

// deletion waits for what the deletion of something started.
func (s *session) deletion(c *cli.Context, t core.Task, what string) error {
	t, ended, err := s.started(c, t)
	if err != nil || !ended {
		return err
	}
	return say(c, t, "%s is deleted: %s", what, clean(t.Note))
}
