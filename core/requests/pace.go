package requests

import (
	"context"
	"slices"
	"sync"
	"time"

	"drover/core"
)

// Expected is how long a request may still wait, from the durations of what its pool ran
// lately and the VMs that it has now. It tells neither of work that comes later nor of
// VMs that are made or lost.
type Expected struct {
	Least time.Duration `json:"least_ns"` // all before it take as long as the shorter quarter did
	Most  time.Duration `json:"most_ns"`  // they take as long as nine of ten did
	From  int           `json:"from"`     // how many requests were looked at
	VMs   int           `json:"vms"`      // that take turns
}

// Bounds on what a pace is made of.
const (
	paceRequests = 50        // newest ended ones that are looked at
	paceLeast    = 5         // fewer say nothing
	paceAge      = time.Hour // those that ended before say nothing
)

// pace is how fast a pool works.
type pace struct {
	took []time.Duration // from claim to end, the shortest first
	vms  int
}

// expect says how long a request waits that so many are before; nil if nobody can know.
func (p pace) expect(least, most int) *Expected {
	if len(p.took) < paceLeast || p.vms < 1 {
		return nil
	}
	short, long := p.took[len(p.took)/4].Nanoseconds(), p.took[len(p.took)*9/10].Nanoseconds()
	return &Expected{Least: time.Duration(int64(least/p.vms) * short), Most: time.Duration(int64(most/p.vms+1) * long), From: len(p.took), VMs: p.vms}
}

// poolState is what is known of a pool.
type poolState struct {
	at     time.Time
	reason Reason
	host   string // of the trouble
	fault  string
	pace   pace
}

// known keeps what is known of pools for a moment.
type known struct {
	mu    sync.Mutex
	pools map[string]poolState
}

// maxKnown bounds the pools that are kept; there are few.
const maxKnown = 1000

// pool says how a pool is. One call asks at a time: the others get its answer.
func (d *Service) pool(ctx context.Context, name string) (poolState, error) {
	if d.Keep == 0 {
		return d.look(ctx, name)
	}
	d.pools.mu.Lock()
	defer d.pools.mu.Unlock()
	if s, ok := d.pools.pools[name]; ok && d.now().Sub(s.at) < d.Keep {
		return s, nil
	}
	s, err := d.look(ctx, name)
	if err != nil {
		return s, err
	}
	if d.pools.pools == nil || len(d.pools.pools) >= maxKnown {
		d.pools.pools = map[string]poolState{}
	}
	d.pools.pools[name] = s
	return s, nil
}

func (d *Service) look(ctx context.Context, name string) (poolState, error) {
	s := poolState{at: d.now()}
	var err error
	if s.reason, s.host, s.fault, err = d.trouble(ctx, name); err != nil || s.reason != ReasonTurn {
		return s, err
	}
	s.pace, err = d.pace(ctx, name)
	return s, err
}

func (d *Service) pace(ctx context.Context, pool string) (pace, error) {
	var p pace
	rows, err := d.Store.List(ctx, core.Filter{
		Pool: pool, Limit: paceRequests,
		States: []core.RequestState{core.RequestCompleted, core.RequestFailed, core.RequestTimedOut},
	})
	if err != nil {
		return p, err
	}
	since := d.now().Add(-paceAge).UnixMilli()
	for i := range rows {
		if r := rows[i].Result; r != nil && r.Times.Claimed >= 0 && r.Times.Submitted+r.Times.Finished >= since {
			p.took = append(p.took, time.Duration(r.Times.Finished-r.Times.Claimed)*time.Millisecond)
		}
	}
	slices.Sort(p.took)
	if len(p.took) < paceLeast {
		return p, nil
	}
	vms, err := d.Cluster.ListVMs(ctx, "")
	for i := range vms {
		if vms[i].Pool == pool && vms[i].State != core.VMQuarantined && vms[i].State != core.VMLost {
			p.vms++
		}
	}
	return p, err
}
