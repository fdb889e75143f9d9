package fake

import (
	"maps"
	"slices"

	"drover/core"
)

// Break makes a step misbehave from now on, in place of an earlier fault.
func (p *Provider) Break(s Step, f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults[s] = &f
}

// Fail makes a step return a BADVM error from now on.
func (p *Provider) Fail(s Step) {
	p.Break(s, Fault{Err: core.Errorf(core.CodeBadVM, "", "the test broke %s", s)})
}

// Mend makes a step work again.
func (p *Provider) Mend(s Step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.faults, s)
}

// Free lets all deaf calls return.
func (p *Provider) Free() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.free)
	p.free = make(chan struct{})
}

// Put places a VM of a pool with default settings on the host behind the caller's back.
func (p *Provider) Put(id, pool string, prepared, used bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	of := core.DefaultPool(pool)
	of.Provider = p.name
	p.vms[id] = &vm{pool: of, prepared: prepared, used: used}
}

// Vanish makes VMs disappear without a call.
func (p *Provider) Vanish(ids ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range ids {
		delete(p.vms, id)
	}
}

// Use marks a VM as assigned, as its agent would. Returns BADVM if it does not exist and CONFLICT if it was used
// before.
func (p *Provider) Use(id string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	v := p.vms[id]
	switch {
	case v == nil || !v.prepared:
		return core.Errorf(core.CodeBadVM, id, "VM %s does not answer", id)
	case v.used:
		return core.Errorf(core.CodeConflict, id, "VM %s was used before", id)
	}
	v.used = true
	return nil
}

// VMs lists the VMs on the host.
func (p *Provider) VMs() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.vms))
}

// Calls counts the calls of a step.
func (p *Provider) Calls(s Step) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls[s]
}

// Created counts all VMs that were ever created.
func (p *Provider) Created() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ever
}

// Most is the largest number of calls about VMs that ran at once.
func (p *Provider) Most() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.most
}

// Wrong lists violations of the provider's contract by the caller: two calls about one VM at once.
func (p *Provider) Wrong() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.wrong)
}
