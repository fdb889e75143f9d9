package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"drover/core"
	"drover/core/requests"
)

// followWonder is how long something waits before a person wonders why.
const followWonder = 3 * time.Second

// follower prints a request's live output and knows when it has ended.
type follower struct {
	backend  backend
	id       string                          // of the request
	cancel   func(ctx context.Context) error // stops it
	embedded bool                            // a signal ends the cluster, and the request with it
	stdout   io.Writer
	stderr   io.Writer
	notice   func(text string) // hears of what a person would wonder about
	wonder   time.Duration     // how long it may wait before the notice says why
	glance   bool              // what there is by now is enough

	mu    sync.Mutex // one writes at a time
	begun bool       // it waits no more
}

// newFollower makes one that prints nothing of the request's output.
func newFollower(d backend, id string) *follower {
	return &follower{
		backend: d, id: id, stdout: io.Discard, stderr: io.Discard, notice: func(string) {}, wonder: followWonder,
		cancel: func(ctx context.Context) error { _, err := d.CancelRequest(ctx, id); return err },
	}
}

// tells lets a follower tell the person who waits what there is to wonder about.
func (f *follower) tells(c *cli.Context) *follower {
	f.notice = func(text string) { fmt.Fprintln(c.App.ErrWriter, "drover: "+text) }
	return f
}

// show lets a follower print the request's output as the command's own: on a
// terminal without control sequences, unless --raw was given.
func (f *follower) show(c *cli.Context) {
	safe := func(w io.Writer) io.Writer {
		if isTerminal(w) && !c.Bool("raw") {
			return &visible{to: w}
		}
		return w
	}
	f.stdout, f.stderr = safe(c.App.Writer), safe(c.App.ErrWriter)
}

// rawFlag is that of commands that print what untrusted programs wrote.
func rawFlag() cli.Flag {
	return &cli.BoolFlag{Name: "raw", Usage: "send a terminal the output's control sequences too, instead of showing them", DisableDefaultText: true}
}

// follow prints output until the request has ended, or there is no more of it now.
func (f *follower) follow(ctx context.Context) error {
	defer time.AfterFunc(f.wonder, func() { f.wonders(ctx) }).Stop()
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

func (f *follower) take(e requests.Event) error {
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
	case requests.EventEnd, requests.EventIdle:
	}
	return nil
}

// someBytes counts bytes; 0 is not known.
func someBytes(n int64) string {
	if n == 0 {
		return "some bytes"
	}
	return fmt.Sprintf("%d bytes", n)
}

// begins ends the wondering.
func (f *follower) begins() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.begun = true
}

// wonders says why it still waits.
func (f *follower) wonders(ctx context.Context) {
	text := whyWaits(ctx, f.backend, f.id)
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.begun {
		f.notice(text)
	}
}

func (f *follower) say(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.notice(text)
}

func (f *follower) print(stream string, data []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := f.stdout
	if stream == "stderr" {
		w = f.stderr
	}
	_, err := w.Write(data)
	return err
}

// flush prints what was held because more of it might have come.
func (f *follower) flush() error {
	for _, w := range []io.Writer{f.stdout, f.stderr} {
		if v, ok := w.(*visible); ok {
			if err := v.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}
