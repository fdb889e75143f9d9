package local

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"drover/vmfactory/process"
	"drover/vmfactory/trace"

	"drover/core"
)

// Destroy kills the VM's first process, and so all in it, and removes what it
// has on the host; the folder goes last.
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
	// A note that cannot be read was cut when the machine lost its power; with it
	// ended all that it names. One that was started and not noted ends by itself: it
	// never gets its plan. So does, without its folder, whatever lives all the same.
	if who, err := p.init(id); err == nil {
		if err := who.Kill(ctx); err != nil {
			return err
		}
	}
	if err := p.cgroups.at(p.cgroups.name(p.tag, id)).End(ctx); err != nil {
		return err
	}
	left, err := p.traces.Unname(id)
	return errors.Join(err, os.RemoveAll(left))
}

// InitFile of a VM's folder says which process is its first.
const InitFile = "init.json"

// init returns the VM's first process.
func (p *Provider) init(id string) (process.Process, error) {
	var who process.Process
	err := trace.ReadJSON(filepath.Join(p.traces.Path(id), InitFile), &who)
	return who, err
}
