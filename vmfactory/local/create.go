package local

import (
	"context"
	"strings"

	"drover/core"
)

// Create makes the VM's folder with its record and secret. Returns CONFLICT if the id is taken, INVALID for a pool
// that cannot be made here.
func (p *Provider) Create(ctx context.Context, id string, pool core.Pool) error {
	return p.traces.Create(ctx, id, pool, p.Image, p.takePlace)
}

// takePlace returns a place whose users no other VM has.
func (p *Provider) takePlace(id string) (int, error) {
	if p.owners.mode == singleMode {
		return 0, nil
	}
	return p.traces.Places.Take(id, p.owners.places(), p.tag+id, p.others())
}

// others returns the places whose users belong to VMs of other run folders or providers. If VMs have no cgroups, that
// is not known.
func (p *Provider) others() map[int]bool {
	held := map[int]bool{}
	own := p.cgroups.name(p.tag, "")
	for _, u := range p.census.Users(func(name string) bool { return strings.HasPrefix(name, cgroupPrefix) && !strings.HasPrefix(name, own) }) {
		for _, place := range p.owners.having(u) {
			held[place] = true
		}
	}
	return held
}
