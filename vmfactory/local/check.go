package local

import (
	"context"

	"drover/core"
	"drover/vmfactory"
)

// Check asks the VM's agent whether it is ready and unused, and verifies that the cgroups of its job exist, with
// their limits.
func (p *Provider) Check(ctx context.Context, id string) error {
	r, err := p.traces.Read(id)
	if err != nil {
		return core.Wrap(err, core.CodeBadVM, id, "VM %s is not whole", id)
	}
	if err := p.traces.Unused(ctx, id); err != nil {
		return err
	}
	err = p.cgroups.at(p.cgroups.name(p.tag, id)).InForce(r.Pool.Limits, r.Pool.Limits.Cores(p.cfg.CPUs))
	return core.Wrap(err, core.CodeBadVM, id, "VM %s has lost its limits", id)
}

// List reads the folders and asks each VM's agent for its state.
func (p *Provider) List(ctx context.Context) ([]vmfactory.Instance, error) {
	return p.traces.Survey(ctx, p.Check)
}
