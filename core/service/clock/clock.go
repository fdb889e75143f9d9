// Package clock is the time as the parts see it: the machine's own, or one that
// a test moves by hand.
package clock

import (
	"context"
	"time"
)

// Clock tells the time and wakes those who wait for it.
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
