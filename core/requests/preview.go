package requests

import (
	"context"
	"fmt"

	"drover/core"
)

// Preview is what a request would meet if it was submitted now.
type Preview struct {
	Waiting

	Ready int      `json:"ready"`           // clean VMs that a request could take
	More  int      `json:"more"`            // VMs that hosts could make beyond those there are
	Hosts []Places `json:"hosts,omitempty"` // the same by host, for operators
}

// Places are what a host that takes work has of a pool.
type Places struct {
	Host  string `json:"host"`
	Ready int    `json:"ready"`
	More  int    `json:"more"`
}

// AtOnce reports whether the request would start without waiting.
func (p *Preview) AtOnce() bool {
	return p.Reason == ReasonTurn && p.Ready > 0 && p.Ahead != nil && *p.Ahead == 0
}

// Preview returns whether a request would be accepted, where it would fit, and how soon it would run. Nothing is
// submitted, and files are not looked at. Returns the errors with which Submit would refuse it, FULL included.
func (d *Service) Preview(ctx context.Context, a core.Actor, draft Draft) (Preview, error) {
	spec, err := d.draft(a, draft)
	if err == nil {
		spec, err = d.typed(ctx, spec)
	}
	if err != nil {
		return Preview{}, err
	}
	if spec, err = d.check(ctx, spec); err != nil {
		return Preview{}, err
	}
	if err := d.Cluster.Room(ctx, spec); err != nil && !core.Is(err, core.CodeNotFound) {
		return Preview{}, err
	}
	pool, err := d.pool(ctx, spec.Pool)
	if err != nil {
		return Preview{}, err
	}
	p := Preview{Waiting: Waiting{Reason: pool.reason}}
	places, err := d.places(ctx, spec.Pool, pool)
	if err != nil {
		return Preview{}, err
	}
	for _, at := range places {
		p.Ready += at.Ready
		p.More += at.More
	}
	if watches(a) {
		p.Hosts = places
	}
	if err := d.queue(ctx, &p, &spec, pool.pace); err != nil {
		return Preview{}, err
	}
	switch {
	case p.AtOnce():
		p.Text = "it would start at once"
	case p.Reason == ReasonTurn:
		p.Text = fmt.Sprintf("it would wait for its turn and a VM of pool %s", spec.Pool)
	default:
		p.Text = "it would wait: " + d.wording(p.Reason, pool.fails, &spec, core.Place{Assigned: pool.host}, pool.fault, watches(a))
	}
	return p, nil
}

// queue says what waits before a request that would come last of its submitter's: at least one of each other
// submitter, at most all of its priority.
func (d *Service) queue(ctx context.Context, p *Preview, spec *core.Spec, pace pace) error {
	queues, err := d.Cluster.Waiting(ctx)
	if err != nil {
		return err
	}
	least, most := core.Preceding{Waiting: map[core.Priority]int{}}, core.Preceding{Waiting: map[core.Priority]int{}}
	for _, q := range queues {
		if q.Pool != spec.Pool {
			continue
		}
		least.Waiting[q.Priority], most.Waiting[q.Priority] = q.Waiting, q.Waiting
		if q.Priority == spec.Priority {
			least.Turns, most.Turns = min(q.Submitters, q.Waiting), q.Waiting
		}
	}
	ahead, all := before(least, spec.Priority), before(most, spec.Priority)
	p.Ahead, p.AtLeast = &ahead, all > ahead
	if p.Reason == ReasonTurn {
		p.Expected = pace.expect(ahead, all)
	}
	return nil
}

// places returns what the hosts have of a pool, from the cached state of the pool if that has it.
func (d *Service) places(ctx context.Context, name string, state poolState) ([]Places, error) {
	if state.places != nil {
		return state.places, nil
	}
	p, err := d.Cluster.GetPool(ctx, name)
	if core.Is(err, core.CodeNotFound) { // Redis has lost it, and gets it back
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	rooms, _, err := d.Cluster.Rooms(ctx)
	if err != nil {
		return nil, err
	}
	all := []Places{}
	for _, r := range rooms {
		if its, serves := r.Pools[name]; serves {
			all = append(all, Places{Host: r.Host, Ready: its.Idle, More: r.Holds(p.Size(), its.More)})
		}
	}
	d.pools.mu.Lock()
	defer d.pools.mu.Unlock()
	if s, ok := d.pools.pools[name]; ok && s.at.Equal(state.at) {
		s.places = all
		d.pools.pools[name] = s
	}
	return all, nil
}
