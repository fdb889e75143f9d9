package overseer

import (
	"context"
	"errors"
	"slices"
	"time"

	"drover/core"
	"drover/core/recovery"
)

// reap judges the hosts, takes down those that are lost, and settles what late
// owners held: the work of lost hosts by their pools' policy, all other as usual.
// An owner of a suspect host has to wait: its host will soon be up or down, and
// that decides. Killed anywhere, the next reap goes on: a host that is down stays
// listed as such, its owners stay late.
func (o *Overseer) reap(ctx context.Context) (Counts, error) {
	counts := Counts{}
	state, err := o.takeDown(ctx, counts)
	if err != nil {
		return counts, err
	}
	on := func(states ...core.HostState) func(string) bool {
		return func(owner string) bool {
			_, host, err := core.ParseOwner(owner)
			return err == nil && slices.Contains(states, state[host])
		}
	}
	opts := recovery.Options{MaxAttempts: o.cfg.MaxAttempts, Now: o.clock.Now}
	fail, err := o.failing(ctx)
	if err != nil {
		return counts, err
	}
	lost := opts
	lost.Fail = func(h core.Held) bool { return fail[h.Pool] }
	return counts, errors.Join(
		o.reapOwners(ctx, counts, on(core.HostDown), lost),
		o.reapOwners(ctx, counts, on(core.HostUp, ""), opts), // "": the host was forgotten
	)
}

// takeDown fences hosts that are late for good and returns how all hosts are then.
func (o *Overseer) takeDown(ctx context.Context, counts Counts) (map[string]core.HostState, error) {
	late, err := o.parts.Hosts.Judge(ctx, o.cfg.Suspect, o.cfg.Down)
	if err != nil {
		return nil, err
	}
	for _, host := range late {
		switch err := o.parts.Hosts.Down(ctx, host, o.cfg.Down); core.CodeOf(err) {
		case "":
			counts["hosts_down"]++
			o.log.WithField("host", host).Warn("the host is lost: its work goes elsewhere")
		case core.CodeConflict, core.CodeNotFound:
			// It came back, or somebody forgot it meanwhile.
		default:
			return nil, err
		}
	}
	hosts, err := o.parts.Hosts.ListHosts(ctx)
	if err != nil {
		return nil, err
	}
	state := make(map[string]core.HostState)
	for _, h := range hosts {
		state[h.Name] = h.State
	}
	return state, nil
}

// failing says of which pools the work fails when its host is lost.
func (o *Overseer) failing(ctx context.Context) (map[string]bool, error) {
	pools, err := o.parts.Store.Pools(ctx)
	if err != nil {
		return nil, err
	}
	fail := make(map[string]bool)
	for _, p := range pools {
		fail[p.Name] = p.OnHostLoss == core.OnHostLossFail
	}
	return fail, nil
}

func (o *Overseer) reapOwners(ctx context.Context, counts Counts, whose func(string) bool, opts recovery.Options) error {
	r, err := recovery.Reap(ctx, among{o.parts.Owners, whose}, o.parts.Store, o.cfg.Down, opts)
	counts["owners"] += len(r.Owners)
	counts["slots"] += r.Moved
	counts["done"] += r.Done
	counts["cancelled"] += r.Cancelled
	counts["failed"] += r.Failed
	counts["retried"] += r.Retried
	counts["dead"] += r.Dead
	counts["vms_returned"] += r.Returned
	for _, owner := range r.Owners {
		o.log.WithField("owner", owner).Warn("the owner is lost: what it held was settled")
	}
	return err
}

// among narrows the late owners to some.
type among struct {
	core.Owners
	whose func(owner string) bool
}

// Late implements core.Owners.
func (a among) Late(ctx context.Context, by time.Duration) ([]string, error) {
	late, err := a.Owners.Late(ctx, by)
	return slices.DeleteFunc(late, func(owner string) bool { return !a.whose(owner) }), err
}
