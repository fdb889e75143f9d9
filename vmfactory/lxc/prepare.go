package lxc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"drover/core"
	"drover/core/agent"
	"drover/core/agent/wire"
	"drover/vmfactory/enter"
	"drover/vmfactory/trace"
)

// startLimit is how long a VM may take to become ready.
const startLimit = 30 * time.Second

// configFile is the file in a VM's folder for liblxc.
const configFile = "lxc.conf"

// Create makes the VM's folder with its record and secret. Returns CONFLICT if the id is taken, INVALID for a pool
// that cannot be made here, and the errors of the image store.
func (p *Provider) Create(ctx context.Context, id string, pool core.Pool) error {
	return p.traces.Create(ctx, id, pool, p.Image, p.takePlace)
}

// Prepare starts the container and returns once its agent answers ready and its limits are verified to be in force.
// Returns NOTFOUND for a VM that was not created, CONFLICT for one that was started before, BADVM if it does not
// become ready.
func (p *Provider) Prepare(ctx context.Context, id string) error {
	r, err := p.traces.Read(id)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(p.traces.Path(id), configFile)); err == nil {
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
	if l := p.link(r); l != nil {
		in, err := p.cgroups.of(p.tag, id).Members(initName)
		if err == nil {
			err = errors.Join(l.name(), l.narrow(ctx, in))
		}
		if err != nil {
			return core.Wrap(err, core.CodeBadVM, id, "VM %s has no network", id)
		}
	}
	p.traces.Reached("ready")
	if p.others()[r.Place] { // taken at the same moment by another VM
		return core.Errorf(core.CodeBadVM, id, "VM %s has users of the host that a VM of another run folder has", id)
	}
	return p.limited(r)
}

// limited returns BADVM for a VM whose limits are not in force, or that is not in its cgroups: they are verified
// because liblxc may not have applied them, and a killed vmfactory may have left a VM without verifying them.
func (p *Provider) limited(r trace.Record) error {
	g := p.cgroups.of(p.tag, r.VM)
	err := errors.Join(g.InForce(r.Pool.Limits, r.Pool.Limits.Cores(p.cfg.CPUs)), g.Inhabited(initName))
	return core.Wrap(err, core.CodeBadVM, r.VM, "VM %s runs without its limits", r.VM)
}

// start starts the container. Its first process waits for its plan; if this process dies before sending it, the
// container ends, and its monitor with it. The monitor is recorded before the plan is sent.
func (p *Provider) start(ctx context.Context, r trace.Record) error {
	id := r.VM
	name, _, _ := strings.Cut(r.Pool.Image, "@")
	_, image, err := p.cfg.Images.Rootfs(ctx, name+"@"+r.Image) // the image when the VM was created
	if err != nil {
		return err
	}
	if egress(r.Pool) {
		if err := p.firewall.stand(ctx); err != nil {
			return fmt.Errorf("close the host's network to it: %w", err)
		}
	}
	program, err := p.program.Open()
	if err != nil {
		return err
	}
	plan, err := p.plan(r, image)
	if err != nil {
		return err
	}
	g := p.cgroups.of(p.tag, id)
	if err := g.Make(r.Pool.Limits, r.Pool.Limits.Cores(p.cfg.CPUs)); err != nil {
		return fmt.Errorf("make its cgroup: %w", err)
	}
	folders, usage := g.Usage("/" + cgroupsAt)
	at := filepath.Join(p.traces.Path(id), configFile)
	if err := os.WriteFile(at, []byte(p.container(r, folders).text()), 0o600); err != nil {
		return err
	}
	p.traces.Reached("told")
	d, err := p.traces.Descriptors(id, p.lifeline[0])
	if err != nil {
		return err
	}
	defer d.Close()
	if d.Controls, err = g.Controls(); err != nil {
		return fmt.Errorf("open its cgroup: %w", err)
	}
	agent, err := p.agent(r, usage, d.Open())
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	pid, err := p.starter.start(payload(p.tag, id), at, image, p.cgroups.use(), p.program.Path, d.Theirs(program))
	if err != nil {
		return err
	}
	p.traces.Reached("forked")
	if err := p.traces.NoteFirst(id, pid); err != nil {
		return fmt.Errorf("note its monitor: %w", err)
	}
	p.traces.Reached("noted")
	return p.send(d, agent, plan)
}

// send sends a started container its agent's settings and its plan.
func (p *Provider) send(d *trace.Descriptors, agent []byte, plan enter.Plan) error {
	if err := d.Config.Send(agent); err != nil {
		return err
	}
	p.traces.Reached("half sent")
	if err := d.Begin.Send(plan.Encode()); err != nil {
		return err
	}
	p.traces.Reached("sent")
	return nil
}

// container returns the description of a VM for liblxc.
func (p *Provider) container(r trace.Record, cgroups []string) container {
	return container{
		vm: r.VM, payload: payload(p.tag, r.VM), monitor: monitor(p.tag, r.VM), firstID: p.firstID(r.Place),
		limits: r.Pool.Limits, network: p.link(r), cgroups: cgroups,
	}
}

// agent returns the agent's settings.
func (p *Provider) agent(r trace.Record, usage agent.Cgroup, controls []int) ([]byte, error) {
	secret, err := os.ReadFile(filepath.Join(p.traces.Path(r.VM), agent.SecretFile))
	if err != nil {
		return nil, err
	}
	renews := uintptr(unix.CLONE_NEWIPC)
	if !egress(r.Pool) { // the proxy is in the VM's own network
		renews |= unix.CLONE_NEWNET
	}
	c := agent.Config{
		VM: r.VM, Secret: strings.TrimSpace(string(secret)), UID: jobID, GID: jobID, BoxUID: boxID, BoxGID: boxID, Limits: r.Pool.Limits, HeldBy: r.Held(heldBy(r.Pool)),
		Alone: true, Badge: true, Proc: true, Renews: renews, Lifeline: p.cfg.TieToProcess, Anchor: p.anchor, Cgroup: usage, Controls: controls,
		Scratch: []string{"/tmp", "/var/tmp", "/dev/shm"},
	}
	return c.Encode(), nil
}

// Descriptors of the first process besides those that package agent names.
const (
	logFD   = 2
	agentFD = agent.ControlFD + wire.Controls // the agent program
)
