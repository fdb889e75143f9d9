package operate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"drover/core"
)

// Bounds of operations on a host.
const (
	AtOnce      = time.Second // the shortest deadline of a drain: claimed work is moved now
	MaxDeadline = 30 * 24 * time.Hour
	maxReason   = 300 // bytes
)

// aboutHost gives a refusal by Redis a text about the host.
func aboutHost(err error, host string) error {
	switch core.CodeOf(err) {
	case core.CodeNotFound:
		return core.Errorf(core.CodeNotFound, host, "there is no host %s", host)
	case core.CodeConflict:
		return core.Errorf(core.CodeConflict, host, "host %s is not down, or has owners yet: stop its components, then let an overseer judge it", host)
	default:
		return err
	}
}

// may returns FORBIDDEN for an actor who may not operate the cluster, before the input is checked.
func may(a core.Actor) error { return core.Allow(a, core.ActClusterOperate, core.Object{}) }

// atHost changes a host; the text says how, for the audit log.
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

// Drain stops new work on a host. Claimed work that is left after the deadline (at least AtOnce) is moved to other
// hosts; with 0 the host finishes all of it. The result store keeps the drain, so it survives a loss of Redis.
// Returns INVALID, NOTFOUND, and UNAVAILABLE if the store does not accept it (then nothing is done), or Redis does
// not (then an overseer does it later).
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

// want stores a wish for a host that Redis knows, and then applies it. If applying fails, an overseer does it later;
// if the store does not accept the wish, nothing is done.
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

// keep replaces the former wish, even if that one's clock was ahead.
func (o *Service) keep(ctx context.Context, w core.HostWish) error {
	if err := w.Check(); err != nil {
		return err
	}
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

// SetHost changes a host's settings, all of them. Returns INVALID, NOTFOUND, CONFLICT if a lease needs a label that would
// go, and UNAVAILABLE as Drain does.
func (o *Service) SetHost(ctx context.Context, a core.Actor, host string, s core.HostSettings) error {
	if err := may(a); err != nil {
		return err
	}
	if err := s.Check(host); err != nil {
		return err
	}
	if o.AllowsLabels != nil {
		if err := o.AllowsLabels(ctx, host, s.Labels); err != nil {
			return err
		}
	}
	w := core.HostWish{Host: host, Kind: core.WishSettings, By: a.Handle, Settings: &s}
	return o.atHost(ctx, a, host, "changes the settings of host "+host, func() error {
		return o.want(ctx, w, func() error { return o.Cluster.SetHost(ctx, host, s) })
	})
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

// Forget removes a host that is permanently down, and the wishes for it. Returns NOTFOUND, CONFLICT if it is not down
// or still has owners.
func (o *Service) Forget(ctx context.Context, a core.Actor, host string) error {
	return o.atHost(ctx, a, host, "forgets host "+host, func() error {
		unknown := o.Cluster.ForgetHost(ctx, host)
		if unknown != nil && !core.Is(unknown, core.CodeNotFound) {
			return unknown
		}
		// A host that Redis has lost may have left wishes.
		if n, err := o.Store.ForgetHostWishes(ctx, host); err != nil || n > 0 {
			return err
		}
		return unknown
	})
}

// Report reports that a host failed or has recovered; an overseer acts on it. By is set to the actor if the report
// names nobody. Returns INVALID, NOTFOUND.
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
