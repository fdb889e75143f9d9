package service

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// RunUntilSignal runs services until SIGTERM or SIGINT, a failure, or the end of
// ctx. The first signal drains them, for at most grace; a second one stops them
// at once. Notice hears what is going on, for the log.
//
// The context must not end with the same signals, or nothing is left to drain.
func RunUntilSignal(ctx context.Context, grace time.Duration, notice func(text string), services ...Service) error {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	g := Start(ctx, services...)
	select {
	case <-g.Done():
		return g.Wait()
	case s := <-signals:
		notice(s.String() + ": taking no new work and finishing what is in hand, for at most " + grace.String() + "; once more to stop at once")
	}
	drain, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	go func() {
		select {
		case s := <-signals:
			notice(s.String() + " again: stopping at once")
			cancel()
		case <-drain.Done():
		}
	}()
	return g.Stop(drain)
}
