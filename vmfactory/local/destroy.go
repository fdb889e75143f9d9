package local

import "context"

// Destroy kills the VM's first process, and so all in it, and removes what it
// has on the host; the folder goes last.
func (p *Provider) Destroy(ctx context.Context, id string) error {
	// Without cgroups what still lives without its folder ends by itself.
	return p.traces.Destroy(ctx, id, p.cgroups.at(p.cgroups.name(p.tag, id)).End)
}
