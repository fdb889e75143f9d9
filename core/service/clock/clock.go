// Package clock has the clocks that components use: the machine's own, one shared by all hosts, or one that a test
// sets.
package clock

import (
	"context"
	"time"
)

// Clock returns the time and wakes those that wait for it.
type Clock interface {
	// Now returns the current time.
	Now() time.Time
	// After returns a channel that gets the time once d has passed.
	After(d time.Duration) <-chan time.Time
}

// Real is the machine's clock.
type Real struct{}

// Now returns the machine's time.
func (Real) Now() time.Time { return time.Now() }

// After returns a channel that gets the time once d has passed.
func (Real) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Sleep returns nil once d has passed on c, or ctx's error if that ends first.
func Sleep(ctx context.Context, c Clock, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	select {
	case <-c.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
