package lxc

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"drover/core"
	"drover/vmfactory"
	"drover/vmfactory/cgroup"
	"drover/vmfactory/cores"
	"drover/vmfactory/process"
	"drover/vmfactory/program"
	"drover/vmfactory/trace"
)

// Name is this provider's name in the settings of pools.
const Name = "lxc"

// Images provides the file systems of VMs.
type Images interface {
	// Rootfs makes the image that ref names ready on this host, and returns its digest and its folder. The folder
	// stays unchanged while VMs of the digest live. Returns NOTFOUND, or UNAVAILABLE with the reason.
	Rootfs(ctx context.Context, ref string) (digest, path string, err error)
}

// Config configures how a host makes containers.
type Config struct {
	Run          string // the host's run folder, with the VMs' folders; created if missing, for its owner only
	Images       Images
	Agent        string  // the agent program; "" is drover-agent beside the executable
	Version      string  // the version that it must have, drover's own; "": any
	TieToProcess bool    // VMs end when this process does, however it ends
	CPUs         float64 // most processors of a VM whose pool does not set them; 0 is DefaultCPUs
	FirstID      int     // first of the host's users and groups for containers; 0 is DefaultFirstID
	IDs          int     // their number; 0 is DefaultIDs

	DNS    []string // addresses of name servers for pools with egress; empty: DefaultDNS
	Closed []string // further networks that they must not reach, such as the public ones of the cluster's own machines
}

// DefaultCPUs is how many processors a VM may use by default.
const DefaultCPUs = 1

// anchorEvery is how soon a VM ends whose folder was removed.
const anchorEvery = 30 * time.Second

// Provider makes VMs on this host.
type Provider struct {
	cfg      Config
	traces   trace.Set
	tag      string // distinguishes the run folders of a host in the names of containers and cgroups
	cgroups  cgroups
	census   cgroup.Census
	anchor   time.Duration
	starter  starter
	program  program.Agent
	firewall firewall
	lifeline [2]int // a pipe that ends with this process, if VMs are tied to it; else -1

	mu sync.Mutex // guards the lifeline
}

var _ vmfactory.Provider = (*Provider)(nil)

// New returns the provider of a run folder, and removes what dead VMs and interrupted creations left there. Returns
// INVALID for a bad setting and UNAVAILABLE for a folder that cannot be used. Whether VMs can be made is up to Ready.
func New(cfg Config) (*Provider, error) {
	cfg, err := cfg.filled()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cfg.Run, 0o700); err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, "", "the run folder cannot be made")
	}
	if cfg.Run, err = filepath.EvalSymlinks(cfg.Run); err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, "", "the run folder cannot be used")
	}
	sum := sha256.Sum256([]byte(cfg.Run))
	p := &Provider{
		cfg: cfg, traces: trace.Set{Run: cfg.Run, Provider: Name, Cores: cores.Find("/sys"), CPUs: cfg.CPUs}, tag: hex.EncodeToString(sum[:4]), cgroups: findCgroups(cgroup.Root, cgroup.FSType),
		anchor: anchorEvery, program: program.Agent{Path: cfg.Agent, Version: cfg.Version}, firewall: firewall{closed: cfg.Closed}, lifeline: [2]int{-1, -1},
	}
	p.census.Host = p.cgroups.Host
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

// filled returns c with defaults for zero fields.
func (c Config) filled() (Config, error) {
	run, err := filepath.Abs(c.Run)
	if c.Run == "" || err != nil {
		return c, core.Errorf(core.CodeInvalid, "", "no run folder: name one")
	}
	c.Run = run
	if len(c.DNS) == 0 {
		c.DNS = DefaultDNS()
	}
	if err := c.checkNetworks(); err != nil {
		return c, err
	}
	if c.CPUs == 0 {
		c.CPUs = DefaultCPUs
	}
	if c.FirstID == 0 && c.IDs == 0 {
		c.FirstID, c.IDs = DefaultFirstID, DefaultIDs
	}
	switch {
	case c.Images == nil:
		return c, core.Errorf(core.CodeInvalid, "", "provider %s needs a store of images", Name)
	case c.CPUs < 0:
		return c, core.Errorf(core.CodeInvalid, "", "cpus %g must not be negative", c.CPUs)
	case c.FirstID < 1 || c.IDs < idsEach || c.FirstID+c.IDs-1 > lastID:
		return c, core.Errorf(core.CodeInvalid, "", "containers need at least %d users of the host, between 1 and %d, not %d from %d on",
			idsEach, lastID, c.IDs, c.FirstID)
	}
	if c.Agent == "" {
		if c.Agent, err = program.Beside(); err != nil {
			return c, core.Wrap(err, core.CodeUnavailable, "", "the program that VMs start cannot be found")
		}
	}
	return c, nil
}

// sweep finds the existing VMs and removes everything that belongs to none.
func (p *Provider) sweep() error {
	const most = 30 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	if err := p.traces.Sweep(); err != nil {
		return err
	}
	for _, id := range p.strays() {
		if err := p.Destroy(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// strays returns VMs that have cgroups but no folder. A VM's folder is made before its cgroups and removed after
// them, so the cgroups are read first.
func (p *Provider) strays() []string {
	var all []string
	for _, id := range p.cgroups.found(p.tag) {
		if _, err := os.Lstat(p.traces.Path(id)); err != nil && p.cgroups.exists(p.tag, id) {
			all = append(all, id)
		}
	}
	return all
}

// Name returns the provider's name in the settings of pools.
func (p *Provider) Name() string { return Name }

// Image returns the digest of the file system of the pool's VMs. Returns INVALID for a pool without an image, and the
// errors of the image store.
func (p *Provider) Image(ctx context.Context, pool core.Pool) (string, error) {
	if pool.Image == "" {
		return "", core.Errorf(core.CodeInvalid, pool.Name,
			"pool %s: provider %s needs an image: make one with drover image build, and name it with drover pool set %s --image", pool.Name, Name, pool.Name)
	}
	digest, _, err := p.cfg.Images.Rootfs(ctx, pool.Image)
	return digest, err
}

// Uses reports whether a VM of this host has the image of that digest.
func (p *Provider) Uses(digest string) (bool, error) {
	ids, err := p.traces.Found()
	if err != nil {
		return true, err
	}
	for _, id := range ids {
		if r, err := p.traces.Read(id); err != nil || r.Image == digest {
			return true, nil //nolint:nilerr // who cannot be asked may have it
		}
	}
	return false, nil
}

// Close ends the process that starts VMs, and the VMs if they are tied to this process. It must be the last call.
func (p *Provider) Close() error {
	p.starter.close()
	p.program.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, fd := range p.lifeline {
		process.CloseFD(fd)
		p.lifeline[i] = -1
	}
	ctx, cancel := context.WithTimeout(context.Background(), liftTimeout)
	defer cancel()
	return core.Wrap(p.firewall.lift(ctx), core.CodeUnavailable, "", "the firewall of VMs with a network cannot be taken away; nft delete table inet drover does it")
}
