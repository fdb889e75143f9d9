package lxc

import "context"

// Destroy kills all that is in the VM and its monitor, and removes what it has on
// the host; the folder goes last. The monitor is not asked to do any of it.
func (p *Provider) Destroy(ctx context.Context, id string) error {
	// The container's first process dies with its monitor, by the kernel's hand.
	return p.traces.Destroy(ctx, id, func(ctx context.Context) error {
		if err := p.cgroups.end(ctx, p.tag, id); err != nil {
			return err
		}
		if r, err := p.traces.Read(id); err == nil && egress(r.Pool) {
			return p.link(r).forget()
		}
		return nil
	})
}
