package request

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/requests"
)

// FollowWonder is how long a request waits before the reason is printed.
const FollowWonder = 3 * time.Second

// Follower prints a request's live output and knows when it has ended.
type Follower struct {
	backend  access.Backend
	id       string                          // of the request
	cancel   func(ctx context.Context) error // stops it
	embedded bool                            // a signal ends the cluster, and the request with it
	stdout   io.Writer
	stderr   io.Writer
	Notice   func(text string) // called with messages for the person
	Wonder   time.Duration     // how long it may wait before the reason is printed
	glance   bool              // stop when there is no more output now

	mu    sync.Mutex // one writes at a time
	begun bool       // it waits no more
}

// NewFollower makes a follower that prints no output.
func NewFollower(d access.Backend, id string) *Follower {
	return &Follower{
		backend: d, id: id, stdout: io.Discard, stderr: io.Discard, Notice: func(string) {}, Wonder: FollowWonder,
		cancel: func(ctx context.Context) error { _, err := d.CancelRequest(ctx, id); return err },
	}
}

// tells makes the follower print messages about a long wait.
func (f *Follower) tells(c *cli.Context) *Follower {
	f.Notice = func(text string) { fmt.Fprintln(c.App.ErrWriter, "drover: "+text) }
	return f
}

// show makes the follower print the request's output as the command's own: on a terminal without control sequences,
// unless --raw was given.
func (f *Follower) show(c *cli.Context) {
	safe := func(w io.Writer) io.Writer {
		if terminal.IsTerminal(w) && !c.Bool("raw") {
			return &terminal.Visible{To: w}
		}
		return w
	}
	f.stdout, f.stderr = safe(c.App.Writer), safe(c.App.ErrWriter)
}

// rawFlag is the flag of commands that print output of untrusted programs.
func rawFlag() cli.Flag {
	return &cli.BoolFlag{Name: "raw", Usage: "send control sequences of the output to the terminal instead of escaping them", DisableDefaultText: true}
}

// Follow prints output until the request has ended, or there is no more of it now.
func (f *Follower) Follow(ctx context.Context) error {
	defer time.AfterFunc(f.Wonder, func() { f.wonders(ctx) }).Stop()
	defer f.begins()
	for e, err := range f.backend.FollowRequest(ctx, f.id, "") {
		if err == nil {
			err = f.take(e)
		}
		if err != nil || e.Kind == requests.EventIdle && f.glance {
			return errors.Join(err, f.flush())
		}
	}
	return f.flush()
}

func (f *Follower) take(e requests.Event) error {
	switch e.Kind {
	case requests.EventState:
		if e.State != core.RequestQueued && e.State != core.RequestParked {
			f.begins()
		}
	case requests.EventReset:
		f.say("that attempt was lost to a platform fault; the output begins again")
	case requests.EventOutput:
		return f.print(e.Stream, e.Data)
	case requests.EventGap:
		f.say(fmt.Sprintf("%s of %s are missing here: live output is short-lived; drover request output %s has all once it has ended", someBytes(e.Bytes), e.Stream, f.id))
	case requests.EventAway:
		f.say("Redis is away; waiting for the result")
	case requests.EventEnd, requests.EventIdle, requests.EventTests:
	}
	return nil
}

// someBytes formats a number of bytes; 0 is not known.
func someBytes(n int64) string {
	if n == 0 {
		return "some bytes"
	}
	return fmt.Sprintf("%d bytes", n)
}

// begins ends the timer for the message about a long wait.
func (f *Follower) begins() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.begun = true
}

// wonders prints why the request still waits.
func (f *Follower) wonders(ctx context.Context) {
	text := WhyWaits(ctx, f.backend, f.id)
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.begun {
		f.Notice(text)
	}
}

func (f *Follower) say(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Notice(text)
}

func (f *Follower) print(stream string, data []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := f.stdout
	if stream == "stderr" {
		w = f.stderr
	}
	_, err := w.Write(data)
	return err
}

// flush prints the held beginning of a character.
func (f *Follower) flush() error {
	for _, w := range []io.Writer{f.stdout, f.stderr} {
		if v, ok := w.(*terminal.Visible); ok {
			if err := v.Flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// RunRequest submits a request, waits for its end and returns its result.
func RunRequest(ctx context.Context, s *access.Session, draft requests.Draft) (*core.Result, error) {
	v, err := s.SubmitRequest(ctx, draft)
	if err != nil {
		return nil, err
	}
	if err := NewFollower(s, v.ID).Follow(ctx); err != nil {
		return nil, err
	}
	v, err = s.ViewRequest(ctx, v.ID)
	return &v.Result, err
}
