package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"drover/core"
	"drover/core/requests"
)

// How often a follower looks for a request that waits: soon at first, so that a
// warm VM shows, then gently.
const (
	followFirst = 2 * time.Millisecond
	followMost  = 200 * time.Millisecond
	followRead  = 500 * time.Millisecond
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

	token   string // of the claim that is being printed
	after   string // position in its output
	printed map[string]int
	ended   bool // its output is complete
	away    bool // Redis did not answer the last time
}

// newFollower makes one that prints nothing of the request's output.
func newFollower(h *herd, row core.Row) *follower {
	return &follower{
		herd: h, row: row, stdout: io.Discard, stderr: io.Discard, notice: func(string) {}, wonder: followWonder, printed: map[string]int{},
	}
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
	key := f.row.Spec.Key()
	pause := followFirst
	began := time.Now()
	for {
		row, err := f.herd.store.Get(ctx, f.row.Spec.ID)
		if err != nil {
			return nil, err
		}
		if row.Result != nil && row.Spec.Key() == key {
			return row.Result, f.rest(row.Result)
		}
		busy, err := f.step(ctx, key)
		if err = f.bear(err); err != nil {
			return nil, err
		}
		if busy {
			pause = followFirst
			continue
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
			pause = min(2*pause, followMost)
		}
		if f.token == "" && f.wonder > 0 && time.Since(began) >= f.wonder {
			f.wonder = 0
			f.notice(f.herd.whyWaiting(ctx, f.row.Spec.ID))
		}
	}
}

// bear takes it that Redis is away for a while: the result comes from the store,
// and what was not printed live is printed then.
func (f *follower) bear(err error) error {
	if !core.Is(err, core.CodeUnavailable) {
		f.away = f.away && err != nil
		return err
	}
	if !f.away {
		f.notice("Redis is away; waiting for the result")
	}
	f.away = true
	return nil
}

// step prints what there is, and says whether it waited for that itself.
func (f *follower) step(ctx context.Context, key string) (bool, error) {
	if f.token == "" || f.ended {
		place, err := f.herd.redis.Locate(ctx, key)
		if err != nil || place.Token == "" || place.Token == f.token {
			return false, err
		}
		if f.token != "" {
			f.notice("that attempt was lost to a platform fault; the output begins again")
		}
		f.token, f.after, f.ended, f.printed = place.Token, "", false, map[string]int{}
	}
	chunks, err := f.herd.redis.Read(ctx, key, f.token, f.after, followRead)
	if err != nil {
		return false, err
	}
	for _, c := range chunks {
		f.after = c.ID
		if c.Stream == "end" {
			f.ended = true
			continue
		}
		if err := f.print(c.Stream, c.Data); err != nil {
			return false, err
		}
	}
	if len(chunks) == 0 {
		// Nothing for a while: it may have moved elsewhere.
		place, err := f.herd.redis.Locate(ctx, key)
		f.ended = err == nil && place.Token != f.token
		return true, err
	}
	return !f.ended, nil
}

func (f *follower) print(stream string, data []byte) error {
	w := f.stdout
	if stream == "stderr" {
		w = f.stderr
	}
	f.printed[stream] += len(data)
	_, err := w.Write(data)
	return err
}

// rest prints what live output, which is capped, left out.
func (f *follower) rest(r *core.Result) error {
	if f.token != r.Token {
		f.printed = map[string]int{}
	}
	for stream, whole := range map[string]string{"stdout": r.Stdout, "stderr": r.Stderr} {
		if n := f.printed[stream]; n < len(whole) {
			if err := f.print(stream, []byte(whole[n:])); err != nil {
				return err
			}
		}
	}
	return f.flush()
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
		f.notice("cancelling; once more to leave it to the herd")
		if _, err := f.herd.intake.Cancel(ctx, f.row.Spec.ID, person()); err != nil && !core.Is(err, core.CodeEnded) {
			f.notice("it could not be cancelled: " + err.Error())
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
		return f.rest(row.Result)
	case c.Bool("follow"):
		_, err := f.follow(c.Context)
		return err
	}
	_, err = f.step(c.Context, row.Spec.Key())
	return errors.Join(err, f.flush())
}
