package vmfactory

import (
	"time"

	"github.com/cenkalti/backoff/v5"

	"drover/core"
)

// poolState is what this host has learnt of making one pool's VMs.
type poolState struct {
	name  string
	tries int // failures in a row that mark it broken
	wait  *backoff.ExponentialBackOff

	fails     int       // in a row
	round     int       // grows with each counted failure: what began before is of an older round
	notBefore time.Time // of the next try
	broken    bool
	fetching  bool   // it waits for its image
	reason    string // why nothing, or little, can be made; "" if all is well

	kind core.VMKind // what its VMs are made with

	turn         int64     // when it last got a VM
	surplusSince time.Time // zero while there is none
}

func newPoolState(name string, cfg Config) *poolState {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.Multiplier, wait.MaxInterval = cfg.CreateBackoff, 2, cfg.BrokenRetry
	wait.RandomizationFactor = 0
	return &poolState{name: name, tries: cfg.CreateTries, wait: wait}
}

// most says how many creations may begin now, when creating are in hand: all,
// none while it waits after a failure, or one on trial.
func (p *poolState) most(now time.Time, creating int) int {
	switch {
	case p.fails == 0 && !p.fetching:
		return unbounded
	case now.Before(p.notBefore) || creating > 0:
		return 0
	}
	return 1
}

// failed notes a creation that went wrong. Those that began in an older round are
// the same mishap and do not count again. A final failure breaks the pool at
// once. Returns true if the pool is newly broken.
func (p *poolState) failed(now time.Time, round int, err error, retry time.Duration) bool {
	p.reason, p.fetching = err.Error(), false
	if round < p.round {
		return false
	}
	p.round++
	p.fails++
	delay := p.wait.NextBackOff()
	was := p.broken
	if p.fails >= p.tries || final(err) {
		p.broken, delay = true, retry
	}
	p.notBefore = now.Add(delay)
	return p.broken && !was
}

// waits notes a creation that ended before the image was there. That is no failure:
// one at a time goes on asking. Returns true if it is the first.
func (p *poolState) waits(now time.Time, err error, pause time.Duration) bool {
	was := p.fetching
	p.fails, p.broken, p.fetching, p.reason, p.notBefore = 0, false, true, err.Error(), now.Add(pause)
	p.wait.Reset()
	return !was
}

// sets notes what the pool's VMs are made with. Other settings than before may have
// mended what was broken: they are tried at once.
func (p *poolState) sets(kind core.VMKind) {
	if kind != p.kind {
		p.kind, p.notBefore = kind, time.Time{}
	}
}

// made notes a creation that went well. Returns true if the pool was broken.
func (p *poolState) made() bool {
	was := p.broken
	p.fails, p.broken, p.fetching, p.reason, p.notBefore = 0, false, false, "", time.Time{}
	p.wait.Reset()
	return was
}

// final reports whether trying again soon cannot help: the image is missing, say.
func final(err error) bool {
	return core.Is(err, core.CodeNotFound) || core.Is(err, core.CodeInvalid)
}
