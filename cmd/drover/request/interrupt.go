package request

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"drover/cmd/drover/terminal"
	"drover/core"
)

// followOrCancel follows a request; the first Ctrl-C or SIGTERM cancels it, a second one leaves it to the cluster. It
// is also cancelled when nobody reads its output any more.
func (f *Follower) followOrCancel(ctx context.Context) error {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // a write then fails, instead of ending the program
	err := f.followInterrupted(ctx)
	if !errors.Is(err, syscall.EPIPE) {
		return err
	}
	if err := f.cancel(ctx); err != nil && !core.Is(err, core.CodeEnded) {
		return err
	}
	return terminal.ExitCode(terminal.ExitSignal + int(syscall.SIGPIPE))
}

func (f *Follower) followInterrupted(ctx context.Context) error {
	if f.embedded {
		return f.Follow(ctx)
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
		f.say("cancelling; once more to leave it to the cluster")
		if err := f.cancel(ctx); err != nil && !core.Is(err, core.CodeEnded) && ctx.Err() == nil {
			f.say("it could not be cancelled: " + err.Error())
		}
		select {
		case <-signals:
			stop()
		case <-ctx.Done():
		}
	}()
	err := f.Follow(ctx)
	if err != nil && ctx.Err() != nil {
		return terminal.ExitCode(terminal.ExitStopped)
	}
	return err
}
