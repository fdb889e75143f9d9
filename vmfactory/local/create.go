package local

import (
	"context"
	"strings"
	"time"

	"drover/vmfactory/trace"

	"drover/core"
)

// Create leaves the VM's folder with its record and secret. Returns CONFLICT if
// the id is taken, INVALID for a pool that cannot be made here.
func (p *Provider) Create(ctx context.Context, id string, pool core.Pool) error {
	if err := core.CheckName("VM", id); err != nil {
		return err
	}
	if err := pool.Check(); err != nil {
		return err
	}
	image, err := p.Image(ctx, pool)
	if err != nil {
		return err
	}
	place, err := p.takePlace(id)
	if err != nil {
		return err
	}
	err = p.traces.Keep(trace.Record{
		VM: id, Provider: Name, Pool: pool, Image: image, Made: time.Now().UnixMilli(), Place: place,
	})
	if err == nil {
		return nil
	}
	if core.Is(err, core.CodeConflict) {
		return err
	}
	p.places.Free(id)
	return core.Wrap(err, core.CodeUnavailable, id, "the folder of VM %s cannot be made", id)
}

// takePlace finds users of the host that no other VM has.
func (p *Provider) takePlace(id string) (int, error) {
	n := p.owners.places()
	if p.owners.mode == singleMode {
		return 0, nil
	}
	others := p.others()
	place, ok := p.places.Take(id, n, p.tag+id, func(place int) bool { return others[place] })
	if !ok {
		return 0, core.Errorf(core.CodeFull, id, "all %d users that VMs may have on this host are taken", n)
	}
	return place, nil
}

// others are the places whose users VMs of other run folders have, or of other
// providers. Where VMs have no cgroups nobody can tell.
func (p *Provider) others() map[int]bool {
	held := map[int]bool{}
	own := p.cgroups.name(p.tag, "")
	for _, u := range p.cgroups.host.Users(func(name string) bool { return strings.HasPrefix(name, cgroupPrefix) && !strings.HasPrefix(name, own) }) {
		for _, place := range p.owners.having(u) {
			held[place] = true
		}
	}
	return held
}
