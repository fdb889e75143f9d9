package local

import (
	"context"

	"drover/core"
	"drover/vmfactory"
)

// Check asks the VM's agent whether it is ready and alone.
func (p *Provider) Check(ctx context.Context, id string) error {
	if _, err := p.traces.Read(id); err != nil {
		return core.Wrap(err, core.CodeBadVM, id, "VM %s is not whole", id)
	}
	return p.traces.Unused(ctx, id, p.init)
}

// List looks at the folders and asks each VM's agent what became of it.
func (p *Provider) List(ctx context.Context) ([]vmfactory.Instance, error) {
	return p.traces.Survey(ctx, p.Check)
}
