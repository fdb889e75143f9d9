package lxc

import "context"

// Destroy kills all processes in the VM and its monitor, and removes everything of it from the host, its folder last.
// It needs no help from the monitor.
func (p *Provider) Destroy(ctx context.Context, id string) error {
	// The kernel kills the container's first process together with its monitor.
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
