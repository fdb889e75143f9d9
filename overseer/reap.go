package overseer

import (
	"context"
	"errors"
	"slices"
	"time"

	"drover/core"
	"drover/core/cluster/recovery"
)

// reap fences late owners and settles what they held: work of lost hosts is evacuated, other work goes back to its
// queue. An owner of a suspect host has to wait until its host is up or down, which decides. If it is interrupted,
// the next reap continues: a host that is down stays listed as such, its owners stay late.
func (o *Overseer) reap(ctx context.Context) (Counts, error) {
	counts := Counts{}
	late, err := o.deps.Owners.Late(ctx, o.late(o.cfg.Down))
	if err != nil || len(late) == 0 {
		return counts, err
	}
	state, err := o.hostStates(ctx)
	if err != nil {
		return counts, err
	}
	on := func(states ...core.HostState) []string {
		return slices.DeleteFunc(slices.Clone(late), func(owner string) bool {
			_, host, err := core.ParseOwner(owner)
			return err != nil || !slices.Contains(states, state[host])
		})
	}
	return counts, errors.Join(
		o.evacuate(ctx, counts, on(core.HostDown)),
		o.reapOwners(ctx, counts, on(core.HostUp, "")), // "": the host was forgotten
	)
}

func (o *Overseer) hostStates(ctx context.Context) (map[string]core.HostState, error) {
	hosts, err := o.deps.Hosts.ListHosts(ctx)
	state := make(map[string]core.HostState, len(hosts))
	for _, h := range hosts {
		state[h.Name] = h.State
	}
	return state, err
}

func (o *Overseer) reapOwners(ctx context.Context, counts Counts, late []string) error {
	r, err := recovery.Reap(ctx, among{o.deps.Owners, late}, o.deps.Store, o.late(o.cfg.Down), o.options(recovery.Lost))
	counts.add(r)
	for _, owner := range r.Owners {
		o.log.WithField("owner", owner).Warn("the owner is lost: what it held was settled")
	}
	return err
}

// options returns how slots that were emptied for the cause are settled.
func (o *Overseer) options(cause recovery.Cause) recovery.Options {
	return recovery.Options{Cause: cause, MaxAttempts: o.cfg.MaxAttempts, MaxDeaths: o.cfg.MaxDeaths, Now: o.clock.Now}
}

// add adds the counts of a report.
func (c Counts) add(r recovery.Report) {
	for what, n := range map[string]int{
		"owners": len(r.Owners), "slots": r.Moved, "done": r.Done, "cancelled": r.Cancelled, "failed": r.Failed,
		"retried": r.Retried, "released": r.Released, "dead": r.Dead, "vms_returned": r.Returned,
	} {
		c[what] += n
	}
}

// among narrows the late owners to a list.
type among struct {
	core.Owners
	late []string
}

// Late implements core.Owners.
func (a among) Late(context.Context, time.Duration) ([]string, error) { return a.late, nil }
