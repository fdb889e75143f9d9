package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"drover/core"
	"drover/vmfactory/confine"
	"drover/vmfactory/enter"
	"drover/vmfactory/process"
	"drover/vmfactory/trace"
)

// rehearsalHolds is for how long the success of a rehearsal is taken for granted: a start asks several times.
const rehearsalHolds = 3 * time.Second

// Ready makes a VM once, up to the start of its agent. Returns UNAVAILABLE with what this machine forbids and how to
// mend it.
func (p *Provider) Ready(ctx context.Context) error {
	unready := func(format string, args ...any) error {
		return core.Errorf(core.CodeUnavailable, "", "this machine cannot make VMs: "+format, args...)
	}
	if what := confine.LacksKernel(); what != "" {
		return unready("%s", what)
	}
	if p.agent != nil {
		return unready("%v", p.agent)
	}
	info, err := os.Stat(p.spawn.program)
	if err != nil {
		return unready("/proc is not mounted (%v)", err)
	}
	const everybody = 0o001
	if p.owners.mode == rangeMode && info.Mode().Perm()&everybody == 0 {
		return unready("other users may not execute drover, and VMs have their own: chmod a+x %s", executable())
	}
	if what := confine.LacksDumpLimit(); what != "" {
		return unready("%s", what)
	}
	if _, err := confine.Filter(confine.Situation{}); err != nil {
		return unready("%v", err)
	}
	p.mu.Lock()
	recent := !p.rehearsed.IsZero() && time.Since(p.rehearsed) < rehearsalHolds
	p.mu.Unlock()
	if recent {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	said, err := p.rehearse(ctx)
	if err != nil {
		return unready("%v%s", err, because(err, p.owners.mode, confine.Sysctl))
	}
	if said != arrived {
		return unready("%s%s", said, because(errors.New(said), p.owners.mode, confine.Sysctl))
	}
	p.mu.Lock()
	p.rehearsed = time.Now()
	p.mu.Unlock()
	return nil
}

func executable() string {
	path, err := os.Executable()
	if err != nil {
		return "the drover executable"
	}
	return path
}

// arrived is the output of a successful rehearsal.
const arrived = "arrived"

// rehearse carries out the plan of a VM and returns the output of its process, which reports its arrival instead of
// executing the agent.
func (p *Provider) rehearse(ctx context.Context) (string, error) {
	r := trace.Record{VM: "rehearsal", Pool: core.DefaultPool("rehearsal")}
	plan, on, err := p.plan(r, nil)
	if err != nil {
		return "", err
	}
	plan.Steps[len(plan.Steps)-1] = enter.Step{Do: enter.Say, Text: arrived}
	in, err := process.NewPipe()
	if err != nil {
		return "", err
	}
	defer in.Close()
	out, heard, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer out.Close() //nolint:errcheck // read only
	pid, err := p.spawn.start([]int{in.Read, int(heard.Fd()), int(heard.Fd())}, -1, plan, on)
	if err := errors.Join(err, heard.Close()); err != nil {
		return "", fmt.Errorf("making namespaces: %w", err)
	}
	if err := p.owners.apply(ctx, pid, 0); err != nil {
		return "", fmt.Errorf("mapping users: %w", err)
	}
	if err := in.Send([]byte{1}); err != nil {
		return "", err
	}
	if until, ok := ctx.Deadline(); ok {
		if err := out.SetReadDeadline(until); err != nil {
			return "", err
		}
	}
	said := trace.Hear(out)
	if said == "" {
		return "", errors.New("the first process of a VM died without a word")
	}
	return said, nil
}

// because explains a failure by kernel settings that are known to cause it.
func because(err error, m mode, setting func(name string) string) string {
	text := err.Error()
	ordinary := m != rangeMode
	switch {
	case setting("user/max_user_namespaces") == "0":
		return ": user namespaces are switched off; switch them on with sysctl -w user.max_user_namespaces=15000"
	case setting("kernel/unprivileged_userns_clone") == "0" && ordinary:
		return ": only root may make user namespaces; allow it with sysctl -w kernel.unprivileged_userns_clone=1, or run drover as root"
	case setting("kernel/apparmor_restrict_unprivileged_userns") == "1" && ordinary:
		return ": AppArmor forbids user namespaces to programs without a profile; allow it with " +
			"sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, give drover a profile with the rule userns, or run it as root"
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EUSERS):
		return ": too many namespaces are in use; raise the settings user.max_*_namespaces with sysctl"
	case strings.HasPrefix(text, string(enter.Mount)+" proc:"):
		return ": this container hides parts of /proc, so none may be mounted in it; " +
			"start it with --security-opt systempaths=unconfined (Docker, Podman) or privileged"
	}
	for _, refusal := range []error{unix.EPERM, unix.EACCES, unix.ENOSYS} {
		if errors.Is(err, refusal) || strings.Contains(text, refusal.Error()) {
			return ": something forbids namespaces or mounts here, most likely the container that drover runs in; " +
				"start it with --security-opt seccomp=unconfined --security-opt apparmor=unconfined, or privileged, or run drover outside"
		}
	}
	return ""
}
