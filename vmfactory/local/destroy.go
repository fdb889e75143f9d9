package local

import (
	"context"
	"errors"
	"io/fs"
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
	folder := p.traces.Path(id)
	if _, err := os.Lstat(filepath.Join(folder, trace.RecordFile)); err == nil {
		if err := p.endInit(ctx, id); err != nil {
			return err
		}
	}
	if err := p.cgroups.at(p.cgroups.name(p.tag, id)).End(ctx); err != nil {
		return err
	}
	left, err := p.traces.Unname(id)
	return errors.Join(err, os.RemoveAll(left))
}

// endInit kills the first process, if there was one. One that was started and
// not noted ends by itself: it never gets its plan.
func (p *Provider) endInit(ctx context.Context, id string) error {
	who, err := p.init(id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return who.Kill(ctx)
}

// InitFile of a VM's folder says which process is its first.
const InitFile = "init.json"

// init returns the VM's first process.
func (p *Provider) init(id string) (process.Process, error) {
	var who process.Process
	err := trace.ReadJSON(filepath.Join(p.traces.Path(id), InitFile), &who)
	return who, err
}
