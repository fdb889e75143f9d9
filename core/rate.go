package core

import (
	"context"
	"time"
)

// Rate is how often something may be done: once per Every in the long run, and up to Burst times at once. The zero
// value is no bound.
type Rate struct {
	Every time.Duration
	Burst int
}

// Allowance is a limiter's answer.
type Allowance struct {
	Allowed   bool
	Remaining int           // that could be done now
	Retry     time.Duration // time until it would be allowed; 0 if it was
	Reset     time.Duration // time until Burst is available again
}

// Limiter bounds how often things are done in the whole cluster.
type Limiter interface {
	// Take does n things under a name at once if the rate allows all of them; an n of 0 only checks whether one would
	// be allowed. A name is any text up to 256 bytes and is hashed. Operators see only the word before its first
	// colon, as in "api:ann". Returns INVALID for an n above the burst.
	Take(ctx context.Context, name string, r Rate, n int) (Allowance, error)
}
