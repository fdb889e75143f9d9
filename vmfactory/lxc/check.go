package lxc

import (
	"context"

	"drover/core"
	"drover/vmfactory"
)

// Check asks the VM's agent whether it is ready and unused, and verifies that its limits are in force.
func (p *Provider) Check(ctx context.Context, id string) error {
	r, err := p.traces.Read(id)
	if err != nil {
		return core.Wrap(err, core.CodeBadVM, id, "VM %s is not whole", id)
	}
	if egress(r.Pool) { // another program may have flushed the host's rules
		if err := p.firewall.stand(ctx); err != nil {
			return core.Wrap(err, core.CodeBadVM, id, "the host's network cannot be closed to VM %s", id)
		}
	}
	if err := p.traces.Unused(ctx, id); err != nil {
		return err
	}
	if egress(r.Pool) { // its maker may have been killed before
		if err := p.link(r).name(); err != nil {
			return core.Wrap(err, core.CodeBadVM, id, "VM %s has no network", id)
		}
	}
	return p.limited(r)
}

// List reads the folders and asks each VM's agent for its state. VMs without a folder are found by their cgroups. It
// also removes folders that belong to no VM.
func (p *Provider) List(ctx context.Context) ([]vmfactory.Instance, error) {
	if err := p.traces.Sweep(); err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, "", "what dead VMs left cannot be removed")
	}
	strays := p.strays()
	all, err := p.traces.Survey(ctx, p.Check)
	for _, id := range strays {
		all = append(all, vmfactory.Instance{ID: id, Used: true})
	}
	return all, err
}
