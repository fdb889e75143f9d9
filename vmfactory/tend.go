package vmfactory

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"time"

	"drover/core"
)

// create brings the pools to their targets, as far as there is room: it retires the surplus and begins missing VMs.
func (e *epoch) create(ctx context.Context) error {
	load, err := e.vms.Load(ctx, e.host(), e.serving())
	if err != nil {
		return err
	}
	loads := load.Pools
	e.settings = load.Settings
	pools := make([]demand, len(loads))
	for i, l := range loads {
		ps := e.pools[l.Pool.Name]
		pools[i] = demand{PoolLoad: l, most: e.most(ps, l), turn: ps.turn}
	}
	_, busy := e.running()
	begin := e.cfg.Parallel - busy
	if e.unknown > 0 {
		begin = 0
	}
	moves, err := e.share(ctx, load, pools, e.room(loads), begin)
	if err != nil {
		return err
	}
	e.metrics.observe(loads, moves)
	status := e.statuses(loads, moves)
	e.board.show(status)
	if !e.surveyed || !load.Ready { // a Redis that was restored does not count what was made since: it would be made again
		return nil
	}
	if err := e.report(ctx, status, loads); err != nil {
		return err
	}
	e.tryProviders(loads)
	for i, m := range moves {
		if err := e.retireOutdated(ctx, loads[i].Pool); err != nil {
			return err
		}
		if e.failed(loads[i].Pool.Provider) != "" || loads[i].Pool.Wants(e.settings.Labels) != "" {
			m.retire = loads[i].Clean // made by an earlier vmfactory, or before the labels changed
		}
		if err := e.retire(ctx, m); err != nil {
			return err
		}
		if m.create > 0 {
			if err := e.startCreate(ctx, loads[i].Pool, m.create); err != nil {
				return err
			}
		}
	}
	return nil
}

// share plans. What overseers decided of late replaces what the pools keep warm on each host. If that includes the
// waiting work, it is all; else as much of this work counts as other hosts do not make VMs for already.
func (e *epoch) share(ctx context.Context, load core.HostLoad, pools []demand, whole room, begin int) ([]move, error) {
	if load.Targets != nil {
		for i := range pools {
			d := &pools[i]
			target := load.Targets[d.Pool.Name]
			d.Pool.Warm = min(target.Warm, d.Pool.Max)
			if load.Placed {
				d.Waiting = max(0, min(d.Waiting, target.Most-d.InUse-d.Quarantined))
			}
		}
	}
	moves := plan(pools, whole, begin)
	if load.Placed {
		clear(e.promised) // those that are not renewed expire
		return moves, nil
	}
	if !e.surveyed || !load.Ready {
		return moves, nil // nothing is made yet
	}
	var wants []core.VMWant
	var of []int
	for i := range pools {
		d := &pools[i]
		more := max(0, moves[i].target-enough(d))
		if more > 0 || e.promised[d.Pool.Name] {
			wants, of = append(wants, core.VMWant{Pool: d.Pool.Name, Clean: d.Clean, Creating: d.Creating, More: more}), append(of, i)
		}
	}
	if len(wants) == 0 {
		return moves, nil
	}
	granted, err := e.vms.Promise(ctx, e.host(), wants)
	if err != nil {
		return nil, err
	}
	for j, i := range of {
		d := &pools[i]
		e.promised[d.Pool.Name] = granted[j]+d.Creating > 0
		if granted[j] < wants[j].More {
			d.Waiting = enough(d) + granted[j]
		}
	}
	return plan(pools, whole, begin), nil
}

// enough returns how many clean VMs, made and in creation, a pool has or needs even without waiting work.
func enough(d *demand) int { return max(d.Clean+d.Creating, d.Pool.Warm) }

// maxReason bounds the reason of a broken pool in Redis, in bytes; the log has all of it.
const maxReason = 300

func cut(reason string) string {
	return strings.ToValidUTF8(reason[:min(len(reason), maxReason)], "")
}

// report lets operators see in Redis how the host fares, when that changes.
func (e *epoch) report(ctx context.Context, s Status, loads []core.PoolLoad) error {
	notes := core.HostNotes{Broken: make(map[string]string), Fetching: make(map[string]string), Providers: e.notes(), MaxVMs: e.cfg.MaxVMs, Takes: make(map[string]int64)}
	for name, p := range s.Pools {
		switch {
		case p.Fetching:
			notes.Fetching[name] = cut(p.Reason)
		case p.Broken:
			notes.Broken[name] = cut(p.Reason)
		}
	}
	for i := range loads {
		p := &loads[i].Pool
		if p.Wants(e.settings.Labels) == "" {
			notes.Serves = append(notes.Serves, p.Name)
		}
		if took := e.pools[p.Name].reports(); took > 0 {
			notes.Takes[p.Name] = took.Milliseconds()
		}
	}
	slices.Sort(notes.Serves)
	if e.reported != nil && reflect.DeepEqual(*e.reported, notes) {
		return nil
	}
	if err := e.vms.Note(ctx, e.owner(), e.n, e.host(), notes); err != nil {
		return err
	}
	e.reported = &notes
	return nil
}

// most returns how many creations of a pool may begin now.
func (e *epoch) most(ps *poolState, l core.PoolLoad) int {
	if e.draining || e.untried(l.Pool.Provider) || len(e.withheld) > 0 || e.unfit(l.Pool) != "" || e.unmakeable(l.Pool) != "" {
		return 0
	}
	return ps.most(e.clock.Now(), e.creating(ps.name))
}

// unmakeable returns why the pool's provider cannot make VMs here; "" if it can.
func (e *epoch) unmakeable(p core.Pool) string {
	if e.providers[p.Provider] == nil {
		return "provider " + p.Provider + " is not set up on this host: start the vmfactory with --provider " + p.Provider
	}
	if err := e.absent[p.Provider]; err != nil {
		return "provider " + p.Provider + " is not ready: " + err.Error()
	}
	if why := e.failed(p.Provider); why != "" {
		return why
	}
	if err := e.unproved(p); err != nil {
		return err.Error()
	}
	return ""
}

// retire destroys surplus clean VMs: at once if another pool's work needs the room, otherwise after a while.
func (e *epoch) retire(ctx context.Context, m move) error {
	ps := e.pools[m.pool]
	n := m.retire
	now := e.clock.Now()
	switch {
	case m.surplus == 0:
		ps.surplusSince = time.Time{}
	case ps.surplusSince.IsZero():
		ps.surplusSince = now
	case now.Sub(ps.surplusSince) >= e.cfg.SurplusAfter:
		n += m.surplus
	}
	if n == 0 {
		return nil
	}
	clean, err := e.vms.CleanVMs(ctx, e.host(), m.pool)
	if err != nil {
		return err
	}
	// The oldest are claimed first; take the others.
	clean = clean[max(0, len(clean)-n):]
	taken, err := e.vms.Retire(ctx, e.owner(), e.n, e.host(), clean)
	if err != nil {
		return err
	}
	e.log.WithField("pool", m.pool).WithField("vms", len(taken)).Debug("retired clean VMs that are too many")
	if len(taken) > 0 {
		e.again()
	}
	return nil
}

// retireOutdated destroys clean VMs that were made with earlier settings of the pool: requests are checked against
// the new settings and must not run under the old. A newer image of the same name does not count.
func (e *epoch) retireOutdated(ctx context.Context, p core.Pool) error {
	e.pools[p.Name].sets(p.Kind())
	outdated := e.homes.outdated(p)
	if len(outdated) == 0 {
		return nil
	}
	taken, err := e.vms.Retire(ctx, e.owner(), e.n, e.host(), outdated)
	if err != nil || len(taken) == 0 {
		return err
	}
	e.log.WithField("pool", p.Name).WithField("vms", len(taken)).Info("destroying clean VMs that were made with earlier settings of the pool")
	e.again()
	return nil
}

// again makes the loop look once more without waiting.
func (e *epoch) again() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}
