package core

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// HostGroup is hosts of one kind that are made when work waits, and ended when they are idle.
type HostGroup struct {
	Name     string `json:"name"`
	Provider string `json:"provider"` // one of CloudProviders
	// Profile is what the provider needs to know, as JSON: see core/cloud.
	Profile json.RawMessage `json:"profile,omitempty"`
	Size    Size            `json:"size"`             // of one host, as placement counts it before the host has reported; if Types has none
	Types   []MachineType   `json:"types,omitempty"`  // of machines to choose from
	Spot    bool            `json:"spot,omitempty"`   // machines that their provider may take back
	Labels  string          `json:"labels,omitempty"` // of its hosts, as FormatLabels writes them
	Min     int             `json:"min"`              // hosts that are always there
	Max     int             `json:"max"`              // most hosts

	MaxCores int   `json:"max_cores,omitempty"` // most cores of all its hosts; 0: any number
	MaxCost  int64 `json:"max_cost,omitempty"`  // most that all its hosts cost an hour, as MachineType.Cost; 0: any

	Goal       time.Duration `json:"goal_ns,omitempty"`        // hosts are made for a pool whose requests are expected to wait longer; 0: DefaultGoal
	IdleAfter  time.Duration `json:"idle_after_ns,omitempty"`  // hosts that had nothing in hand for so long are drained; 0: DefaultIdleAfter
	Cooldown   time.Duration `json:"cooldown_ns,omitempty"`    // so long after a host was made none is drained, and after a failure none is made; 0: DefaultCooldown
	JoinWithin time.Duration `json:"join_within_ns,omitempty"` // a machine whose host has not registered after so long is ended; 0: DefaultJoinWithin
	DrainFor   time.Duration `json:"drain_for_ns,omitempty"`   // deadline of a drain; 0: DefaultDrainFor

	Paused   bool  `json:"paused,omitempty"` // nothing is made or ended
	Revision int64 `json:"revision"`
}

// MachineType is a kind of machine that a group may be made of.
type MachineType struct {
	Name  string `json:"name"` // as the provider names it
	Size  Size   `json:"size"` // what a host of it has for VMs
	Cores int    `json:"cores,omitempty"`
	Cost  int64  `json:"cost,omitempty"` // an hour, in millionths of the operator's currency
}

// Providers of machines.
const (
	CloudCommand = "command" // a program of the operator
	CloudProcess = "process" // processes of the overseer's machine, for tests and demos
)

// CloudProviders returns all providers of machines.
func CloudProviders() []string { return []string{CloudCommand, CloudProcess} }

// Defaults of a group.
const (
	DefaultGoal       = time.Minute
	DefaultIdleAfter  = 10 * time.Minute
	DefaultCooldown   = time.Minute
	DefaultJoinWithin = 5 * time.Minute
	DefaultDrainFor   = 10 * time.Minute
)

// Bounds of a group.
const (
	MaxGroupHosts   = 1000
	MaxMachineTypes = 50
	MaxProfileBytes = 64 << 10
	MinGroupTime    = time.Second
	MaxGroupTime    = 7 * 24 * time.Hour
	maxGroupName    = 40 // the names of its hosts are longer
)

// Kinds returns the types of machines to choose from: one without a name, if it has none.
func (g HostGroup) Kinds() []MachineType {
	if len(g.Types) == 0 {
		return []MachineType{{Size: g.Size}}
	}
	return g.Types
}

// Filled returns the group with defaults for times that are 0.
func (g HostGroup) Filled() HostGroup {
	g.Goal, g.IdleAfter = cmp.Or(g.Goal, DefaultGoal), cmp.Or(g.IdleAfter, DefaultIdleAfter)
	g.Cooldown, g.JoinWithin = cmp.Or(g.Cooldown, DefaultCooldown), cmp.Or(g.JoinWithin, DefaultJoinWithin)
	g.DrainFor = cmp.Or(g.DrainFor, DefaultDrainFor)
	return g
}

// Serves reports whether a host of the group would have room for a VM of the pool.
func (g HostGroup) Serves(p Pool) bool {
	labels, err := ParseLabels(g.Labels)
	return err == nil && p.Wants(labels) == "" && slices.ContainsFunc(g.Kinds(), func(m MachineType) bool { return m.Holds(p) > 0 })
}

// Holds returns how many VMs of a pool a host of the type has room for.
func (m MachineType) Holds(p Pool) int { return Room{Size: m.Size.Known()}.Holds(p.Size(), p.Max) }

// Known returns the size with Unlimited for figures that are 0.
func (s Size) Known() Size {
	return Size{CPU: cmp.Or(s.CPU, Unlimited), Memory: cmp.Or(s.Memory, Unlimited), Disk: cmp.Or(s.Disk, Unlimited)}
}

// Check returns INVALID or LIMIT, naming the first wrong setting. The provider checks the profile.
func (g HostGroup) Check() error {
	if err := CheckName("host group", g.Name); err != nil {
		return err
	}
	if err := CheckRevision(g.Name, g.Revision); err != nil {
		return err
	}
	if _, err := ParseLabels(g.Labels); err != nil {
		return err
	}
	invalid := func(format string, args ...any) error {
		return Errorf(CodeInvalid, g.Name, "host group "+g.Name+": "+format, args...)
	}
	switch {
	case len(g.Name) > maxGroupName:
		return invalid("its name has %d characters, at most %d are allowed, because its hosts are named after it", len(g.Name), maxGroupName)
	case !slices.Contains(CloudProviders(), g.Provider):
		return invalid("provider %.40q is none: use %s", g.Provider, strings.Join(CloudProviders(), ", "))
	case len(g.Profile) > MaxProfileBytes:
		return Errorf(CodeLimit, g.Name, "host group %s: its profile has %d bytes, at most %d are allowed", g.Name, len(g.Profile), MaxProfileBytes)
	case len(g.Profile) > 0 && !json.Valid(g.Profile):
		return invalid("its profile is not JSON")
	case g.Max > MaxGroupHosts:
		return Errorf(CodeLimit, g.Name, "host group %s: max %d is more than %d hosts", g.Name, g.Max, MaxGroupHosts)
	case g.Min < 0 || g.Min > g.Max:
		return invalid("min %d must be between 0 and max %d", g.Min, g.Max)
	case g.MaxCores < 0 || g.MaxCost < 0:
		return invalid("limits of cores and cost must not be below 0")
	case len(g.Types) > MaxMachineTypes:
		return Errorf(CodeLimit, g.Name, "host group %s: %d types of machines, at most %d are allowed", g.Name, len(g.Types), MaxMachineTypes)
	}
	for _, d := range []time.Duration{g.Goal, g.IdleAfter, g.Cooldown, g.JoinWithin, g.DrainFor} {
		if d != 0 && (d < MinGroupTime || d > MaxGroupTime) {
			return invalid("a time of %s must be between %s and %s, or 0 for the default", d, MinGroupTime, MaxGroupTime)
		}
	}
	return g.checkTypes(invalid)
}

func (g HostGroup) checkTypes(invalid func(string, ...any) error) error {
	seen := make(map[string]bool)
	for _, m := range g.Types {
		if err := CheckTitle(g.Name, "machine type", m.Name); err != nil {
			return err
		}
		if seen[m.Name] {
			return invalid("machine type %s is there twice", m.Name)
		}
		seen[m.Name] = true
	}
	for _, m := range g.Kinds() {
		switch {
		case m.Size.CPU < 0 || m.Size.Memory < 0 || m.Size.Disk < 0 || m.Cores < 0 || m.Cost < 0:
			return invalid("size, cores and cost of a machine must not be below 0")
		case g.MaxCores > 0 && m.Cores == 0:
			return invalid("it limits cores, but machine type %q does not say how many it has", m.Name)
		case g.MaxCost > 0 && m.Cost == 0:
			return invalid("it limits cost, but machine type %q does not say what it costs", m.Name)
		}
	}
	return nil
}
