package trace

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"drover/core"
	"drover/core/agent"
	"drover/core/agent/wire"
	"drover/vmfactory"
)

// Await waits for the first answer of a VM's agent. The socket accepts the call before the agent is ready, and closes
// it when its last holder is dead. The client gives up a silent agent; an agent that is still starting on a busy
// machine is silent too, so it gets a second chance. Returns BADVM if the agent does not become ready.
func (s Set) Await(ctx context.Context, id string) error {
	status, err := s.status(ctx, id)
	if err != nil && ctx.Err() == nil {
		who, lost := s.First(id)
		if alive, unknown := who.Alive(); lost == nil && unknown == nil && alive {
			status, err = s.status(ctx, id)
		}
	}
	if err != nil {
		return core.Wrap(err, core.CodeBadVM, id, "VM %s did not become ready%s", id, s.LastWords(id))
	}
	if status.State != wire.Ready {
		return core.Errorf(core.CodeBadVM, id, "VM %s is %s right after its start", id, status.State)
	}
	return nil
}

// Unused asks the agent of a VM whether it is ready and unused. Returns BADVM with the reason if it is not.
func (s Set) Unused(ctx context.Context, id string) error {
	who, err := s.First(id)
	if err != nil {
		return core.Wrap(err, core.CodeBadVM, id, "VM %s was never started", id)
	}
	alive, err := who.Alive()
	if err != nil {
		return core.Wrap(err, core.CodeBadVM, id, "the process of VM %s cannot be looked at", id)
	}
	if !alive {
		return core.Errorf(core.CodeBadVM, id, "VM %s is dead%s", id, s.LastWords(id))
	}
	status, err := s.status(ctx, id)
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

func (s Set) status(ctx context.Context, id string) (agent.Status, error) {
	c, err := agent.Dial(s.Path(id))
	if err != nil {
		return agent.Status{}, err
	}
	defer c.Close()
	return c.Status(ctx)
}

// Survey lists the VMs in the folders, with their states by check.
func (s Set) Survey(ctx context.Context, check func(ctx context.Context, id string) error) ([]vmfactory.Instance, error) {
	ids, err := s.Found()
	if err != nil {
		return nil, err
	}
	const (
		atOnce  = 16
		patient = 2 * time.Second // with one agent
	)
	var mu sync.Mutex
	all := make([]vmfactory.Instance, 0, len(ids))
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, id := range ids {
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, patient)
			defer cancel()
			one := vmfactory.Instance{ID: id, Used: true}
			if r, err := s.Read(id); err == nil {
				one.Pool, one.Kind, one.Used = r.Pool.Name, r.Pool.Kind(), check(ctx, id) != nil
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

// LogFile has the output of a VM's first process, in its folder.
const LogFile = "agent.log"

// LastWords returns the end of a VM's log after a failed start, formatted for the end of a sentence.
func (s Set) LastWords(id string) string {
	f, err := os.Open(filepath.Join(s.Path(id), LogFile))
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // nothing was written
	if words := Hear(f); words != "" {
		return " (" + words + ")"
	}
	return ""
}
