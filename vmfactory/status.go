package vmfactory

import (
	"errors"
	"maps"
	"sync"

	"drover/core"
)

// Status is what a vmfactory reports to operators.
type Status struct {
	Epoch     int64                 `json:"epoch"`
	Surveyed  bool                  `json:"surveyed"` // Redis was reconciled with the host
	Draining  bool                  `json:"draining"`
	Providers map[string]string     `json:"providers"` // name → what is missing; "" if ready
	Pools     map[string]PoolStatus `json:"pools"`
}

// PoolStatus is the state of one pool on the host.
type PoolStatus struct {
	Target      int    `json:"target"`
	Clean       int    `json:"clean"`
	Creating    int    `json:"creating"`
	InUse       int    `json:"in_use"`
	Dirty       int    `json:"dirty"`
	Quarantined int    `json:"quarantined"`
	Broken      bool   `json:"broken"`           // no VM can be made
	Fetching    bool   `json:"fetching"`         // no VM can be made yet, because its image is being fetched
	Reason      string `json:"reason,omitempty"` // why not, or the last failure
}

// board holds the last status.
type board struct {
	mu   sync.Mutex
	last Status
}

func (b *board) show(s Status) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = s
}

// Status returns the state of the factory and its pools at the last look.
func (f *Factory) Status() Status {
	f.board.mu.Lock()
	defer f.board.mu.Unlock()
	s := f.board.last
	s.Providers, s.Pools = maps.Clone(s.Providers), maps.Clone(s.Pools)
	return s
}

// statuses describes all served pools, including those that Redis does not know.
func (e *epoch) statuses(loads []core.PoolLoad, moves []move) Status {
	s := Status{
		Epoch: e.n, Surveyed: e.surveyed, Draining: e.draining,
		Providers: make(map[string]string), Pools: make(map[string]PoolStatus),
	}
	for _, name := range e.names {
		s.Providers[name] = ""
		if err := e.absent[name]; err != nil {
			s.Providers[name] = err.Error()
		}
	}
	e.metrics.broken.Reset()
	for _, name := range e.serving() {
		s.Pools[name] = PoolStatus{Broken: true, Reason: "nobody set the pool: use drover pool set " + name}
	}
	for i, l := range loads {
		ps := e.pools[l.Pool.Name]
		p := PoolStatus{
			Target: moves[i].target, Clean: l.Clean, Creating: l.Creating, InUse: l.InUse, Dirty: l.Dirty, Quarantined: l.Quarantined,
			Broken: ps.broken, Fetching: ps.fetching, Reason: ps.reason,
		}
		if why := e.unfit(l.Pool); why != "" {
			p.Reason = why
		} else if why := e.unmakeable(l.Pool); why != "" {
			p.Fetching = errors.Is(e.unproved(l.Pool), ErrFetching)
			p.Broken, p.Reason = !p.Fetching, why
		}
		s.Pools[l.Pool.Name] = p
	}
	for name, p := range s.Pools {
		broken := 0.0
		if p.Broken {
			broken = 1
		}
		e.metrics.broken.Set(broken, name)
	}
	return s
}
