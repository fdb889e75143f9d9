package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"drover/core"
)

// Service is one background loop.
type Service struct {
	// Name says in errors which loop it was; unique in its group.
	Name string
	// Run works until ctx ends and then returns soon, or, after Drain, until its work is finished. Returning unasked
	// is a failure, with or without an error.
	Run func(ctx context.Context) error
	// Drain makes Run take no new work, finish its current work and return. It does not wait and is called at most
	// once. Nil: the loop holds no work, and runs on until all others have drained.
	Drain func()
}

// StopTimeout is how long loops whose context has ended may take to return. Those
// that take longer are named in the group's error and left behind: the process
// should end then.
const StopTimeout = 30 * time.Second

// Group is a set of running services. All methods are safe for concurrent use.
type Group struct {
	services []Service
	cancel   context.CancelFunc
	ask      sync.Once
	asked    chan struct{} // closed once a stop was asked for
	drained  chan struct{} // closed once no loop with a Drain runs any more
	done     chan struct{} // closed once the group has ended

	mu      sync.Mutex
	running map[string]bool
	holding int // running loops with a Drain
	err     error
}

// Start runs the services in the background until Stop, the first failure, or
// the end of ctx, which stops them at once, without draining.
func Start(ctx context.Context, services ...Service) *Group {
	ctx, cancel := context.WithCancel(ctx)
	g := &Group{
		services: services, cancel: cancel, running: make(map[string]bool),
		asked: make(chan struct{}), drained: make(chan struct{}), done: make(chan struct{}),
	}
	for _, s := range services {
		g.running[s.Name] = true
		if s.Drain != nil {
			g.holding++
		}
	}
	if g.holding == 0 {
		close(g.drained)
	}
	if len(services) == 0 {
		close(g.done)
	}
	for _, s := range services {
		go g.live(ctx, s)
	}
	go g.giveUp(ctx)
	return g
}

// Stop drains the services with work and stops all once that is done, or when ctx ends. It returns when the group has
// ended, with the group's error. It may be called repeatedly and concurrently: the first call starts the draining,
// the end of any caller's ctx ends it.
func (g *Group) Stop(ctx context.Context) error {
	g.ask.Do(func() {
		close(g.asked)
		for _, s := range g.services {
			if s.Drain != nil {
				s.Drain()
			}
		}
	})
	select {
	case <-g.drained:
	case <-ctx.Done():
	case <-g.done:
	}
	g.cancel()
	return g.Wait()
}

// Done is closed once the group has ended.
func (g *Group) Done() <-chan struct{} { return g.done }

// Wait returns once the group has ended: nil if it was stopped without a failure, else all failures in order.
func (g *Group) Wait() error {
	<-g.done
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// live is a loop's whole life. Its panic is its error.
func (g *Group) live(ctx context.Context, s Service) {
	var err error
	returned := false
	defer func() { // also runs when the goroutine is left by runtime.Goexit
		if !returned {
			err = core.Wrap(fmt.Errorf("%v\n%s", recover(), debug.Stack()), core.CodeInternal, s.Name, "%s panicked", s.Name)
		}
		g.ended(s, err)
	}()
	err = g.judge(ctx, s, s.Run(ctx))
	returned = true
}

// judge returns the failure in a loop's return, if any.
func (g *Group) judge(ctx context.Context, s Service, err error) error {
	switch {
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return nil
	case err != nil:
		return core.Wrap(err, core.CodeOf(err), s.Name, "%s failed", s.Name)
	case ctx.Err() == nil && !g.stopping():
		return core.Errorf(core.CodeInternal, s.Name, "%s ended by itself", s.Name)
	}
	return nil
}

func (g *Group) stopping() bool {
	select {
	case <-g.asked:
		return true
	default:
		return false
	}
}

// ended notes that a loop has returned; the last one ends the group.
func (g *Group) ended(s Service, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil {
		g.err = errors.Join(g.err, err)
		g.cancel()
	}
	delete(g.running, s.Name)
	if s.Drain != nil {
		if g.holding--; g.holding == 0 {
			close(g.drained)
		}
	}
	if len(g.running) == 0 {
		g.finish()
	}
}

// giveUp ends the group although loops still run, if they ignore the end
// of their context for too long.
func (g *Group) giveUp(ctx context.Context) {
	select {
	case <-g.done:
		return
	case <-ctx.Done():
	}
	timer := time.NewTimer(StopTimeout)
	defer timer.Stop()
	select {
	case <-g.done:
		return
	case <-timer.C:
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.running) > 0 {
		names := strings.Join(slices.Sorted(maps.Keys(g.running)), ", ")
		g.err = errors.Join(g.err, core.Errorf(core.CodeInternal, names, "%s did not stop within %s of being told to", names, StopTimeout))
		g.finish()
	}
}

// finish closes done once. The caller holds mu.
func (g *Group) finish() {
	g.cancel()
	select {
	case <-g.done:
	default:
		close(g.done)
	}
}
