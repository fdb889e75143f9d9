package operate

import (
	"cmp"
	"context"
	"slices"

	"drover/core"
)

// Changes returns a page of the changes of state of a request (by its key), VM or host, newest first, or of the gaps in
// the history. Among the changes of a thing are the gaps in which others of its own may be missing. Returns FORBIDDEN,
// INVALID, UNAVAILABLE.
func (o *Service) Changes(ctx context.Context, a core.Actor, f core.StateChangeFilter) ([]core.StateChange, error) {
	if err := o.Watch(a); err != nil {
		return nil, err
	}
	kinds := []core.Entity{core.EntityRequest, core.EntityVM, core.EntityHost, core.EntityGap}
	if !slices.Contains(kinds, f.Kind) {
		return nil, core.Errorf(core.CodeInvalid, "kind", "there is no history of %.40q: use one of %q", f.Kind, kinds)
	}
	f.Limit = cmp.Or(f.Limit, changesPage)
	its, err := o.Store.StateChanges(ctx, f)
	if err != nil || f.Kind == core.EntityGap {
		return its, err
	}
	return o.withGaps(ctx, its, f)
}

// RequestChanges returns such a page of all generations of a request. Returns FORBIDDEN, INVALID, NOTFOUND,
// UNAVAILABLE.
func (o *Service) RequestChanges(ctx context.Context, a core.Actor, id, before string, limit int) ([]core.StateChange, error) {
	if err := o.Watch(a); err != nil {
		return nil, err
	}
	if err := core.CheckName("request id", id); err != nil {
		return nil, err
	}
	row, err := o.Store.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	all := []core.StateChange{}
	limit = cmp.Or(limit, changesPage)
	for generation := row.Spec.Generation; generation > 0 && len(all) < limit; generation-- {
		its, err := o.Changes(ctx, a, core.StateChangeFilter{Kind: core.EntityRequest, Thing: core.Key(id, generation), Before: before, Limit: limit})
		if err != nil {
			return nil, err
		}
		all = append(all, its...)
	}
	// A gap between two generations is found with either.
	all = slices.CompactFunc(all, func(a, b core.StateChange) bool { return a.Kind == core.EntityGap && a == b })
	return all[:min(limit, len(all))], nil
}

// changesPage is how many changes a page has that names no limit.
const changesPage = 50

// mostGaps is how many of the newest gaps are looked at: each is a loss of Redis.
const mostGaps = 1000

// withGaps puts the gaps in which changes of a thing may be missing among a page of them.
func (o *Service) withGaps(ctx context.Context, its []core.StateChange, f core.StateChangeFilter) ([]core.StateChange, error) {
	gaps, err := o.Store.StateChanges(ctx, core.StateChangeFilter{Kind: core.EntityGap, Thing: core.GapThing, Before: f.Before, Limit: mostGaps})
	if err != nil || len(its) == 0 {
		return its, err
	}
	newest, oldest := its[0], its[len(its)-1]
	gaps = slices.DeleteFunc(gaps, func(gap core.StateChange) bool {
		switch {
		case f.Before == "" && ends(newest) && byPlace(gap, newest) > 0:
			return true // nothing came after its end
		case byPlace(gap, oldest) > 0:
			return false
		}
		// Of what is older only the last gap before a beginning that is not the thing's own.
		return len(its) == f.Limit || begins(oldest) || gap.Until > oldest.At
	})
	for i := range gaps {
		if byPlace(gaps[i], oldest) < 0 {
			gaps = gaps[:i+1]
			break
		}
	}
	all := append(its, gaps...)
	slices.SortFunc(all, func(a, b core.StateChange) int { return byPlace(b, a) })
	return all[:min(f.Limit, len(all))], nil
}

func byPlace(a, b core.StateChange) int {
	return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.N, b.N))
}

// begins reports whether a change is the first of its thing.
func begins(c core.StateChange) bool {
	return c.Kind == core.EntityRequest && c.How == "enqueue" || c.Kind == core.EntityVM && c.State == string(core.VMCreating)
}

// ends reports whether no change of its thing can follow.
func ends(c core.StateChange) bool {
	if c.Kind == core.EntityRequest {
		return core.RequestState(c.State).Terminal()
	}
	return c.Kind == core.EntityVM && (c.State == string(core.VMGone) || c.State == string(core.VMLost))
}
