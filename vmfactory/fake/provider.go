// Package fake is a provider without containers, for tests: a table of VMs with switches for everything that can go
// wrong with real ones.
package fake

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"drover/core"
	"drover/vmfactory"
)

// NoImage is the name of an image that does not exist.
const NoImage = "missing"

// Step is a method of the provider that can be broken.
type Step string

// The steps.
const (
	Ready   Step = "ready"
	Image   Step = "image"
	Create  Step = "create"
	Prepare Step = "prepare"
	Check   Step = "check"
	Destroy Step = "destroy"
	List    Step = "list"
)

// Fault is how a step misbehaves.
type Fault struct {
	Err   error         // what it returns
	After bool          // it does its work first and then returns Err
	Slow  time.Duration // it first waits so long
	Hang  bool          // it returns only when its context ends
	Deaf  bool          // it returns only when Free is called, whatever its context says
	Times int           // how many calls it hits; 0 is all until Mend
	VM    string        // hits this VM only; "" hits all
}

type vm struct {
	pool           core.Pool
	prepared, used bool
}

// Provider is a fake. All methods are safe for concurrent use.
type Provider struct {
	name string

	mu     sync.Mutex
	vms    map[string]*vm
	ever   int // VMs created
	faults map[Step]*Fault
	free   chan struct{}
	calls  map[Step]int
	active map[string]Step // VM → the call in progress
	wrong  []string        // violations of the provider's contract by the caller
	busy   int
	most   int
	closed bool
}

var _ vmfactory.Provider = (*Provider)(nil)

// New makes a provider of the given name.
func New(name string) *Provider {
	return &Provider{
		name: name, vms: make(map[string]*vm), faults: make(map[Step]*Fault), free: make(chan struct{}),
		calls: make(map[Step]int), active: make(map[string]Step),
	}
}

// Name implements vmfactory.Provider.
func (p *Provider) Name() string { return p.name }

// Ready implements vmfactory.Provider.
func (p *Provider) Ready(ctx context.Context) error {
	return p.step(ctx, Ready, "", func() error { return nil })
}

// Limits implements vmfactory.Provider: nothing is enforced.
func (p *Provider) Limits() []vmfactory.Limit {
	return []vmfactory.Limit{{Name: "memory", HeldBy: "cgroup"}}
}

// Image implements vmfactory.Provider.
func (p *Provider) Image(ctx context.Context, pool core.Pool) (string, error) {
	return "fake:" + pool.Image, p.step(ctx, Image, "", func() error {
		if pool.Image == NoImage {
			return core.Errorf(core.CodeNotFound, pool.Image, "there is no image %s", pool.Image)
		}
		return nil
	})
}

// Create implements vmfactory.Provider.
func (p *Provider) Create(ctx context.Context, id string, pool core.Pool) error {
	return p.step(ctx, Create, id, func() error {
		if p.vms[id] != nil {
			return core.Errorf(core.CodeConflict, id, "VM %s is there already", id)
		}
		p.vms[id] = &vm{pool: pool}
		p.ever++
		return nil
	})
}

// Prepare implements vmfactory.Provider.
func (p *Provider) Prepare(ctx context.Context, id string) error {
	return p.step(ctx, Prepare, id, func() error {
		v := p.vms[id]
		if v == nil {
			return core.Errorf(core.CodeBadVM, id, "VM %s vanished before it was ready", id)
		}
		v.prepared = true
		return nil
	})
}

// Check implements vmfactory.Provider.
func (p *Provider) Check(ctx context.Context, id string) error {
	return p.step(ctx, Check, id, func() error {
		if v := p.vms[id]; v == nil || !v.prepared || v.used {
			return core.Errorf(core.CodeBadVM, id, "VM %s is not ready and unused", id)
		}
		return nil
	})
}

// Destroy implements vmfactory.Provider.
func (p *Provider) Destroy(ctx context.Context, id string) error {
	return p.step(ctx, Destroy, id, func() error {
		delete(p.vms, id)
		return nil
	})
}

// List implements vmfactory.Provider.
func (p *Provider) List(ctx context.Context) ([]vmfactory.Instance, error) {
	var found []vmfactory.Instance
	err := p.step(ctx, List, "", func() error {
		for id, v := range p.vms {
			found = append(found, vmfactory.Instance{ID: id, Pool: v.pool.Name, Kind: v.pool.Kind(), Used: v.used || !v.prepared})
		}
		return nil
	})
	slices.SortFunc(found, func(a, b vmfactory.Instance) int { return strings.Compare(a.ID, b.ID) })
	return found, err
}

// Close implements vmfactory.Provider.
func (p *Provider) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	return nil
}

// step makes one call, with the fault that the test has set.
func (p *Provider) step(ctx context.Context, s Step, id string, work func() error) error {
	fault, free := p.begin(s, id)
	defer p.end(id)
	if err := fault.wait(ctx, free); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if fault.Err != nil && !fault.After {
		return fault.Err
	}
	if err := work(); err != nil {
		return err
	}
	return fault.Err
}

func (f Fault) wait(ctx context.Context, free <-chan struct{}) error {
	switch {
	case f.Deaf:
		<-free
		return core.Errorf(core.CodeUnavailable, "", "set free")
	case f.Hang:
		<-ctx.Done()
		return ctx.Err()
	case f.Slow > 0:
		select {
		case <-time.After(f.Slow):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return ctx.Err()
}

func (p *Provider) begin(s Step, id string) (Fault, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls[s]++
	if id != "" {
		if other, twice := p.active[id]; twice {
			p.wrong = append(p.wrong, fmt.Sprintf("%s during %s of VM %s", s, other, id))
		}
		p.active[id] = s
		p.busy++
		p.most = max(p.most, p.busy)
	}
	f := p.faults[s]
	if f == nil || (f.VM != "" && f.VM != id) {
		return Fault{}, p.free
	}
	hit := *f
	if f.Times > 0 {
		if f.Times--; f.Times == 0 {
			delete(p.faults, s)
		}
	}
	return hit, p.free
}

func (p *Provider) end(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if id != "" {
		delete(p.active, id)
		p.busy--
	}
}
