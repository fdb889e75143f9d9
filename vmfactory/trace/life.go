package trace

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"drover/core"
	"drover/vmfactory/process"
)

// Create leaves a VM's folder with its record and secret. image says what file system a pool's VMs
// have, and take gives the VM its place. Returns what these two return, CONFLICT if the id
// is taken, INVALID for a pool that no provider takes.
func (s Set) Create(
	ctx context.Context, id string, pool core.Pool, image func(context.Context, core.Pool) (string, error), take func(id string) (int, error),
) error {
	if err := core.CheckName("VM", id); err != nil {
		return err
	}
	if err := pool.Check(); err != nil {
		return err
	}
	root, err := image(ctx, pool)
	if err != nil {
		return err
	}
	place, err := take(id)
	if err != nil {
		return err
	}
	err = s.Keep(Record{VM: id, Provider: s.Provider, Pool: pool, Image: root, Made: time.Now().UnixMilli(), Place: place})
	if err == nil || core.Is(err, core.CodeConflict) {
		return err
	}
	s.Places.Free(id)
	return core.Wrap(err, core.CodeUnavailable, id, "the folder of VM %s cannot be made", id)
}

// Destroy kills a VM's first process, then all that rest finds of the VM, and removes its folder
// last. One of another provider is left alone.
func (s Set) Destroy(ctx context.Context, id string, rest func(context.Context) error) error {
	if err := core.CheckName("VM", id); err != nil {
		return err
	}
	if s.Foreign(id) {
		return nil // not there
	}
	if err := s.end(ctx, id, rest); err != nil {
		return core.Wrap(err, core.CodeUnavailable, id, "VM %s cannot be destroyed", id)
	}
	s.Places.Free(id)
	return nil
}

func (s Set) end(ctx context.Context, id string, rest func(context.Context) error) error {
	// A note that cannot be read was cut when the machine lost its power; with it ended all that
	// it names. One that was started and not noted ends by itself: it never gets its plan.
	if who, err := s.First(id); err == nil {
		if err := who.Kill(ctx); err != nil {
			return err
		}
	}
	s.Reached("killed")
	if err := rest(ctx); err != nil {
		return err
	}
	s.Reached("ended")
	left, err := s.unname(id)
	if err != nil {
		return err
	}
	s.Reached("unnamed")
	return os.RemoveAll(left)
}

// Reached reports to Step how far a VM is.
func (s Set) Reached(name string) {
	if s.Step != nil {
		s.Step(name)
	}
}

// FirstFile of a VM's folder says which process on the host lives as long as the VM.
const FirstFile = "first.json"

// First returns that process.
func (s Set) First(id string) (process.Process, error) {
	var who process.Process
	err := ReadJSON(filepath.Join(s.Path(id), FirstFile), &who)
	return who, err
}

// NoteFirst keeps which process that is.
func (s Set) NoteFirst(id string, pid int) error {
	who, err := process.Identify(pid)
	if err != nil {
		return err
	}
	return WriteJSON(filepath.Join(s.Path(id), FirstFile), who)
}
