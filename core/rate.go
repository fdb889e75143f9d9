package core

import (
	"context"
	"time"
)

// Rate is how often something may be done: one each Every in the long run, and up
// to Burst at once. The zero value does not bound.
type Rate struct {
	Every time.Duration
	Burst int
}

// Allowance is a limiter's answer.
type Allowance struct {
	Allowed   bool
	Remaining int           // that could be done now
	Retry     time.Duration // until it would be allowed; 0 if it was
	Reset     time.Duration // until Burst could be done again
}

// Limiter bounds how often things are done in the whole cluster.
type Limiter interface {
	// Take does n things under a name at once, if the rate allows all of them; an n of 0
	// only looks whether one could be done. Names may hold anything up to 256 bytes: they
	// are hashed. The word before a name's first colon, such as in "api:ann", is what
	// operators see of it. Returns INVALID for an n above the burst.
	Take(ctx context.Context, name string, r Rate, n int) (Allowance, error)
}
