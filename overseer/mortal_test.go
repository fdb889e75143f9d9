package overseer_test

import (
	"context"
	"time"

	"drover/core"
)

// mortal is an overseer's life, which ends at its nth call: nothing that it does
// afterwards has any effect.
type mortal struct {
	at, n int
	after bool // the last call takes effect, its answer is not heard
	dead  bool
}

var errDead = core.Errorf(core.CodeUnavailable, "", "killed")

func (m *mortal) call(effect func() error) error {
	if m.dead {
		return errDead
	}
	m.n++
	m.dead = m.n == m.at
	if m.dead && !m.after {
		return errDead
	}
	err := effect()
	if m.dead {
		return errDead
	}
	return err
}

type mortalOwners struct {
	core.Owners
	m *mortal
}

func (o mortalOwners) Late(ctx context.Context, by time.Duration) (late []string, err error) {
	err = o.m.call(func() (err error) { late, err = o.Owners.Late(ctx, by); return err })
	return late, err
}

func (o mortalOwners) Fence(ctx context.Context, owner string, by time.Duration) (epoch int64, err error) {
	err = o.m.call(func() (err error) { epoch, err = o.Owners.Fence(ctx, owner, by); return err })
	return epoch, err
}

func (o mortalOwners) Held(ctx context.Context, owner string, epoch int64) (held []core.Held, err error) {
	err = o.m.call(func() (err error) { held, err = o.Owners.Held(ctx, owner, epoch); return err })
	return held, err
}

func (o mortalOwners) Settle(ctx context.Context, owner string, epoch int64, items []core.Settlement, placed int64) (out core.Settled, err error) {
	err = o.m.call(func() (err error) { out, err = o.Owners.Settle(ctx, owner, epoch, items, placed); return err })
	return out, err
}

func (o mortalOwners) Forget(ctx context.Context, owner string, epoch int64) error {
	return o.m.call(func() error { return o.Owners.Forget(ctx, owner, epoch) })
}

func (o mortalOwners) ListOwners(ctx context.Context) (all []core.OwnerInfo, err error) {
	err = o.m.call(func() (err error) { all, err = o.Owners.ListOwners(ctx); return err })
	return all, err
}

func (o mortalOwners) Revoke(ctx context.Context, owner string, h core.Held, s core.Settlement, why string) error {
	return o.m.call(func() error { return o.Owners.Revoke(ctx, owner, h, s, why) })
}

type mortalHosts struct {
	core.Hosts
	m *mortal
}

func (h mortalHosts) Judge(ctx context.Context, suspect, down time.Duration) (late []string, err error) {
	err = h.m.call(func() (err error) { late, err = h.Hosts.Judge(ctx, suspect, down); return err })
	return late, err
}

func (h mortalHosts) Down(ctx context.Context, host string, down time.Duration) error {
	return h.m.call(func() error { return h.Hosts.Down(ctx, host, down) })
}

func (h mortalHosts) ListHosts(ctx context.Context) (hosts []core.HostInfo, err error) {
	err = h.m.call(func() (err error) { hosts, err = h.Hosts.ListHosts(ctx); return err })
	return hosts, err
}

type mortalStore struct {
	core.ResultStore
	m *mortal
}

func (s mortalStore) Terminal(ctx context.Context, keys []string) (states map[string]core.RequestState, err error) {
	err = s.m.call(func() (err error) { states, err = s.ResultStore.Terminal(ctx, keys); return err })
	return states, err
}

func (s mortalStore) Record(ctx context.Context, r core.Result) (first bool, err error) {
	err = s.m.call(func() (err error) { first, err = s.ResultStore.Record(ctx, r); return err })
	return first, err
}

func (s mortalStore) Pools(ctx context.Context) (pools []core.Pool, err error) {
	err = s.m.call(func() (err error) { pools, err = s.ResultStore.Pools(ctx); return err })
	return pools, err
}

type mortalQueue struct {
	core.Queue
	m *mortal
}

func (q mortalQueue) Specs(ctx context.Context, keys []string) (specs []core.Spec, err error) {
	err = q.m.call(func() (err error) { specs, err = q.Queue.Specs(ctx, keys); return err })
	return specs, err
}

// evacuations is embedded under a name that none of its methods has.
type evacuations = core.Evacuations

type mortalEvacuations struct {
	evacuations
	m *mortal
}

func (e mortalEvacuations) Rooms(ctx context.Context) (rooms []core.Room, placed int64, err error) {
	err = e.m.call(func() (err error) { rooms, placed, err = e.evacuations.Rooms(ctx); return err })
	return rooms, placed, err
}
