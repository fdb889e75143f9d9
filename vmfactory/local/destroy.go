package local

import "context"

// Destroy kills the VM's first process, and thereby all processes in it, and removes everything of it from the host,
// its folder last.
func (p *Provider) Destroy(ctx context.Context, id string) error {
	// Without cgroups, processes that are left end by themselves once the folder is gone.
	return p.traces.Destroy(ctx, id, p.cgroups.at(p.cgroups.name(p.tag, id)).End)
}
