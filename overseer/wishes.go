package overseer

import (
	"context"
	"errors"
	"time"

	"drover/core"
)

// Redis forgets wishes for hosts when it is wiped or set back; the result store does not. A vmfactory reads its
// host's wishes from the store before the host claims anything in a new incarnation of Redis. Other differences are
// resolved here.
//
//	wish        which one is right
//	drain       the store's: a drain or its end is written to the store first
//	failed      Redis' for a host that failed in this incarnation, since that must not wait for
//	            the store; else the store's
//	probation   Redis', where canaries end it, once the host has received what the store had
//	settings    the store's

// wishRounds bounds how often one turn reads again what is being changed.
const wishRounds = 5

// staleReport is how much older a report may be than the last one acted on and still be out of date; an even older
// one was made by a clock that was set back.
const staleReport = time.Hour

// wishesOf are a host's wishes, by kind.
type wishesOf map[core.WishKind]core.HostWish

// wishes makes Redis and the result store agree on the wishes for hosts.
func (o *Overseer) wishes(ctx context.Context) (Counts, error) {
	counts := Counts{}
	for range wishRounds {
		// Redis is read first: a wish that the store does not have afterwards was not about to be written to Redis.
		hosts, err := o.deps.Hosts.ListHosts(ctx)
		if err != nil {
			return counts, err
		}
		stored, err := o.deps.Store.HostWishes(ctx, "")
		if err != nil {
			return counts, err
		}
		of := make(map[string]wishesOf)
		for _, w := range stored {
			if of[w.Host] == nil {
				of[w.Host] = wishesOf{}
			}
			of[w.Host][w.Kind] = w
		}
		changed := false
		var troubles []error
		for _, h := range hosts {
			for _, agree := range []func(context.Context, core.HostInfo, wishesOf) (string, error){o.agreeDrain, o.agreeFailed, o.agreeProbation, o.agreeSettings} {
				what, err := agree(ctx, h, of[h.Name])
				switch {
				case core.Is(err, core.CodeNotFound): // it was forgotten in the meantime
				case err != nil:
					troubles = append(troubles, err)
				case what != "":
					counts[what]++
					changed = true
				}
			}
		}
		if len(troubles) > 0 || !changed {
			return counts, errors.Join(troubles...)
		}
	}
	return counts, nil
}

// agreeDrain brings a drain from the store to Redis.
func (o *Overseer) agreeDrain(ctx context.Context, h core.HostInfo, its wishesOf) (string, error) {
	w, known := its[core.WishDrain]
	switch {
	case !known && h.Drain:
		return o.noted(ctx, w, core.HostWish{Host: h.Name, Kind: core.WishDrain, Until: h.DrainUntil})
	case !known || w.Lifted && !h.Drain || !w.Lifted && h.Drain && (w.Until == 0) == (h.DrainUntil == 0):
		return "", nil
	case w.Lifted:
		return "restored", o.deps.Hosts.Drain(ctx, h.Name, false, 0)
	}
	var left time.Duration
	if w.Until > 0 {
		now, err := o.now(ctx)
		if err != nil {
			return "", err
		}
		left = max(time.UnixMilli(w.Until).Sub(now), time.Second)
	}
	return "restored", o.deps.Hosts.Drain(ctx, h.Name, true, left)
}

// agreeFailed brings a report of failure or recovery to Redis, or to the store if it did not accept that before.
func (o *Overseer) agreeFailed(ctx context.Context, h core.HostInfo, its wishesOf) (string, error) {
	w, known := its[core.WishFailed]
	switch {
	case known && !w.Lifted && h.Failed == nil:
		_, err := o.deps.Hosts.Report(ctx, core.HostReport{Host: h.Name, Event: core.HostFailed, By: w.By, Reason: w.Reason})
		return "restored", err
	case h.Failed == nil || known && !w.Lifted:
		return "", nil
	case known && !h.Wished && w.At >= h.Failed.At:
		_, err := o.deps.Hosts.Report(ctx, core.HostReport{Host: h.Name, Event: core.HostRecovered, By: w.By, Reason: w.Reason})
		return "restored", err
	}
	return o.noted(ctx, w, core.HostWish{Host: h.Name, Kind: core.WishFailed, By: h.Failed.By, Reason: h.Failed.Reason})
}

// agreeProbation brings a probation, or its end, from Redis to the store.
func (o *Overseer) agreeProbation(ctx context.Context, h core.HostInfo, its wishesOf) (string, error) {
	w, known := its[core.WishProbation]
	stands := known && !w.Lifted
	switch {
	case !h.Wished || h.Probation == nil && !stands || h.Probation != nil && stands && w.Reason == h.Probation.Reason:
		return "", nil
	case h.Probation == nil:
		return o.noted(ctx, w, core.HostWish{Host: h.Name, Kind: core.WishProbation, Lifted: true})
	}
	return o.noted(ctx, w, core.HostWish{
		Host: h.Name, Kind: core.WishProbation, Reason: h.Probation.Reason, Until: h.Probation.Until, Needed: h.Probation.Needed,
	})
}

// agreeSettings copies a host's settings from the store to Redis.
func (o *Overseer) agreeSettings(ctx context.Context, h core.HostInfo, its wishesOf) (string, error) {
	w, known := its[core.WishSettings]
	var want core.HostSettings
	if w.Settings != nil {
		want = *w.Settings
	}
	switch {
	case want.Equal(h.Settings):
		return "", nil
	case !known:
		return o.noted(ctx, w, core.HostWish{Host: h.Name, Kind: core.WishSettings, Settings: &h.Settings})
	}
	return "restored", o.deps.Hosts.SetHost(ctx, h.Name, want)
}

// noted stores what Redis has, in place of a former wish. A wish made in the meantime stays.
func (o *Overseer) noted(ctx context.Context, former, w core.HostWish) (string, error) {
	now, err := o.now(ctx)
	if err != nil {
		return "", err
	}
	w.At = former.After(now)
	return "noted", o.keep(ctx, w)
}

// failed takes a host down that is reported failed, even while the store is away, and stores the wish.
func (o *Overseer) failed(ctx context.Context, n News) error {
	is, err := o.deps.Hosts.Report(ctx, core.HostReport{ID: n.ID, Host: n.Host, Event: core.HostFailed, By: n.By, Reason: n.Reason})
	if err != nil || !is {
		return err
	}
	former, _, err := o.saidToFail(ctx, n.Host)
	if err != nil || !former.Lifted && former.By == n.By && former.Reason == n.Reason {
		return err
	}
	return o.keep(ctx, core.HostWish{
		Host: n.Host, Kind: core.WishFailed, By: n.By, Reason: n.Reason, At: former.After(time.UnixMilli(n.At)),
	})
}

// keep keeps a wish, which may be made of what others report.
func (o *Overseer) keep(ctx context.Context, w core.HostWish) error {
	if err := w.Check(); err != nil {
		return err
	}
	_, err := o.deps.Store.PutHostWish(ctx, w)
	return err
}

// recovered lets a host back. The store is written first: until then the host stays failed.
func (o *Overseer) recovered(ctx context.Context, n News) error {
	former, known, err := o.saidToFail(ctx, n.Host)
	if err != nil {
		return err
	}
	if ahead := former.At - n.At; known && !former.Lifted && ahead > 0 && ahead < staleReport.Milliseconds() {
		o.log.WithField("host", n.Host).Warn("it was said later that the host failed: that it has recovered comes too late")
		return nil
	}
	w := core.HostWish{Host: n.Host, Kind: core.WishFailed, Lifted: true, By: n.By, Reason: n.Reason, At: former.After(time.UnixMilli(n.At))}
	if known {
		if err := o.keep(ctx, w); err != nil {
			return err
		}
	}
	_, err = o.deps.Hosts.Report(ctx, core.HostReport{ID: n.ID, Host: n.Host, Event: core.HostRecovered, By: n.By, Reason: n.Reason})
	return err
}

// saidToFail returns the last report on a host's failure or recovery, if there was one.
func (o *Overseer) saidToFail(ctx context.Context, host string) (core.HostWish, bool, error) {
	all, err := o.deps.Store.HostWishes(ctx, host)
	w, known := core.FindWish(all, core.WishFailed)
	return w, known, err
}
