package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"drover/vmfactory/cgroup"
	"drover/vmfactory/confine"

	"drover/vmfactory/process"
	"drover/vmfactory/trace"

	"drover/core"
	"drover/core/agent"
	_ "drover/core/agent/boot"   // our executable is also the agent
	_ "drover/core/agent/boxrun" // and drover-run
	"drover/vmfactory/enter"
)

// startLimit is how long a VM may take to become ready.
const startLimit = 30 * time.Second

// Prepare starts the VM's first process and returns once its agent answers
// ready. Returns NOTFOUND for a VM that was not created, CONFLICT for one that
// was started before, BADVM if it does not become ready.
func (p *Provider) Prepare(ctx context.Context, id string) error {
	r, err := p.traces.Read(id)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(p.traces.Path(id), trace.FirstFile)); err == nil {
		return core.Errorf(core.CodeConflict, id, "VM %s was started before", id)
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if err := p.start(ctx, r); err != nil {
		return core.Wrap(err, core.CodeBadVM, id, "VM %s did not start%s", id, p.traces.LastWords(id))
	}
	if err := p.traces.Await(ctx, id); err != nil {
		return err
	}
	if p.owners.mode != singleMode && p.others()[r.Place] { // taken at the same moment by another VM
		return core.Errorf(core.CodeBadVM, id, "VM %s has users of the host that a VM of another run folder has", id)
	}
	return nil
}

// start starts the VM's first process. It waits for the sign to begin; if this process dies before sending it, the
// first process ends. It is recorded before, so that no process runs unrecorded.
func (p *Provider) start(ctx context.Context, r trace.Record) error {
	id := r.VM
	g := p.cgroups.at(p.cgroups.name(p.tag, id))
	if p.cgroups.any() {
		if err := g.Make(r.Pool.Limits, r.Pool.Limits.Cores(p.cfg.CPUs)); err != nil {
			return fmt.Errorf("make its cgroup: %w", err)
		}
	}
	folders, usage := g.Usage(cgroupsAt)
	plan, ground, err := p.plan(r, folders)
	if err != nil {
		return err
	}
	d, err := p.traces.Descriptors(id, p.lifeline[0])
	if err != nil {
		return err
	}
	defer d.Close()
	if d.Controls, err = g.Controls(); err != nil {
		return fmt.Errorf("open its cgroup: %w", err)
	}
	config, err := p.config(r, usage, d.Open())
	if err != nil {
		return err
	}
	pid, err := p.bear(ctx, d, g, r.Place, plan, ground)
	if err != nil {
		return err
	}
	if err := p.traces.NoteFirst(id, pid); err != nil {
		return fmt.Errorf("note its first process: %w", err)
	}
	return errors.Join(d.Config.Send(config), d.Begin.Send([]byte{1}))
}

// bear starts the first process, maps its users and puts it into its cgroup.
func (p *Provider) bear(ctx context.Context, d *trace.Descriptors, g cgroup.Group, place int, plan enter.Plan, on ground) (int, error) {
	born, err := g.Open()
	if err != nil {
		return 0, fmt.Errorf("open its cgroup: %w", err)
	}
	defer process.CloseFD(born)
	pid, err := p.spawn.start(d.Theirs(), born, plan, on)
	if err != nil {
		return 0, fmt.Errorf("make its namespaces: %w", err)
	}
	if err := p.owners.apply(ctx, pid, place); err != nil {
		return 0, fmt.Errorf("map its users: %w", err)
	}
	if err := g.Take(pid); err != nil {
		return 0, fmt.Errorf("put it into its cgroup: %w", err)
	}
	return pid, nil
}

// plan returns the steps by which the first process becomes the agent, on that ground.
func (p *Provider) plan(r trace.Record, cgroups []string) (enter.Plan, ground, error) {
	s := shape{host: r.VM, limits: r.Pool.Limits, oneUser: p.owners.mode == singleMode, cgroups: cgroups, laid: p.spawn.lays}
	on, err := p.grounds.tell(p.spawn.file())
	if err != nil {
		return enter.Plan{}, on, core.Wrap(err, core.CodeUnavailable, "", "cannot tell what of this machine's system a VM may see")
	}
	last, err := confine.Leave(r.VM, confine.Situation{OneUser: s.oneUser, Watched: p.grounds.watched, Pinned: len(r.Cores) > 0})
	return enter.Plan{Steps: slices.Concat(build(s, on), r.Pinned(), last)}, on, err
}

// config returns the agent's settings.
func (p *Provider) config(r trace.Record, usage agent.Cgroup, controls []int) ([]byte, error) {
	secret, err := os.ReadFile(filepath.Join(p.traces.Path(r.VM), agent.SecretFile))
	if err != nil {
		return nil, err
	}
	c := agent.Config{
		VM: r.VM, Secret: strings.TrimSpace(string(secret)), UID: jobID, GID: jobID, Limits: r.Pool.Limits,
		HeldBy: r.Held(p.heldBy()), Alone: true, Badge: true, Proc: true, Renews: unix.CLONE_NEWNET | unix.CLONE_NEWIPC, Lifeline: p.cfg.TieToProcess, Anchor: p.anchor,
		Scratch: scratch, Cgroup: usage, Controls: controls, BoxUID: boxID, BoxGID: boxID,
	}
	if p.owners.mode == singleMode {
		c.BoxUID, c.BoxGID = 0, 0
		if c.BoxBPF, err = confine.BoxFilter(); err != nil {
			return nil, err
		}
	}
	return c.Encode(), nil
}
