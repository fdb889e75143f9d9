package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"drover/vmfactory/cgroup"
	"drover/vmfactory/cores"
	"drover/vmfactory/process"
	"drover/vmfactory/trace"

	"golang.org/x/sys/unix"

	"drover/core"
	"drover/vmfactory"
)

// Name is this provider's name in the settings of pools.
const Name = "local"

// CgroupsOff is a cgroup setting that leaves all limits to rlimits and watchdogs.
const CgroupsOff = "off"

// Config configures how a host makes VMs.
type Config struct {
	Run          string  // the host's run folder, with the VMs' folders; created if missing, for its owner only
	TieToProcess bool    // VMs end when this process does, however it ends
	Cgroup       string  // cgroup of version 2 for VMs' cgroups; "" finds one, CgroupsOff uses none
	Agent        string  // the program that VMs start; "" is drover-agent beside the executable, or the executable itself if there is none
	Version      string  // the version that it must have, drover's own; "": any
	CPUs         float64 // most CPUs that a VM may use, if cgroups limit them; 0 is DefaultCPUs
}

// DefaultCPUs is how many CPUs a VM may use by default.
const DefaultCPUs = 1

// anchorEvery is how soon a VM ends whose folder was removed, for instance after a cluster was killed and its files
// were deleted.
const anchorEvery = 30 * time.Second

// Provider makes VMs on this host.
type Provider struct {
	cfg      Config
	traces   trace.Set
	tag      string // distinguishes the run folders of a host in cgroups' names
	owners   owners
	cgroups  cgroups
	census   cgroup.Census
	grounds  grounds
	anchor   time.Duration // interval at which an agent checks that its VM's folder exists
	spawn    spawner
	agent    error  // the small program is of another version than ours; nil if it is not, or is missing
	lifeline [2]int // a pipe that ends with this process, if VMs are tied to it; else -1

	mu        sync.Mutex // guards the lifeline and rehearsed
	rehearsed time.Time  // when a rehearsal last succeeded
}

var _ vmfactory.Provider = (*Provider)(nil)

// New returns the provider of a run folder, and removes what dead VMs and interrupted creations left there. Returns
// INVALID for a bad setting and UNAVAILABLE for a folder that cannot be used. Whether VMs can be made is up to Ready.
func New(cfg Config) (*Provider, error) {
	run, err := filepath.Abs(cfg.Run)
	switch {
	case cfg.Run == "" || err != nil:
		return nil, core.Errorf(core.CodeInvalid, "", "no run folder: name one")
	case cfg.CPUs < 0:
		return nil, core.Errorf(core.CodeInvalid, "", "cpus %g must not be negative", cfg.CPUs)
	case cfg.CPUs == 0:
		cfg.CPUs = DefaultCPUs
	}
	if err := os.MkdirAll(run, 0o700); err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, "", "the run folder cannot be made")
	}
	if run, err = filepath.EvalSymlinks(run); err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, "", "the run folder cannot be used")
	}
	cfg.Run = run
	sum := sha256.Sum256([]byte(run))
	p := &Provider{cfg: cfg, traces: trace.Set{Run: run, Provider: Name, Cores: cores.Find("/sys"), CPUs: cfg.CPUs}, tag: hex.EncodeToString(sum[:4]), lifeline: [2]int{-1, -1}, anchor: anchorEvery}
	if p.owners, err = findOwners(); err != nil {
		return nil, err
	}
	p.cgroups = findCgroups(cfg.Cgroup, p.tag, p.owners.mode != singleMode)
	p.census.Host = p.cgroups.host
	p.spawn.program, p.agent = agentProgram(cfg.Agent, cfg.Version)
	p.spawn.lays = mayLay()
	p.grounds.watched = !p.cgroups.host.Has(cgroup.Memory)
	if err := p.sweep(); err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, "", "what dead VMs left cannot be removed")
	}
	if cfg.TieToProcess {
		if err := unix.Pipe2(p.lifeline[:], unix.O_CLOEXEC); err != nil {
			return nil, core.Wrap(err, core.CodeUnavailable, "", "cannot tie VMs to this process")
		}
	}
	return p, nil
}

// sweep finds the existing VMs and removes everything that belongs to none.
func (p *Provider) sweep() error {
	const most = 30 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	if err := p.traces.Sweep(); err != nil {
		return err
	}
	return p.cgroups.sweep(ctx, p.tag, func(vm string) bool {
		_, err := os.Lstat(p.traces.Path(vm))
		return err == nil
	})
}

// Name returns the provider's name in the settings of pools.
func (p *Provider) Name() string { return Name }

// Image names the file system of the pool's VMs: the host's own system, by its distribution. Returns INVALID for a
// pool with an image or a network.
func (p *Provider) Image(_ context.Context, pool core.Pool) (string, error) {
	if pool.Network == core.NetworkEgress {
		return "", core.Errorf(core.CodeInvalid, pool.Name, "pool %s: provider %s has no network for its VMs: leave network at %s, or use provider lxc",
			pool.Name, Name, core.NetworkNone)
	}
	if pool.Image != "" {
		return "", core.Errorf(core.CodeInvalid, pool.Name,
			"pool %s: provider %s has no image %q, only the host's own system: leave image empty", pool.Name, Name, pool.Image)
	}
	return "host:" + distribution(), nil
}

// distribution returns the host's name and version, such as "debian-12".
func distribution() string {
	text, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return "unknown"
	}
	var id, version string
	for line := range strings.SplitSeq(string(text), "\n") {
		if v, ok := strings.CutPrefix(line, "ID="); ok {
			id = strings.Trim(v, `"'`)
		}
		if v, ok := strings.CutPrefix(line, "VERSION_ID="); ok {
			version = strings.Trim(v, `"'`)
		}
	}
	return strings.Trim(id+"-"+version, "-")
}

// Close ends the process that starts VMs, and the VMs if they are tied to this process. It must be the last call.
func (p *Provider) Close() error {
	p.spawn.close()
	p.grounds.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, fd := range p.lifeline {
		process.CloseFD(fd)
		p.lifeline[i] = -1
	}
	return nil
}
