package service

import (
	"context"
	"math/rand/v2"
	"time"

	"drover/core/service/clock"
)

// Every calls fn at once and then again and again, each time d ± 10 % after the
// last call returned, so that many processes do not keep step. It returns nil
// when ctx ends, or fn's first error: a loop that is to survive an error handles
// it in fn.
func Every(ctx context.Context, c clock.Clock, d time.Duration, fn func(context.Context) error) error {
	for ctx.Err() == nil {
		if err := fn(ctx); err != nil {
			return err
		}
		select {
		case <-c.After(jitter(d)):
		case <-ctx.Done():
		}
	}
	return nil
}

func jitter(d time.Duration) time.Duration {
	tenth := int64(d / 10)
	if tenth <= 0 {
		return d
	}
	return d + time.Duration(rand.Int64N(2*tenth+1)-tenth) //nolint:gosec // spreads load, keeps no secret
}
