package lxc

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"drover/core"
	"drover/core/guest"
	"drover/core/guest/wire"
	"drover/vmfactory"
)

// Check asks the VM's agent whether it is ready and alone.
func (p *Provider) Check(ctx context.Context, id string) error {
	r, err := p.traces.Read(id)
	if err != nil {
		return core.Wrap(err, core.CodeBadVM, id, "VM %s is not whole", id)
	}
	if egress(r.Pool) { // others may have flushed the host's rules
		if err := p.firewall.stand(ctx); err != nil {
			return core.Wrap(err, core.CodeBadVM, id, "the host's network cannot be closed to VM %s", id)
		}
	}
	who, err := p.monitor(id)
	if err != nil {
		return core.Wrap(err, core.CodeBadVM, id, "VM %s was never started", id)
	}
	alive, err := who.Alive()
	if err != nil {
		return core.Wrap(err, core.CodeBadVM, id, "the monitor of VM %s cannot be looked at", id)
	}
	if !alive {
		return core.Errorf(core.CodeBadVM, id, "VM %s is dead%s", id, p.lastWords(id))
	}
	status, err := p.status(ctx, id)
	switch {
	case err != nil:
		return core.Wrap(err, core.CodeBadVM, id, "the agent of VM %s does not answer", id)
	case status.State != wire.Ready:
		return core.Errorf(core.CodeBadVM, id, "VM %s was used: it is %s", id, status.State)
	case status.Processes > 0:
		return core.Errorf(core.CodeBadVM, id, "VM %s has %d processes beside its agent", id, status.Processes)
	}
	return nil
}

func (p *Provider) status(ctx context.Context, id string) (guest.Status, error) {
	c, err := guest.Dial(p.traces.Path(id))
	if err != nil {
		return guest.Status{}, err
	}
	defer c.Close()
	return c.Status(ctx)
}

// List looks at the folders and asks each VM's agent what became of it. VMs that
// have no folder any more are found by their cgroups.
func (p *Provider) List(ctx context.Context) ([]vmfactory.Instance, error) {
	strays := p.strays()
	ids, err := p.traces.Found()
	if err != nil {
		return nil, err
	}
	const (
		atOnce  = 16
		patient = 2 * time.Second // with one agent
	)
	var mu sync.Mutex
	all := make([]vmfactory.Instance, 0, len(ids)+len(strays))
	for _, id := range strays {
		all = append(all, vmfactory.Instance{ID: id, Used: true})
	}
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, id := range ids {
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, patient)
			defer cancel()
			one := vmfactory.Instance{ID: id, Used: true}
			if r, err := p.traces.Read(id); err == nil {
				one.Pool, one.Used = r.Pool.Name, p.Check(ctx, id) != nil
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, one)
			return nil
		})
	}
	_ = group.Wait() // none returns an error
	return all, ctx.Err()
}
