package service

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Signals are SIGTERM and SIGINT of this process from Listen on. A program that listens before it opens anything is
// not killed by them half-way.
type Signals struct {
	received      chan os.Signal
	first, second chan struct{} // closed by the first signal and by the second
	running       chan struct{} // closed by Run
	closed, ended chan struct{} // closed by Close, and once nothing listens any more
}

// Listen takes both signals over until Close.
func Listen() *Signals {
	s := &Signals{
		received: make(chan os.Signal, 2), first: make(chan struct{}), second: make(chan struct{}),
		running: make(chan struct{}), closed: make(chan struct{}), ended: make(chan struct{}),
	}
	signal.Notify(s.received, os.Interrupt, syscall.SIGTERM)
	go func() {
		defer close(s.ended)
		for _, heard := range []chan struct{}{s.first, s.second} {
			select {
			case <-s.received:
				close(heard)
			case <-s.closed:
				return
			}
		}
	}()
	return s
}

// Close gives the signals back.
func (s *Signals) Close() {
	signal.Stop(s.received)
	close(s.closed)
	<-s.ended
}

// Asked reports whether a signal has arrived. Errors of things opened under Starting are then only a consequence.
func (s *Signals) Asked() bool { return isClosed(s.first) }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Starting returns a context for what is opened before Run. A signal before Run ends it, a later one does not.
func (s *Signals) Starting(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		select {
		case <-s.first:
			if isClosed(s.running) {
				<-s.closed
			}
		case <-s.closed:
		}
	}()
	return ctx
}

// Run runs services until a signal, a failure, or the end of ctx. The first signal drains them, for at most grace; a
// second one stops them at once. After a signal before Run nothing is run. Notice is called with messages for the
// log.
//
// The context must not end with the same signals, since then nothing could be drained.
func (s *Signals) Run(ctx context.Context, grace time.Duration, notice func(text string), services ...Service) error {
	close(s.running) // before the look: Starting's context has ended, or never will by a signal
	if s.Asked() {
		notice("asked to stop before it had started")
		return nil
	}
	g := Start(ctx, services...)
	select {
	case <-g.Done():
		return g.Wait()
	case <-s.first:
		notice("asked to stop: taking no new work and finishing what is in hand, for at most " + grace.String() + "; once more to stop at once")
	}
	drain, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	go func() {
		select {
		case <-s.second:
			notice("asked again: stopping at once")
			cancel()
		case <-drain.Done():
		}
	}()
	return g.Stop(drain)
}
