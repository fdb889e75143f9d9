package core

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Pool is a named kind of VM: what it is made of, how large it is, how many are kept ready on each host, and what its
// requests may do.
type Pool struct {
	Name     string `json:"name"`
	Provider string `json:"provider"`           // one of ProviderKinds
	Image    string `json:"image,omitempty"`    // name or name@digest of the root file system; "": the provider's default
	Warm     int    `json:"warm"`               // clean VMs kept per host
	Max      int    `json:"max"`                // maximum of VMs per host, in all states
	Paused   bool   `json:"paused"`             // claims skip a paused pool
	Network  string `json:"network,omitempty"`  // what its VMs can reach: NetworkNone or NetworkEgress; "" is none
	Peer     bool   `json:"peer,omitempty"`     // each VM has a peer: a second container, for the trusted part of a request
	Quiet    bool   `json:"quiet,omitempty"`    // each VM has processor cores of its own, where a host has cores to spare
	Unboxed  bool   `json:"unboxed,omitempty"`  // harnesses grade in it that start submissions without drover-run, as their own user
	Requires string `json:"requires,omitempty"` // labels that a host must have to make its VMs, as FormatLabels writes them; "" is any host

	// Of a pool of a lease, which only Redis has; see LeasedPools.
	Of        string `json:"of,omitempty"`         // pool whose VMs it reserves
	Lease     string `json:"lease,omitempty"`      // id
	LeaseName string `json:"lease_name,omitempty"` // what people call that lease

	// What overseers decide on for the whole cluster; without one, each host goes by Warm and Max alone.
	WarmTotal int            `json:"warm_total,omitempty"`    // clean VMs kept in the whole cluster, those of Warm included
	WarmMost  int            `json:"warm_most,omitempty"`     // up to so many are kept in the whole cluster if arrivals ask for them; 0: none for that
	Spread    int            `json:"spread,omitempty"`        // hosts over which its VMs are spread, if it has as many; 0 and 1: any number
	Strategy  Strategy       `json:"strategy,omitempty"`      // on which hosts VMs are made; "" is WorstFit
	Order     PlacementOrder `json:"order,omitempty"`         // which pool gets its VMs first where they do not all fit; "" is Fifo
	IdleAfter time.Duration  `json:"idle_after_ns,omitempty"` // nothing is kept warm while nobody used it for so long; 0: always

	Limits Limits `json:"limits"` // defaults of a request; a request may lower but never raise them

	MaxWait      time.Duration `json:"max_wait_ns"`               // a request that waits longer ends timed_out; 0: no limit
	BrokenFor    time.Duration `json:"broken_for_ns,omitempty"`   // waiting requests end failed once none of its hosts could make its VMs for so long; 0: they wait on
	MaxWaiting   int           `json:"max_waiting"`               // waiting requests of one submitter and priority
	Running      int           `json:"running,omitempty"`         // requests of one submitter and priority that run at once; 0: any number
	StageTimeout time.Duration `json:"stage_ns"`                  // from claim to the command's start
	OnHostLoss   string        `json:"on_host_loss"`              // requeue or fail
	KeepOutputs  time.Duration `json:"keep_outputs_ns,omitempty"` // how long a result keeps stdout, stderr and files; 0: as long as the result itself
}

// AllPools stands for every pool in a host's list of the pools that it serves; no pool can have this name.
const AllPools = "all"

// What happens to the work of a lost host.
const (
	OnHostLossRequeue = "requeue"
	OnHostLossFail    = "fail"
)

// What VMs can reach.
const (
	NetworkNone   = "none"   // their own loopback
	NetworkEgress = "egress" // public addresses, by connections that they make themselves
)

// DefaultPool returns the settings of a pool that nobody has set.
func DefaultPool(name string) Pool {
	return Pool{
		Name: name, Provider: ProviderKinds()[0].Name, Warm: 2, Max: 8,
		Limits: Limits{
			Timeout: time.Minute, Memory: 256 << 20, Disk: 64 << 20, FileSize: 64 << 20,
			Pids: 64, OpenFiles: 256, Output: 1 << 20,
		},
		MaxWait: 24 * time.Hour, MaxWaiting: 10_000, StageTimeout: 30 * time.Second, OnHostLoss: OnHostLossRequeue,
	}
}

// VMKind is all settings that a VM is made with: two VMs of one kind are interchangeable.
type VMKind struct {
	Provider, Image, Network string

	Peer   bool   // it is a pair; see PeerOf
	Quiet  bool   // it has cores of its own
	Limits Limits // without the limits that each run sets itself
}

// Kind returns the kind of the pool's VMs.
func (p Pool) Kind() VMKind {
	k := VMKind{Provider: p.Provider, Image: p.Image, Network: p.Network, Peer: p.Peer, Quiet: p.Quiet, Limits: p.Limits}
	if k.Network == "" {
		k.Network = NetworkNone
	}
	k.Limits.Timeout, k.Limits.Output = 0, 0
	return k
}

// Size is what one VM of the pool takes of its host.
func (p Pool) Size() Size { return p.Kind().Size() }

// Size is what one such VM takes of its host. One that leaves processors to its provider takes none
// that are counted, and one that writes to memory alone takes no disk.
func (k VMKind) Size() Size {
	s := Size{CPU: int64(k.Limits.CPU), Memory: k.Limits.Memory}
	if !slices.ContainsFunc(ProviderKinds(), func(p ProviderKind) bool { return p.Name == k.Provider && p.InMemory }) {
		s.Disk = k.Limits.Disk
	}
	if k.Peer {
		s = Size{CPU: 2 * s.CPU, Memory: 2 * s.Memory, Disk: 2 * s.Disk}
	}
	return s
}

// Wants returns the first label that the pool requires and a host with these labels lacks, as
// NAME=VALUE; "" if it lacks none.
func (p Pool) Wants(labels map[string]string) string {
	wanted, err := ParseLabels(p.Requires)
	if err != nil {
		return p.Requires // Check keeps such a pool out
	}
	for _, k := range slices.Sorted(maps.Keys(wanted)) {
		if labels[k] != wanted[k] {
			return k + "=" + wanted[k]
		}
	}
	return ""
}

// Upper bounds of a pool's settings.
const (
	MaxPoolVMs     = 10_000
	MaxPids        = 1_000_000
	MaxTimeout     = 24 * time.Hour
	MaxOutputBytes = 16 << 20
	MinCPU         = 10 // thousandths of a processor: the kernel's smallest quota
	MaxCPU         = 1_024_000
	MinKeepOutputs = time.Minute
	MaxKeepOutputs = 100 * 365 * 24 * time.Hour
)

// Check returns an INVALID error that names the first invalid setting.
func (p Pool) Check() error {
	if err := CheckName("pool", p.Name); err != nil {
		return err
	}
	if err := CheckName("provider", p.Provider); err != nil {
		return err
	}
	if p.Image != "" {
		if _, _, err := ParseImageRef(p.Image); err != nil {
			return err
		}
	}
	if _, err := ParseLabels(p.Requires); err != nil {
		return err
	}
	if err := p.checkPlacement(); err != nil {
		return err
	}
	l := p.Limits
	leased := strings.HasPrefix(p.Name, LeasePrefix)
	switch {
	case leased != (p.Lease != "") || leased != (p.Of != ""):
		return Errorf(CodeInvalid, p.Name, "pool %s: names that begin with %s are those of leases' pools, which no others have: choose another one", p.Name, LeasePrefix)
	case p.Name == AllPools:
		return Errorf(CodeInvalid, p.Name, "no pool can be named %s: it stands for all of them", AllPools)
	case p.Network != "" && p.Network != NetworkNone && p.Network != NetworkEgress:
		return Errorf(CodeInvalid, p.Name, "pool %s: network %q must be %s or %s", p.Name, p.Network, NetworkNone, NetworkEgress)
	case p.Max < 1 || p.Max > MaxPoolVMs:
		return Errorf(CodeInvalid, p.Name, "pool %s: max %d must be between 1 and %d", p.Name, p.Max, MaxPoolVMs)
	case p.Warm < 0 || p.Warm > p.Max:
		return Errorf(CodeInvalid, p.Name, "pool %s: warm %d must be between 0 and max %d", p.Name, p.Warm, p.Max)
	case l.Timeout <= 0 || l.Timeout > MaxTimeout:
		return Errorf(CodeInvalid, p.Name, "pool %s: timeout %s must be above 0 and at most %s", p.Name, l.Timeout, MaxTimeout)
	case l.Memory < 4<<20:
		return Errorf(CodeInvalid, p.Name, "pool %s: memory %d must be at least 4 MiB", p.Name, l.Memory)
	case l.Disk < 1<<20 || l.FileSize < 1<<10:
		return Errorf(CodeInvalid, p.Name, "pool %s: disk must be at least 1 MiB and file size at least 1 KiB", p.Name)
	case l.Pids < 1 || l.Pids > MaxPids || l.OpenFiles < 16:
		return Errorf(CodeInvalid, p.Name, "pool %s: pids must be between 1 and %d, and open files at least 16", p.Name, MaxPids)
	case l.CPU < 0 || l.CPU > 0 && (l.CPU < MinCPU || l.CPU > MaxCPU):
		return Errorf(CodeInvalid, p.Name, "pool %s: cpu %d must be between %d and %d thousandths of a processor, or 0 for the provider's own", p.Name, l.CPU, MinCPU, MaxCPU)
	case l.Output < 1 || l.Output > MaxOutputBytes:
		return Errorf(CodeInvalid, p.Name, "pool %s: output %d must be between 1 and %d bytes", p.Name, l.Output, MaxOutputBytes)
	case p.MaxWait < 0 || p.MaxWaiting < 1 || p.StageTimeout <= 0:
		return Errorf(CodeInvalid, p.Name, "pool %s: max wait must not be negative, max waiting and stage time-out must be above 0", p.Name)
	case p.Running < 0 || p.Running > MaxPoolVMs:
		return Errorf(CodeInvalid, p.Name, "pool %s: running %d must be between 1 and %d, or 0 for any number", p.Name, p.Running, MaxPoolVMs)
	case p.BrokenFor != 0 && (p.BrokenFor < MinBrokenFor || p.BrokenFor > MaxBrokenFor):
		return Errorf(CodeInvalid, p.Name, "pool %s: broken for %s must be between %s and %s, or 0 to let requests wait however long its VMs cannot be made", p.Name, p.BrokenFor, MinBrokenFor, MaxBrokenFor)
	case p.KeepOutputs != 0 && (p.KeepOutputs < MinKeepOutputs || p.KeepOutputs > MaxKeepOutputs):
		return Errorf(CodeInvalid, p.Name, "pool %s: keep outputs %s must be between %s and %s, or 0 to keep them as long as their results", p.Name, p.KeepOutputs, MinKeepOutputs, MaxKeepOutputs)
	case p.OnHostLoss != OnHostLossRequeue && p.OnHostLoss != OnHostLossFail:
		return Errorf(CodeInvalid, p.Name, "pool %s: on host loss %q must be %s or %s", p.Name, p.OnHostLoss, OnHostLossRequeue, OnHostLossFail)
	}
	return nil
}

// Within returns l, filled from the pool's limits, or an INVALID error if l asks
// for more than the pool gives.
func (p Pool) Within(l Limits) (Limits, error) {
	return l.Or(p.Limits), p.Exceeded(l).First()
}

// Exceeded returns the limits of a request that are not within the pool's.
func (p Pool) Exceeded(l Limits) Faults {
	var faults Faults
	if full := l.Or(p.Limits); full.CPU != p.Limits.CPU {
		faults = append(faults, Fault{"limits.cpu", Errorf(CodeInvalid, p.Name, "a request cannot have %d thousandths of a processor: all VMs of pool %s have %d", full.CPU, p.Name, p.Limits.CPU)})
	}
	for _, e := range l.Exceeding(p.Limits) {
		if e.Field != "cpu" {
			faults = append(faults, Fault{"limits." + e.Field, Errorf(CodeInvalid, p.Name,
				"%s %s is more than pool %s allows (%s): ask for less or have an operator raise the limits of the pool", e.Name, e.Got, p.Name, e.Most)})
		}
	}
	return faults
}

// PoolUsed returns CONFLICT for the removal of a pool that something uses, nil if nothing does.
func PoolUsed(name string, by []string) error {
	if len(by) == 0 {
		return nil
	}
	return Errorf(CodeConflict, name, "pool %s is used by %s: end these, or give them another pool", name, strings.Join(by, ", "))
}
