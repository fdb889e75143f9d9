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

	"drover/vmfactory/process"
	"drover/vmfactory/trace"

	"golang.org/x/sys/unix"

	"drover/core"
	"drover/vmfactory"
)

// Name is what a pool's provider setting says for this provider.
const Name = "local"

// CgroupsOff as a cgroup setting leaves all limits to rlimits and watchdogs.
const CgroupsOff = "off"

// Config is how a host makes VMs.
type Config struct {
	Run          string  // the host's run folder: VMs' folders; made if it is not there, for its owner only
	TieToProcess bool    // VMs end when this process does, however it ends
	Cgroup       string  // of version 2, to make VMs' cgroups in; "" finds one, CgroupsOff uses none
	Agent        string  // the program that VMs start; "" is drover-agent beside the executable, or the executable itself where there is none
	Version      string  // that it must be of, which is drover's own; "" is any
	CPUs         float64 // most CPUs that a VM may use, where cgroups hold them; 0 is DefaultCPUs
}

// DefaultCPUs is what a VM may use if nothing is set.
const DefaultCPUs = 1

// anchorEvery is how soon a VM ends whose folder was removed by somebody else, as
// when a cluster was killed for good and its files were deleted.
const anchorEvery = 30 * time.Second

// Provider makes VMs on this host.
type Provider struct {
	cfg      Config
	traces   trace.Set
	tag      string // tells the run folders of a host apart, in cgroups' names
	owners   owners
	cgroups  cgroups
	anchor   time.Duration // between an agent's looks whether its VM's folder is there
	spawn    spawner
	agent    error  // the small program is of another version than ours; nil if it is not, or is not there
	lifeline [2]int // a pipe that ends with this process, if VMs are tied to it; else -1

	mu sync.Mutex // guards the lifeline
}

var _ vmfactory.Provider = (*Provider)(nil)

// New returns the provider of a run folder, and removes what dead VMs and killed
// creations left beside it. Returns INVALID for a bad setting and UNAVAILABLE for
// a folder that cannot be used. Whether VMs can be made at all says Ready.
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
	p := &Provider{cfg: cfg, traces: trace.Set{Run: run, Provider: Name}, tag: hex.EncodeToString(sum[:4]), lifeline: [2]int{-1, -1}, anchor: anchorEvery}
	if p.owners, err = findOwners(); err != nil {
		return nil, err
	}
	p.cgroups = findCgroups(cfg.Cgroup, p.tag, p.owners.mode != singleMode)
	p.spawn.program, p.agent = agentProgram(cfg.Agent, cfg.Version)
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

// sweep learns which VMs there are and removes what belongs to none.
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

// Name is what a pool's provider setting says.
func (p *Provider) Name() string { return Name }

// Image names the file system of the pool's VMs: the host's own system, by its
// distribution. Returns INVALID for a pool that asks for another, or for
// a network.
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

// distribution is such as "debian-12", from the host's own description.
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

// Close ends the process that starts VMs, and, if they are tied to this process,
// the VMs. It must be the last call.
func (p *Provider) Close() error {
	p.spawn.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, fd := range p.lifeline {
		process.CloseFD(fd)
		p.lifeline[i] = -1
	}
	return nil
}
