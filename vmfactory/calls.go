package vmfactory

import (
	"context"
	"sync"
	"time"

	"drover/core"
	"drover/core/service/clock"
)

// graceOfDeaf is how long a provider may take to return after its context has ended.
const graceOfDeaf = time.Second

// calls bounds the time of calls to providers, even to one that ignores its context, and never lets two calls work on
// one VM at the same time.
type calls struct {
	mu   sync.Mutex
	busy map[string]chan struct{} // VM → closed when its call returns
}

// within calls a provider about a VM ("" for none). It returns when the call does, or soon after d has passed or ctx
// has ended; then with UNAVAILABLE, and the VM stays busy until the provider returns.
func (c *calls) within(ctx context.Context, clk clock.Clock, d time.Duration, vm string, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	release, err := c.take(ctx, vm)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		err := call(ctx)
		release()
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-clk.After(graceOfDeaf):
		return core.Wrap(ctx.Err(), core.CodeUnavailable, vm, "the provider did not answer within %s", d)
	}
}

func (c *calls) take(ctx context.Context, vm string) (release func(), err error) {
	if vm == "" {
		return func() {}, nil
	}
	for {
		c.mu.Lock()
		earlier, busy := c.busy[vm]
		if !busy {
			if c.busy == nil {
				c.busy = make(map[string]chan struct{})
			}
			mine := make(chan struct{})
			c.busy[vm] = mine
			c.mu.Unlock()
			return func() { c.free(vm, mine) }, nil
		}
		c.mu.Unlock()
		select {
		case <-earlier:
		case <-ctx.Done():
			return nil, core.Wrap(ctx.Err(), core.CodeUnavailable, vm, "an earlier call for VM %s has not returned", vm)
		}
	}
}

func (c *calls) free(vm string, mine chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.busy, vm)
	close(mine)
}
