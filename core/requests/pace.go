package requests

import (
	"context"
	"slices"
	"sync"
	"time"

	"drover/core"
)

// Expected is how long a request may still wait, estimated from the durations of its pool's last requests and the VMs
// that it has now. It ignores later requests and VMs that are made or lost.
type Expected struct {
	Least time.Duration `json:"least_ns"` // if all before it take as long as the shortest quarter did
	Most  time.Duration `json:"most_ns"`  // if they take as long as nine out of ten did
	From  int           `json:"from"`     // number of requests that the estimate is based on
	VMs   int           `json:"vms"`      // number of VMs that the queue shares
}

// Bounds on the data of a pace.
const (
	paceRequests = 50        // the newest ended requests that are used
	paceLeast    = 5         // fewer give no estimate
	paceAge      = time.Hour // older ones are not used
)

// pace is how fast a pool works.
type pace struct {
	took []time.Duration // from claim to end, shortest first
	vms  int
}

// expect returns how long a request waits that has so many before it; nil if that is not known.
func (p pace) expect(least, most int) *Expected {
	if len(p.took) < paceLeast || p.vms < 1 {
		return nil
	}
	short, long := p.took[len(p.took)/4].Nanoseconds(), p.took[len(p.took)*9/10].Nanoseconds()
	return &Expected{Least: time.Duration(int64(least/p.vms) * short), Most: time.Duration(int64(most/p.vms+1) * long), From: len(p.took), VMs: p.vms}
}

// poolState is the state of a pool as it matters to waiting requests.
type poolState struct {
	at     time.Time
	reason Reason
	host   string // of the fault
	fault  string
	fails  int64 // when its waiting requests fail if the fault lasts, ms since 1970; 0: never
	pace   pace
	places []Places // in order of host; nil until a Preview asks
}

// known caches the states of pools for a moment.
type known struct {
	mu    sync.Mutex
	pools map[string]poolState
}

// maxKnown bounds the cached pools; there are few.
const maxKnown = 1000

// pool returns the state of a pool. Concurrent callers share one read.
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
	if s.reason, s.host, s.fault, err = d.trouble(ctx, name); err == nil && s.reason == ReasonBroken {
		err = d.failing(ctx, name, &s)
	}
	if err != nil || s.reason != ReasonTurn {
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
