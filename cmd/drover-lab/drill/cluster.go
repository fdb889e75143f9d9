package drill

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"drover/core"
	"drover/core/service/clock"
)

// overseerRole is what is no owner, but dies as well.
const overseerRole core.Role = "overseer"

// poolNames are the names of the pools.
var poolNames = []string{"exam", "practice", "quiz"}

// pools are those of the cluster under drill: one that keeps VMs warm on each host, one that keeps them warm in the
// whole cluster, on several hosts, and one that learns how many it needs. They differ in their sizes, in where their VMs
// are made, and in which is first.
func pools(slots int) []core.Pool {
	all := make([]core.Pool, len(poolNames))
	for i, name := range poolNames {
		p := core.DefaultPool(name)
		p.Warm, p.Max, p.MaxWaiting, p.StageTimeout, p.Limits.Memory = 0, slots, 100_000, 10*time.Second, vmMemory
		p.Requires = ordinary
		switch name {
		case "exam":
			p.Warm = 1
		case "practice":
			p.WarmTotal, p.Spread, p.Strategy, p.Order = 3, 2, core.BestFit, core.MaxMin
			p.Limits.Memory, p.Limits.CPU = 2*vmMemory, 1000
		case "quiz":
			p.WarmMost, p.IdleAfter, p.Strategy, p.Order = 4, core.MinIdleAfter, core.NextFit, core.MinMin
			p.Limits.Memory = vmMemory / 2
		}
		all[i] = p
	}
	return all
}

// cluster is the cluster under drill.
type cluster struct {
	cfg     Config
	dir     string
	root    bool // hosts have networks and disks of their own
	redis   *server
	hosts   []*host
	client  *Client
	watch   *watch
	leases  *leasing
	elastic *elastic     // nil until the cluster has started
	crowd   atomic.Int64 // requests that a crowd submitted
	logs    []*os.File

	rooms  *rooms
	rounds rounds

	full     atomic.Int64 // since when Redis has no room for more, ns; 0: it has
	faults   *os.File     // the log of faults
	refusals refusals
}

// host is one machine of the cluster: its processes, its network, its disk.
type host struct {
	name  string
	data  string
	run   string
	env   []string
	net   *network // nil where it is not root
	disk  bool     // data is a file system of its own
	parts map[core.Role]*component
}

// diskSize is what a host's disk holds.
const diskSize = "64m"

// owner names the process of a role as Redis knows it.
func (o *host) owner(role core.Role) string { return core.OwnerName(role, o.name, 0) }

func newCluster(cfg Config, dir string) *cluster {
	return &cluster{cfg: cfg, dir: dir, root: Isolated(), rooms: newRooms()}
}

// kind says what the hosts are.
func (h *cluster) kind() string {
	if h.root {
		return "each with a network and a disk of its own"
	}
	return "plain processes (as root they would have networks and disks of their own)"
}

// build makes networks, disks and folders; start then runs what lives there.
func (h *cluster) build(ctx context.Context) error {
	for _, sub := range []string{"store", "blobs"} {
		if err := os.Mkdir(filepath.Join(h.dir, sub), 0o700); err != nil {
			return core.Wrap(err, core.CodeUnavailable, h.dir, "a folder of the cluster cannot be made")
		}
	}
	if err := os.WriteFile(h.settings(), nil, 0o600); err != nil { // nobody else's settings are meant
		return core.Wrap(err, core.CodeUnavailable, h.dir, "the cluster's settings cannot be written")
	}
	at := ""
	var err error
	if h.root {
		if at, err = newBridge(ctx); err != nil {
			return err
		}
	}
	if h.faults, err = h.log("faults"); err != nil {
		return err
	}
	log, err := h.log("redis")
	if err != nil {
		return err
	}
	if h.redis, err = newServer(ctx, filepath.Join(h.dir, "redis"), at, log); err != nil {
		return err
	}
	for n := range h.cfg.Hosts {
		if err := h.addHost(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

func (h *cluster) settings() string { return filepath.Join(h.dir, "drover.yaml") }

// environ is the environment of a program of the cluster, on the host of that name.
func (h *cluster) environ(name, data string) []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "TMPDIR=" + h.dir, "DROVER_CONFIG=" + h.settings(), "DROVER_HOST=" + name, "DROVER_DATA=" + data,
		"DROVER_REDIS=" + h.redis.url, "DROVER_STORE=sqlite://" + filepath.Join(h.dir, "store", "drover.db"),
		"DROVER_BLOBS=file://" + filepath.Join(h.dir, "blobs"), "DROVER_SLOTS=" + strconv.Itoa(h.cfg.Slots),
		"DROVER_RECONCILE_EVERY=5s", "DROVER_CHECK_EVERY=5s", "DROVER_DRAIN=10s", "DROVER_LEASE_LEAD=" + leaseLead,
	}
	if beat := h.cfg.Beat; beat > 0 {
		env = append(env, "DROVER_BEAT="+beat.String(), "DROVER_SUSPECT="+(3*beat).String(), "DROVER_DOWN="+h.cfg.down().String())
	}
	return env
}

// addHost makes the nth host and its processes: overseers on the first two, a
// taskrunner on the last.
func (h *cluster) addHost(ctx context.Context, n int) error {
	o := &host{name: "h" + strconv.Itoa(n+1), parts: map[core.Role]*component{}}
	h.hosts = append(h.hosts, o)
	o.data = filepath.Join(h.dir, o.name)
	o.run = filepath.Join(o.data, "run")
	o.env = append(h.environ(o.name, o.data), "DROVER_RUN="+o.run)
	if err := os.Mkdir(o.data, 0o700); err != nil {
		return core.Wrap(err, core.CodeUnavailable, o.data, "a host's folder cannot be made")
	}
	var err error
	if h.root {
		if err := unix.Mount("drill", o.data, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=700,size="+diskSize); err != nil {
			return core.Wrap(err, core.CodeUnavailable, o.data, "a host's disk cannot be made")
		}
		o.disk = true
		if o.net, err = newNetwork(ctx, n); err != nil {
			return err
		}
	}
	roles := []core.Role{core.RoleVMFactory, core.RoleTestrunner}
	if n < 2 {
		roles = append(roles, overseerRole)
	}
	if n == h.cfg.Hosts-1 {
		roles = append(roles, core.RoleTaskrunner)
	}
	for _, role := range roles {
		p := &component{name: string(role) + "@" + o.name, argv: []string{h.cfg.Program, string(role)}, env: o.env}
		if o.net != nil {
			p.argv = append(o.net.enter(), p.argv...)
		}
		if p.log, err = h.log(p.name); err != nil {
			return err
		}
		o.parts[role] = p
	}
	return nil
}

// log opens the file for what a process says; nil if nobody asked for it.
func (h *cluster) log(name string) (*os.File, error) {
	if h.cfg.Logs == "" {
		return nil, nil
	}
	err := os.MkdirAll(h.cfg.Logs, 0o700)
	if err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, h.cfg.Logs, "the folder for logs cannot be made")
	}
	f, err := os.OpenFile(filepath.Join(h.cfg.Logs, name+".log"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, name, "a log cannot be made")
	}
	h.logs = append(h.logs, f)
	return f, nil
}

// note writes a line with the time into the log of faults.
func (h *cluster) note(format string, args ...any) {
	if h.faults != nil {
		fmt.Fprintf(h.faults, time.Now().UTC().Format("15:04:05.000")+" "+format+"\n", args...)
	}
}

// start runs everything and connects.
func (h *cluster) start(ctx context.Context) error {
	if err := h.redis.start(); err != nil {
		return err
	}
	var err error
	open := func(ctx context.Context) bool {
		h.client, err = h.cfg.Open(ctx, h.environ("drill", filepath.Join(h.dir, "drill")))
		return err == nil
	}
	if !h.await(ctx, stopTimeout, open) {
		return err
	}
	for _, p := range append(pools(h.cfg.Slots), burstPool()) {
		if err := h.client.Intake.SetPool(ctx, p); err != nil {
			return err
		}
	}
	machine, err := thisMachine()
	if err != nil {
		return err
	}
	h.rooms.machine = machine
	for _, o := range h.hosts {
		h.rooms.set(o, whole())
		if err := h.resize(ctx, o, whole()); err != nil {
			return err
		}
		for _, p := range o.parts {
			if err := p.start(); err != nil {
				return err
			}
		}
	}
	return nil
}

// await asks until it is so, at most for a while.
func (h *cluster) await(ctx context.Context, most time.Duration, so func(context.Context) bool) bool {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for !so(ctx) {
		if clock.Sleep(ctx, clock.Real{}, 50*time.Millisecond) != nil {
			return false
		}
	}
	return true
}

// exits counts the ends of components that nobody had killed.
func (h *cluster) exits(r *Report) {
	for _, o := range h.hosts {
		for _, p := range o.parts {
			p.mu.Lock()
			r.Exits += p.exits
			r.Crashes += p.crashes
			if p.crashes > 0 {
				r.detail("crashed: %s, %d times; see what it says with --logs DIR", p.name, p.crashes)
			}
			p.mu.Unlock()
		}
	}
}

// stop ends everything as an operator would, and destroys the VMs that are meant to stay.
func (h *cluster) stop(ctx context.Context) error {
	var errs []error
	for _, role := range []core.Role{core.RoleTestrunner, core.RoleTaskrunner, overseerRole, core.RoleVMFactory} {
		for _, o := range h.hosts {
			if p := o.parts[role]; p != nil {
				bounded, cancel := context.WithTimeout(ctx, stopTimeout)
				if !p.stop(bounded) {
					errs = append(errs, core.Errorf(core.CodeConflict, p.name, "%s did not stop within %s", p.name, stopTimeout))
				}
				cancel()
			}
		}
	}
	if h.elastic != nil {
		errs = append(errs, h.elastic.end(ctx))
	}
	for _, o := range h.hosts {
		errs = append(errs, destroy(ctx, h.cfg.Program, o.env))
	}
	if h.client != nil {
		errs = append(errs, h.client.Close())
	}
	if h.redis != nil {
		h.redis.kill()
	}
	return errors.Join(errs...)
}

// remove takes networks and disks away, with what is on them.
func (h *cluster) remove(ctx context.Context) error {
	var errs []error
	for _, o := range h.hosts {
		if o.net != nil {
			errs = append(errs, o.net.remove(ctx))
		}
		if o.disk {
			errs = append(errs, core.Wrap(unix.Unmount(o.data, 0), core.CodeUnavailable, o.data, "a host's disk cannot be taken away"))
		}
	}
	if h.root {
		errs = append(errs, each(ctx, "ip link del "+bridge))
	}
	for _, f := range h.logs {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
