package taskrunner

import (
	"context"
	"math/rand/v2"
	"time"

	"drover/core"
	"drover/core/service/clock"
)

// sender sends messages to receivers, none of which may take all slots.
type sender struct {
	poster *poster
	gate   *gate
	clock  clock.Clock
}

func newSender(cfg Config, c clock.Clock) *sender {
	post := newPoster(cfg.Webhooks, cfg.Registration.Version, defaultPostTimes(), nil, nil)
	return &sender{poster: post, gate: newGate(c, cfg.Slots), clock: c}
}

// try sends a delivery that the gate has admitted under a name. Returns an error for every answer but a 2xx.
func (s *sender) try(ctx context.Context, job *Job, name string, m core.Message) (a answer, err error) {
	begun := s.clock.Now()
	defer func() { s.gate.leave(name, s.clock.Now().Sub(begun), err, ctx.Err() == nil) }()
	a, err = s.poster.post(ctx, m, job.Task.ID, begun)
	if err != nil || a.delivered() {
		return a, err
	}
	err = core.Errorf(core.CodeUnavailable, name, "the receiver answers %s", a.text)
	if a.wait > 0 {
		err = &retryIn{err, a.wait}
	}
	return a, err
}

// putOff makes a delivery wait that the gate has turned away.
func putOff(wait time.Duration) End {
	return End{Later: wait + time.Duration(rand.Int64N(int64(wait)/4+1))} //nolint:gosec // it spreads load
}
