package overseer

import (
	"context"
	"slices"

	"drover/core"
	"drover/core/cluster/placement"
)

// leaver is a request that leaves its slot for another host.
type leaver struct {
	owner string
	held  core.Held // of a living owner's
	item  core.Settlement
	need  placement.Need
}

// ground holds the pools' settings, by name, on which decisions about requests are based.
type ground map[string]core.Pool

func (o *Overseer) survey(ctx context.Context) (ground, error) {
	pools, err := o.deps.Store.Pools(ctx)
	if err != nil {
		return nil, err
	}
	g := make(ground, len(pools))
	for _, p := range pools {
		g[p.Name] = p
	}
	there, err := o.deps.Pools.ListPools(ctx)
	for _, p := range there {
		if p.Lease != "" { // only Redis has it
			g[p.Name] = p
		}
	}
	return g, err
}

// need returns the size of the request's VM; false if its pool is not known.
func (g ground) need(spec core.Spec) (placement.Need, bool) {
	p, ok := g[spec.Pool]
	return NeedOf(spec, p), ok
}

// NeedOf returns what a request of the pool needs of a host: a whole VM, even if the request's own limits are lower.
func NeedOf(spec core.Spec, p core.Pool) placement.Need {
	return placement.Need{
		Key: spec.Key(), Pool: spec.Pool, Priority: spec.Priority, Submitted: spec.Submitted,
		Size: p.Size(),
	}
}

// specs returns the specs of the requests in slots, by key; other work is left out.
func (o *Overseer) specs(ctx context.Context, owner string, held []core.Held) (map[string]core.Spec, error) {
	byKey := make(map[string]core.Spec, len(held))
	role, _, err := core.ParseOwner(owner)
	if err != nil || role != core.RoleTestrunner || len(held) == 0 {
		return byKey, err
	}
	keys := make([]string, len(held))
	for i, h := range held {
		keys[i] = h.Key
	}
	specs, err := o.deps.Queue.Specs(ctx, keys)
	for _, s := range specs {
		byKey[s.Key()] = s
	}
	return byKey, err
}

// rounds is how often placing starts again because another overseer placed work in the meantime; the rest has its
// next turn soon.
const rounds = 16

// run is how many requests move in one call.
const run = 256

// move places requests and moves them, the most important first; a run of one owner's requests takes one call. Settle
// moves some and returns the number for the next call, or CONFLICT if another overseer placed work: then the rest is
// placed again.
func (o *Overseer) move(ctx context.Context, counts Counts, leaving []leaver, settle func(ctx context.Context, owner string, items []core.Settlement, placed int64) (int64, error)) error {
	var conflict error
	for range rounds {
		if len(leaving) == 0 {
			return nil
		}
		rooms, placed, err := o.deps.Evacuations.Rooms(ctx)
		if err != nil {
			return err
		}
		leaving = place(leaving, rooms)
		for len(leaving) > 0 {
			n := runOf(leaving)
			items := make([]core.Settlement, n)
			for i, l := range leaving[:n] {
				items[i] = l.item
			}
			placed, conflict = settle(ctx, leaving[0].owner, items, placed)
			if conflict != nil {
				break
			}
			for _, l := range leaving[:n] {
				o.tell(l, l.item.To)
				if l.item.To == core.Parked {
					counts["parked"]++
				} else {
					counts["assigned"]++
				}
			}
			leaving = leaving[n:]
		}
		switch core.CodeOf(conflict) {
		case "", core.CodeConflict:
		case core.CodeFenced, core.CodeNotFound:
			// The owner came back and settles its own slots; go on with the others.
			lost := leaving[0].owner
			leaving = slices.DeleteFunc(leaving, func(l leaver) bool { return l.owner == lost })
		default:
			return conflict
		}
	}
	return conflict
}

// place orders requests by importance and assigns each to the host that has room for it, or parks it.
func place(leaving []leaver, rooms []core.Room) []leaver {
	needs := make([]placement.Need, len(leaving))
	byKey := make(map[string]leaver, len(leaving))
	for i, l := range leaving {
		needs[i] = l.need
		byKey[l.need.Key] = l
	}
	placed := make([]leaver, len(leaving))
	for i, m := range placement.Place(needs, rooms) {
		l := byKey[m.Key]
		l.item.To = m.To
		if m.To == "" {
			l.item.To = core.Parked
		}
		placed[i] = l
	}
	return placed
}

// runOf returns how many of the first requests have the same owner.
func runOf(leaving []leaver) int {
	n := 1
	for n < min(len(leaving), run) && leaving[n].owner == leaving[0].owner {
		n++
	}
	return n
}
