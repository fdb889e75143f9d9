package drill

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"drover/core"
	"drover/core/service/clock"
)

// kind is one kind of fault.
type kind struct {
	name    string
	weight  int     // how often it is drawn, against the others
	long    float64 // share of those that last until somebody is fenced
	root    bool    // it needs networks or disks of the hosts' own
	victims func(*cluster) []*host
	role    core.Role // that it strikes; "" for more than one or none
	part    string    // what it strikes where that is no role
	// inject does it and returns how it is healed, also when it fails halfway.
	inject func(ctx context.Context, h *cluster, f fault) (heal func(context.Context) error, err error)
}

// Kinds whose measurement differs.
const (
	loseHostName     = "lose-host"
	wipeRedisName    = "wipe-redis"
	restoreRedisName = "restore-redis"
	drainHostName    = "drain-host"
	shrinkHostName   = "shrink-host"
)

// kinds is the table of all faults.
var kinds = func() []*kind {
	var all []*kind
	for _, role := range []core.Role{core.RoleTestrunner, core.RoleVMFactory, core.RoleTaskrunner, overseerRole} {
		weight, long := 4, 0.4
		if role == core.RoleTaskrunner || role == overseerRole {
			weight, long = 2, 0.2
		}
		all = append(all,
			&kind{name: "kill-" + string(role), weight: 2 * weight, long: long, victims: having(role), role: role, inject: kill},
			&kind{name: "stop-" + string(role), weight: weight, long: long, victims: having(role), role: role, inject: freeze},
			&kind{name: "late-" + string(role), weight: 1, long: long, victims: having(role), role: role, inject: late},
			&kind{name: "starve-" + string(role), weight: 1, long: long, victims: having(role), role: role, inject: starve},
		)
	}
	return append(all,
		&kind{name: loseHostName, weight: 4, long: 0.5, victims: anyHost, part: "host", inject: loseHost},
		&kind{name: "pause-host", weight: 2, long: 0.5, victims: anyHost, part: "host", inject: pauseHost},
		&kind{name: drainHostName, weight: 2, long: 0.5, victims: anyHost, part: "drain", inject: drainHost},
		&kind{name: "cut-host", weight: 3, long: 0.5, root: true, victims: anyHost, part: "net", inject: cut},
		&kind{name: "deafen-host", weight: 2, long: 0.5, root: true, victims: anyHost, part: "net", inject: deafen("input")},
		&kind{name: "mute-host", weight: 2, long: 0.5, root: true, victims: anyHost, part: "net", inject: deafen("output")},
		&kind{name: "fill-disk", weight: 3, long: 0.3, root: true, victims: anyHost, part: "disk", inject: fillDisk},
		&kind{name: "kill-redis", weight: 3, long: 0.2, part: "redis", inject: killRedis},
		&kind{name: wipeRedisName, weight: 2, long: 0.2, part: "redis", inject: wipeRedis},
		&kind{name: restoreRedisName, weight: 2, long: 0.2, part: "redis", inject: restoreRedis},
		&kind{name: "stop-redis", weight: 2, long: 0.3, part: "redis", inject: freezeRedis},
		&kind{name: "fill-redis", weight: 2, long: 0.3, part: "redis", inject: fillRedis},
		&kind{name: "jump-clock", weight: 2, long: 0.3, part: "clock", inject: jumpClock},
		&kind{name: "lock-store", weight: 3, long: 0.3, part: "store", inject: lockStore},
		&kind{name: shrinkHostName, weight: 3, long: 0.5, victims: anyHost, part: "host", inject: shrinkHost},
		&kind{name: "stop-in-round", weight: 3, long: 0.5, root: true, victims: having(overseerRole), role: overseerRole, inject: freezeInRound},
		&kind{name: killScaling, weight: 2, long: 0.2, victims: having(overseerRole), role: overseerRole, inject: killInScaling},
		&kind{name: killMachine, weight: 3, long: 0.2, part: "machine", inject: killAMachine},
		&kind{name: "crowd", weight: 1, long: 0.3, part: "crowd", inject: crowd},
	)
}()

func anyHost(h *cluster) []*host { return h.hosts }

func having(role core.Role) func(*cluster) []*host {
	return func(h *cluster) []*host {
		var all []*host
		for _, o := range h.hosts {
			if o.parts[role] != nil {
				all = append(all, o)
			}
		}
		return all
	}
}

// skipped says why a kind cannot be injected here, or "".
func (h *cluster) skipped(k *kind) string {
	switch {
	case k.root && !h.root:
		return "it needs root, for networks and disks of the hosts' own"
	case k.part == "clock" && h.redis.clock == "":
		return h.redis.why
	}
	return ""
}

// needs names the parts of the cluster that the fault strikes.
func (f fault) needs() []string {
	switch {
	case f.host == nil:
		return []string{f.kind.part}
	case f.kind.part == "host":
		var all []string
		for role := range f.host.parts {
			all = append(all, f.host.name+"/"+string(role))
		}
		return all
	case f.kind.role != "":
		return []string{f.host.name + "/" + string(f.kind.role)}
	}
	return []string{f.host.name + "/" + f.kind.part}
}

// struck lists the owners that fall silent by the fault.
func (f fault) struck() []string {
	var all []string
	quiet := strings.HasPrefix(f.kind.name, "late-") || strings.HasPrefix(f.kind.name, "starve-") // who deregisters, or can still speak
	if f.host == nil || quiet || f.kind.part == "disk" || f.kind.part == "drain" || f.kind.role == overseerRole {
		return nil
	}
	for role := range f.host.parts {
		if role != overseerRole && (f.kind.role == "" || f.kind.role == role) {
			all = append(all, f.host.owner(role))
		}
	}
	return all
}

// carryOut injects the fault, holds it, and heals it whatever happens to ctx.
func (f fault) carryOut(ctx context.Context, h *cluster, w *watch) error {
	w.about(ctx, f.kind.name, f.struck())
	heal, err := f.kind.inject(ctx, h, f)
	if f.kind.name == wipeRedisName || f.kind.name == restoreRedisName {
		w.forget()
	}
	if err == nil {
		_ = clock.Sleep(ctx, clock.Real{}, f.hold) // the end of the drill heals early
	}
	if heal != nil {
		err = errors.Join(err, heal(context.WithoutCancel(ctx)))
	}
	w.healed(f.struck())
	return err
}

func kill(_ context.Context, _ *cluster, f fault) (func(context.Context) error, error) {
	p := f.host.parts[f.kind.role]
	p.kill()
	return func(context.Context) error { return p.start() }, nil
}

func freeze(_ context.Context, _ *cluster, f fault) (func(context.Context) error, error) {
	p := f.host.parts[f.kind.role]
	p.send(syscall.SIGSTOP)
	return func(context.Context) error {
		p.send(syscall.SIGCONT)
		return nil
	}, nil
}

// late stops a process as an operator does; it comes back late.
func late(ctx context.Context, _ *cluster, f fault) (func(context.Context) error, error) {
	p := f.host.parts[f.kind.role]
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	heal := func(context.Context) error { return p.start() }
	if !p.stop(ctx) {
		return heal, core.Errorf(core.CodeConflict, p.name, "%s did not stop within %s", p.name, stopTimeout)
	}
	return heal, nil
}

// starve leaves a living process no file descriptor beyond those that it has, or one, or two: there
// is a first step that succeeds, and a second one that does not.
func starve(_ context.Context, _ *cluster, f fault) (func(context.Context) error, error) {
	const spares = 3
	pid := f.host.parts[f.kind.role].runs()
	entries, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/fd")
	var before unix.Rlimit
	if err != nil || unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &before) != nil {
		return nil, nil //nolint:nilerr,nilnil // another fault ended it: there is nothing to starve, and to heal
	}
	open := map[string]bool{}
	for _, e := range entries {
		open[e.Name()] = true
	}
	less := before
	less.Cur = 0 // the first number that is out of reach
	for spare := f.n % spares; spare > 0 || open[strconv.FormatUint(less.Cur, 10)]; less.Cur++ {
		if !open[strconv.FormatUint(less.Cur, 10)] {
			spare--
		}
	}
	heal := func(context.Context) error {
		_ = unix.Prlimit(pid, unix.RLIMIT_NOFILE, &before, nil) // it may have died of it
		return nil
	}
	return heal, os.NewSyscallError("prlimit", unix.Prlimit(pid, unix.RLIMIT_NOFILE, &less, nil))
}

// pauseHost stops all that drover runs on the host, and lets it go on: a laptop that is
// shut, a machine that is moved while it runs.
func pauseHost(_ context.Context, _ *cluster, f fault) (func(context.Context) error, error) {
	for _, p := range f.host.parts {
		p.send(syscall.SIGSTOP)
	}
	return func(context.Context) error {
		for _, p := range f.host.parts {
			p.send(syscall.SIGCONT)
		}
		return nil
	}, nil
}

// drainHost drains the host; what runs there is given back when half the time is over. The store
// hears it first, as from an operator: it holds after a loss of Redis, too.
func drainHost(ctx context.Context, h *cluster, f fault) (func(context.Context) error, error) {
	set := func(ctx context.Context, on bool, deadline time.Duration) error {
		w := core.HostWish{Host: f.host.name, Kind: core.WishDrain, Lifted: !on, By: "drill", At: time.Now().UnixMilli()}
		if on {
			w.Until = time.Now().Add(deadline).UnixMilli()
		}
		h.watch.seen.drain(f.host.name, on)
		if _, err := h.client.Store.PutHostWish(ctx, w); err != nil {
			return err
		}
		var err error
		h.await(ctx, stopTimeout, func(ctx context.Context) bool {
			err = h.client.Redis.Drain(ctx, f.host.name, on, deadline)
			return err == nil || !core.Is(err, core.CodeUnavailable)
		})
		if core.Is(err, core.CodeNotFound) {
			return nil // Redis was wiped, or has not heard of the host yet
		}
		return err
	}
	return func(ctx context.Context) error { return set(ctx, false, 0) }, set(ctx, true, f.hold/2)
}

// loseHost ends all that runs on the host at once; it returns with its disk as it was.
func loseHost(ctx context.Context, _ *cluster, f fault) (func(context.Context) error, error) {
	for _, p := range f.host.parts {
		p.send(syscall.SIGSTOP) // nobody notices the death of another
	}
	var dying sync.WaitGroup
	for _, p := range f.host.parts {
		dying.Go(p.kill)
	}
	dying.Wait()
	f.host.endVMs(ctx)
	return func(context.Context) error {
		var errs []error
		for _, p := range f.host.parts {
			errs = append(errs, p.start())
		}
		return errors.Join(errs...)
	}, nil
}

func cut(ctx context.Context, _ *cluster, f fault) (func(context.Context) error, error) {
	return f.host.net.join, f.host.net.cut(ctx)
}

func deafen(direction string) func(context.Context, *cluster, fault) (func(context.Context) error, error) {
	return func(ctx context.Context, _ *cluster, f fault) (func(context.Context) error, error) {
		return f.host.net.hear, f.host.net.deafen(ctx, direction)
	}
}

// fillDisk leaves no byte on the host's disk.
func fillDisk(_ context.Context, _ *cluster, f fault) (func(context.Context) error, error) {
	path := filepath.Join(f.host.data, "ballast")
	heal := func(context.Context) error { return os.Remove(path) }
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	block := make([]byte, 1<<20)
	for len(block) > 0 {
		n, err := file.Write(block)
		if errors.Is(err, syscall.ENOSPC) && n == 0 {
			block = block[:len(block)/2]
		} else if err != nil && !errors.Is(err, syscall.ENOSPC) {
			return heal, errors.Join(err, file.Close())
		}
	}
	return heal, file.Close()
}
