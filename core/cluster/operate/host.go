package operate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"drover/core"
)

// Bounds of what is said of a host.
const (
	AtOnce      = time.Second // the least deadline of a drain: what the host has in hand goes now
	MaxDeadline = 30 * 24 * time.Hour
	maxReason   = 300 // bytes
)

// aboutHost says of a host what Redis refused.
func aboutHost(err error, host string) error {
	switch core.CodeOf(err) {
	case core.CodeNotFound:
		return core.Errorf(core.CodeNotFound, host, "there is no host %s: see drover host list", host)
	case core.CodeConflict:
		return core.Errorf(core.CodeConflict, host, "host %s is not down, or has owners yet: stop its components, then let an overseer judge it (drover overseer --once)", host)
	default:
		return err
	}
}

// may returns FORBIDDEN to who may not operate the cluster, before anything is said about what they sent.
func may(a core.Actor) error { return core.Allow(a, core.ActClusterOperate, core.Object{}) }

// atHost does something to a host, which the text says in a sentence.
func (o *Service) atHost(ctx context.Context, a core.Actor, host, text string, do func() error) error {
	if err := may(a); err != nil {
		return err
	}
	if err := core.CheckName("host", host); err != nil {
		return err
	}
	err := o.change(ctx, a, host, text, func() error { return aboutHost(do(), host) })
	o.overview.stale()
	return err
}

// Drain lets a host take no new work. What it has in hand after the deadline goes to other
// hosts, AtOnce at the earliest; with 0 it finishes all. The result store keeps that, so it holds
// after a loss of Redis, too. Returns INVALID, NOTFOUND, and UNAVAILABLE if the store does not
// take it (then nothing is done), or Redis does not (then an overseer does it).
func (o *Service) Drain(ctx context.Context, a core.Actor, host string, deadline time.Duration) error {
	if err := may(a); err != nil {
		return err
	}
	text := fmt.Sprintf("drains host %s, which finishes what it has in hand", host)
	if deadline != 0 {
		if deadline < AtOnce || deadline > MaxDeadline {
			return core.Errorf(core.CodeInvalid, "deadline", "deadline %s must be between %s and %s; leave it out to let the host finish all", deadline, AtOnce, MaxDeadline)
		}
		text = fmt.Sprintf("drains host %s, and what it has in hand after %s goes to other hosts", host, deadline)
	}
	w := core.HostWish{Host: host, Kind: core.WishDrain, By: a.Handle}
	if deadline > 0 {
		w.Until = o.now().Add(deadline).UnixMilli()
	}
	return o.atHost(ctx, a, host, text, func() error {
		return o.want(ctx, w, func() error { return o.Cluster.Drain(ctx, host, true, deadline) })
	})
}

// want keeps in the store what is wanted of a host that Redis knows, and only then does it. If
// that fails an overseer does it; if the store does not take it nothing is done.
func (o *Service) want(ctx context.Context, w core.HostWish, do func() error) error {
	if err := o.known(ctx, w.Host); err != nil {
		return err
	}
	if err := o.keep(ctx, w); err != nil {
		return err
	}
	err := do()
	return core.Wrap(err, core.CodeOf(err), w.Host, "what is wanted of host %s is kept but does not hold yet", w.Host)
}

// keep puts a wish in place of the one before, whoever's clock that is of.
func (o *Service) keep(ctx context.Context, w core.HostWish) error {
	for {
		its, err := o.Store.HostWishes(ctx, w.Host)
		if err != nil {
			return err
		}
		former, _ := core.FindWish(its, w.Kind)
		w.At = former.After(o.now())
		if is, err := o.Store.PutHostWish(ctx, w); err != nil || is {
			return err
		}
	}
}

// Undrain lets a host take work again. Returns NOTFOUND.
func (o *Service) Undrain(ctx context.Context, a core.Actor, host string) error {
	w := core.HostWish{Host: host, Kind: core.WishDrain, Lifted: true, By: a.Handle}
	return o.atHost(ctx, a, host, "lets host "+host+" take work again", func() error {
		return o.want(ctx, w, func() error { return o.Cluster.Drain(ctx, host, false, 0) })
	})
}

// Trust ends a host's probation. Returns NOTFOUND.
func (o *Service) Trust(ctx context.Context, a core.Actor, host string) error {
	w := core.HostWish{Host: host, Kind: core.WishProbation, Lifted: true, By: a.Handle}
	return o.atHost(ctx, a, host, "ends the probation of host "+host, func() error {
		return o.want(ctx, w, func() error { return o.Cluster.Probation(ctx, host, "", 0, 0) })
	})
}

// Forget removes a host that is down for good, and what is wanted of it. Returns NOTFOUND, CONFLICT if it is not
// down or has owners yet.
func (o *Service) Forget(ctx context.Context, a core.Actor, host string) error {
	return o.atHost(ctx, a, host, "forgets host "+host, func() error {
		unknown := o.Cluster.ForgetHost(ctx, host)
		if unknown != nil && !core.Is(unknown, core.CodeNotFound) {
			return unknown
		}
		// One that Redis has lost may have left wishes.
		if n, err := o.Store.ForgetHostWishes(ctx, host); err != nil || n > 0 {
			return err
		}
		return unknown
	})
}

// Report says that a host failed or has recovered; an overseer acts on it. By is the
// actor if the report names nobody. Returns INVALID, NOTFOUND.
func (o *Service) Report(ctx context.Context, a core.Actor, r core.HostReport) error {
	if err := may(a); err != nil {
		return err
	}
	r.By = cmp.Or(r.By, a.Handle)
	if r.Event != core.HostFailed && r.Event != core.HostRecovered {
		return core.Errorf(core.CodeInvalid, string(r.Event), "%q is nothing to report of a host: use failed or recovered", r.Event)
	}
	if len(r.Reason) > maxReason || len(r.By) > core.MaxNameLen {
		return core.Errorf(core.CodeInvalid, "reason", "the reason takes at most %d bytes, and who reports at most %d", maxReason, core.MaxNameLen)
	}
	text := fmt.Sprintf("reports by %s that host %s has %s", r.By, r.Host, r.Event)
	if r.Reason != "" {
		text += ": " + r.Reason
	}
	return o.atHost(ctx, a, r.Host, text, func() error {
		if err := o.known(ctx, r.Host); err != nil {
			return err
		}
		return o.Cluster.AddHostReport(ctx, r)
	})
}

// known returns NOTFOUND for a host that Redis does not know.
func (o *Service) known(ctx context.Context, name string) error {
	hosts, err := o.Cluster.ListHosts(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(hosts, func(h core.HostInfo) bool { return h.Name == name }) {
		return core.Errorf(core.CodeNotFound, name, "there is no host %s", name)
	}
	return nil
}
