package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"drover/core"
	"drover/core/requests"
)

// followWonder is how long a request waits before a person wonders why.
const followWonder = 3 * time.Second

// follower prints a request's live output and knows when it has ended.
type follower struct {
	herd   *herd
	row    core.Row
	stdout io.Writer
	stderr io.Writer
	notice func(text string) // hears of what a person would wonder about
	wonder time.Duration     // how long it may wait before the notice says why

	mu sync.Mutex // of what is printed and noticed
}

// newFollower makes one that prints nothing of the request's output.
func newFollower(h *herd, row core.Row) *follower {
	return &follower{herd: h, row: row, stdout: io.Discard, stderr: io.Discard, notice: func(string) {}, wonder: followWonder}
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

// follow prints output until the request has its result, and returns that.
func (f *follower) follow(ctx context.Context) (*core.Result, error) {
	waits, stop := context.WithTimeout(ctx, f.wonder)
	defer stop()
	var asked sync.WaitGroup
	defer asked.Wait()
	asked.Go(func() {
		if <-waits.Done(); errors.Is(waits.Err(), context.DeadlineExceeded) {
			f.say(f.herd.whyWaiting(ctx, f.row.Spec.ID))
		}
	})
	for e, err := range f.events(ctx) {
		if err != nil {
			return nil, err
		}
		if e.State != "" && e.State != core.RequestQueued && e.State != core.RequestParked {
			stop()
		}
		if err := f.tell(e); err != nil {
			return nil, err
		}
	}
	row, err := f.herd.store.Get(ctx, f.row.Spec.ID)
	if err != nil {
		return nil, err
	}
	if row.Result == nil {
		return nil, core.Errorf(core.CodeConflict, row.Spec.ID, "request %s was started once more meanwhile: drover request show %s", row.Spec.ID, row.Spec.ID)
	}
	return row.Result, f.flush()
}

// events are those of the request, from its beginning.
func (f *follower) events(ctx context.Context) iter.Seq2[requests.Event, error] {
	return func(yield func(requests.Event, error) bool) {
		desk := f.herd.desk()
		desk.Watch = &requests.Watch{Feed: f.herd.redis, Last: f.herd.redis.LastEvents}
		ctx, stop := context.WithCancel(ctx)
		var watch sync.WaitGroup
		defer watch.Wait()
		defer stop()
		watch.Go(func() { _ = desk.Watch.Run(ctx) }) // it bears what goes wrong
		desk.Follow(ctx, operator(), f.row.Spec.ID, "")(yield)
	}
}

// tell prints what an event says.
func (f *follower) tell(e requests.Event) error {
	switch e.Kind {
	case requests.EventOutput:
		return f.print(e.Stream, e.Data)
	case requests.EventGap:
		f.say(fmt.Sprintf("%s of %s are missing here: live output is short-lived; drover request output %s has all once it has ended",
			someBytes(e.Bytes), e.Stream, f.row.Spec.ID))
	case requests.EventReset:
		f.say("that attempt was lost to a platform fault; the output begins again")
	case requests.EventAway:
		f.say("Redis is away; waiting for the result")
	case requests.EventState, requests.EventEnd, requests.EventIdle:
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

// soFar prints what there is of the output.
func (f *follower) soFar(ctx context.Context) error {
	for e, err := range f.events(ctx) {
		if err != nil {
			return err
		}
		if e.Kind == requests.EventIdle {
			break
		}
		if err := f.tell(e); err != nil {
			return err
		}
	}
	return f.flush()
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

// whole prints the output of a result.
func (f *follower) whole(r *core.Result) error {
	return errors.Join(f.print("stdout", []byte(r.Stdout)), f.print("stderr", []byte(r.Stderr)), f.flush())
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

// followOrCancel follows a request; the first Ctrl-C or SIGTERM cancels it for
// real, a second one leaves it to the herd. It is cancelled as well when nobody
// reads its output any more.
func (f *follower) followOrCancel(ctx context.Context) (*core.Result, error) {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // a write then fails, instead of ending the program
	result, err := f.followInterrupted(ctx)
	if !errors.Is(err, syscall.EPIPE) {
		return result, err
	}
	if _, err := f.herd.intake.Cancel(ctx, f.row.Spec.ID, person()); err != nil && !core.Is(err, core.CodeEnded) {
		return nil, err
	}
	return nil, exitCode(exitSignal + int(syscall.SIGPIPE))
}

func (f *follower) followInterrupted(ctx context.Context) (*core.Result, error) {
	if f.herd.throwaway {
		return f.follow(ctx) // the signal ends the herd, and the request with it
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-signals:
		case <-ctx.Done():
			return
		}
		f.say("cancelling; once more to leave it to the herd")
		if _, err := f.herd.intake.Cancel(ctx, f.row.Spec.ID, person()); err != nil && !core.Is(err, core.CodeEnded) {
			f.say("it could not be cancelled: " + err.Error())
		}
		select {
		case <-signals:
			stop()
		case <-ctx.Done():
		}
	}()
	result, err := f.follow(ctx)
	if err != nil && ctx.Err() != nil {
		return nil, exitCode(exitStopped)
	}
	return result, err
}

func requestOutput(c *cli.Context, h *herd) error {
	id, err := oneArg(c, "request id")
	if err != nil {
		return err
	}
	row, err := h.row(c.Context, id)
	if err != nil {
		return err
	}
	if row.Result != nil {
		if err := requests.Expired(row.Result); err != nil {
			return err
		}
	}
	f := newFollower(h, row)
	f.show(c)
	switch {
	case c.Bool("json"):
		if row.Result == nil {
			return core.Errorf(core.CodeConflict, id, "request %s has not ended: leave --json away and add --follow to see its output as it comes", id)
		}
		return printJSON(c.App.Writer, map[string]any{
			"id": id, "stdout": row.Result.Stdout, "stderr": row.Result.Stderr, "truncated": row.Result.Truncated,
		})
	case row.Result != nil:
		return f.whole(row.Result)
	case c.Bool("follow"):
		_, err := f.follow(c.Context)
		return err
	}
	return f.soFar(c.Context)
}
