package vmfactory

import (
	"time"

	"github.com/cenkalti/backoff/v5"

	"drover/core"
)

// poolState is what this host has learned about making VMs of one pool.
type poolState struct {
	name  string
	tries int // failures in a row after which it is broken
	wait  *backoff.ExponentialBackOff

	fails     int       // in a row
	round     int       // grows with each counted failure; a creation that began before belongs to an older round
	notBefore time.Time // of the next try
	broken    bool
	fetching  bool   // it waits for its image
	reason    string // why it is broken or slow; "" if all is well

	kind core.VMKind // settings of its VMs

	turn         int64     // when it last got a VM
	surplusSince time.Time // since when there is a surplus; zero if there is none

	took, reported time.Duration // to make a VM: a moving average, and the one that Redis has
}

func newPoolState(name string, cfg Config) *poolState {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.Multiplier, wait.MaxInterval = cfg.CreateBackoff, 2, cfg.BrokenRetry
	wait.RandomizationFactor = 0
	return &poolState{name: name, tries: cfg.CreateTries, wait: wait}
}

// most returns how many creations may begin now, when creating are in progress: all, none during a pause after a
// failure, or one on trial.
func (p *poolState) most(now time.Time, creating int) int {
	switch {
	case p.fails == 0 && !p.fetching:
		return unbounded
	case now.Before(p.notBefore) || creating > 0:
		return 0
	}
	return 1
}

// failed records a failed creation. Failures that began in an older round have the same cause and do not count again.
// A final failure breaks the pool at once. Returns true if the pool has just become broken.
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

// waits records a creation that ended because the image was not there yet. That is no failure: one creation at a time
// keeps trying. Returns true for the first one.
func (p *poolState) waits(now time.Time, err error, pause time.Duration) bool {
	was := p.fetching
	p.fails, p.broken, p.fetching, p.reason, p.notBefore = 0, false, true, err.Error(), now.Add(pause)
	p.wait.Reset()
	return !was
}

// sets records the settings of the pool's VMs. New settings may have repaired a broken pool, so it is tried at once.
func (p *poolState) sets(kind core.VMKind) {
	if kind != p.kind {
		p.kind, p.notBefore = kind, time.Time{}
	}
}

// reports returns how long making a VM takes, in steps of a quarter, so that Redis need not be told each time.
func (p *poolState) reports() time.Duration {
	if p.took > p.reported*5/4 || p.took < p.reported*3/4 {
		p.reported = p.took
	}
	return p.reported
}

// made records a successful creation, and how long it took. Returns true if the pool was broken.
func (p *poolState) made(took time.Duration) bool {
	took = max(took, time.Millisecond)
	if p.took == 0 {
		p.took = took
	}
	p.took += (took - p.took) / 8
	was := p.broken
	p.fails, p.broken, p.fetching, p.reason, p.notBefore = 0, false, false, "", time.Time{}
	p.wait.Reset()
	return was
}

// final reports whether another try soon cannot help, for instance because the image is missing.
func final(err error) bool {
	return core.Is(err, core.CodeNotFound) || core.Is(err, core.CodeInvalid)
}
