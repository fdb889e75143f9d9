package trace

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"drover/core"
	"drover/vmfactory/process"
)

// Create makes a VM's folder with its record and secret. Image returns the file system of a pool's VMs, and take
// gives the VM its place. Returns their errors, CONFLICT if the id is taken, INVALID for a pool that no provider
// accepts.
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
	err = s.keepOnCores(Record{VM: id, Provider: s.Provider, Pool: pool, Image: root, Made: time.Now().UnixMilli(), Place: place})
	if err == nil || core.Is(err, core.CodeConflict) {
		return err
	}
	s.Places.Free(id)
	return core.Wrap(err, core.CodeUnavailable, id, "the folder of VM %s cannot be made", id)
}

// Destroy kills a VM's first process, then calls rest to end everything else of it, and removes its folder last. A VM
// of another provider is left alone.
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
	// An unreadable note was truncated when the machine lost power, which also ended its process. A process that was
	// started but not noted ends by itself: it never gets its plan.
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

// Reached calls Step, for tests.
func (s Set) Reached(name string) {
	if s.Step != nil {
		s.Step(name)
	}
}

// FirstFile in a VM's folder identifies the process on the host that lives as long as the VM.
const FirstFile = "first.json"

// First returns that process.
func (s Set) First(id string) (process.Process, error) {
	var who process.Process
	err := ReadJSON(filepath.Join(s.Path(id), FirstFile), &who)
	return who, err
}

// NoteFirst records that process.
func (s Set) NoteFirst(id string, pid int) error {
	who, err := process.Identify(pid)
	if err != nil {
		return err
	}
	return WriteJSON(filepath.Join(s.Path(id), FirstFile), who)
}
