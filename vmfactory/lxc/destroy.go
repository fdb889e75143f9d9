package lxc

import (
	"context"
	"os"
	"path/filepath"

	"drover/core"
	"drover/vmfactory/process"
	"drover/vmfactory/trace"
)

// Destroy kills all that is in the VM and its monitor, and removes what it has on
// the host; the folder goes last. The monitor is not asked to do any of it.
func (p *Provider) Destroy(ctx context.Context, id string) error {
	if err := core.CheckName("VM", id); err != nil {
		return err
	}
	if p.traces.Foreign(id) {
		return nil // not there
	}
	if err := p.end(ctx, id); err != nil {
		return core.Wrap(err, core.CodeUnavailable, id, "VM %s cannot be destroyed", id)
	}
	p.places.Free(id)
	return nil
}

func (p *Provider) end(ctx context.Context, id string) error {
	// A note that cannot be read was cut when the machine lost its power; with it ended all that it names.
	if who, err := p.monitor(id); err == nil {
		// The container's first process dies with its monitor, by the kernel's hand.
		if err := who.Kill(ctx); err != nil {
			return err
		}
	}
	p.step("killed")
	// One that was started and not noted ends by itself: it never gets its plan.
	if err := p.cgroups.end(ctx, p.tag, id); err != nil {
		return err
	}
	if r, err := p.traces.Read(id); err == nil && egress(r.Pool) {
		if err := p.link(r).forget(); err != nil {
			return err
		}
	}
	p.step("ended")
	left, err := p.traces.Unname(id)
	if err != nil {
		return err
	}
	p.step("unnamed")
	return os.RemoveAll(left)
}

// monitor returns the VM's monitor.
func (p *Provider) monitor(id string) (process.Process, error) {
	var who process.Process
	err := trace.ReadJSON(filepath.Join(p.traces.Path(id), monitorFile), &who)
	return who, err
}
