// Package scale decides how many machines groups of hosts have. Its functions are pure: without clock, randomness or
// I/O. Decide compares what is with what should be, and returns single steps. Each step is to be written to the result
// store before a provider is asked for anything, so that after a crash the next decision finds all that was begun.
package scale

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"drover/core"
)

// How long things may take.
const (
	// MaxTries is how often a provider is asked for one machine.
	MaxTries = 3
	// CreateWithin is after how long a provider that was asked for a machine counts as asked in vain. It is longer than
	// any call of a provider.
	CreateWithin = 90 * time.Second
	// ListLag is how long a provider's list may lack a machine that it has just made.
	ListLag = time.Minute
	// StrayAfter is how old a machine is that no instance knows, before it is ended.
	StrayAfter = 5 * time.Minute

	retryAfter = 10 * time.Second // doubled at each try
	maxPause   = time.Hour        // of a group that gave up
	maxNew     = 20               // machines of one group in one round
)

// By is who wants something of hosts, in their wishes: that those that are not needed are drained, and what labels new
// ones have.
const By = "scale"

// Cluster is what is decided on.
type Cluster struct {
	ID      string // of the result store: machines of others are never touched
	Ground  core.Ground
	Clock   core.RedisClock // read after the ground
	Groups  []Group
	Drained map[string]string // hosts that are to be drained → by whom, as the result store has it
	Labeled map[string]bool   // hosts that have settings in the result store
}

// Group is a group with what it has.
type Group struct {
	core.HostGroup
	Instances []core.Instance // all that are not terminated, and some of the newest that are
	Machines  []core.Machine  // as its provider lists them, read before the instances
	Listed    bool            // the provider answered
}

// Act is what is to be done once a step is written.
type Act string

// The acts.
const (
	None      Act = ""
	Create    Act = "create"    // ask the provider for the machine, then write what Made or Tried returns
	Terminate Act = "terminate" // ask the provider to end it
	Drain     Act = "drain"     // its host is to finish what it has in hand
	Undrain   Act = "undrain"   // its host takes work again
	Label     Act = "label"     // its host gets the labels of its group
)

// Step is a change of an instance.
type Step struct {
	Instance core.Instance // as it is to be; its revision is that of the record that it replaces
	Put      bool          // it differs from that record
	Do       Act
}

// Stray is a machine that no instance knows.
type Stray struct {
	Group   string // whose provider has it
	Machine core.Machine
}

// Plan is what is to be done.
type Plan struct {
	Steps  []Step
	Strays []Stray
	Forget []string // hosts of machines that have ended
}

// Decide returns the next steps, at most one for each instance.
func Decide(c Cluster) Plan {
	r := newRound(c)
	for _, g := range r.groups {
		for _, i := range g.Instances {
			r.observe(g, i)
		}
	}
	r.grow()
	for _, g := range r.groups {
		if !g.Paused {
			r.shrink(g)
		}
		r.strays(g)
	}
	return r.plan()
}

// round is one decision.
type round struct {
	Cluster
	now    int64
	hosts  map[string]*core.HostInfo
	groups []*group
	forget []string
	stray  []Stray
}

// group is a group in a round.
type group struct {
	Group
	steps   []*Step // one for each instance that is not terminated
	last    int     // number of the newest instance
	made    int     // in this round
	failing Failing
	wanted  bool // work waits that its hosts could do
}

func newRound(c Cluster) *round {
	r := &round{Cluster: c, now: c.Clock.Now, hosts: make(map[string]*core.HostInfo, len(c.Ground.Hosts))}
	for i := range c.Ground.Hosts {
		r.hosts[c.Ground.Hosts[i].Name] = &c.Ground.Hosts[i]
	}
	for _, one := range slices.SortedFunc(slices.Values(c.Groups), func(a, b Group) int { return strings.Compare(a.Name, b.Name) }) {
		one.HostGroup = one.Filled()
		g := &group{Group: one, failing: Fails(one.HostGroup, one.Instances)}
		slices.SortFunc(g.Instances, func(a, b core.Instance) int { return strings.Compare(a.ID, b.ID) })
		for _, i := range g.Instances {
			g.last = max(g.last, number(i.ID))
		}
		r.groups = append(r.groups, g)
	}
	return r
}

// Name is that of a group's instance with a number.
func Name(group string, n int) string { return fmt.Sprintf("%s-%06d", group, n) }

func number(id string) int {
	n, err := strconv.Atoi(id[strings.LastIndexByte(id, '-')+1:])
	if err != nil {
		return 0
	}
	return n
}

// Failing says whether the newest instances of a group never became hosts.
type Failing struct {
	Times int    // in a row; 0: it is not failing
	Since int64  // of the last one, ms since 1970
	ID    string // of the last one
	Why   string
}

// Fails returns whether a group is failing.
func Fails(g core.HostGroup, instances []core.Instance) (f Failing) {
	for _, i := range slices.SortedFunc(slices.Values(instances), func(a, b core.Instance) int { return strings.Compare(b.ID, a.ID) }) {
		switch {
		case i.Group != g.Name:
		case i.Joined > 0:
			return f
		case i.Failed:
			if f.Times == 0 {
				f.Since, f.ID, f.Why = i.Since, i.ID, i.Why
			}
			f.Times++
		}
	}
	return f
}

// pauses reports whether a group that gave up is not to try again yet. Its pause doubles each time.
func (r *round) pauses(g *group) bool {
	if g.failing.Times == 0 {
		return false
	}
	pause := min(maxPause, g.Cooldown<<min(g.failing.Times-1, 10))
	return r.Clock.Age(g.failing.Since) < pause
}

// moved returns an instance in another state.
func moved(i core.Instance, to core.InstanceState, now int64, why string) core.Instance {
	i.State, i.Since, i.Why = to, now, why
	if to != core.InstanceJoined {
		i.Idle = 0
	}
	if to != core.InstanceDraining {
		i.Deadline = 0
	}
	return i
}

// Made returns an instance whose provider has made its machine.
func Made(i core.Instance, foreign string, now int64) core.Instance {
	i.Foreign = foreign
	return moved(i, core.InstanceRunning, now, "its provider has it")
}

// Tried returns an instance whose provider did not make its machine. It is asked again, unless the order itself is
// wrong, or it was asked MaxTries times.
func Tried(i core.Instance, err error, now int64) core.Instance {
	i.Tries++
	why := bounded(err.Error())
	if i.Tries < MaxTries && !core.Is(err, core.CodeInvalid) && !core.Is(err, core.CodeForbidden) {
		return moved(i, core.InstanceValid, now, why)
	}
	i.Failed = true
	return moved(i, core.InstanceTerminating, now, why)
}

// maxWhy bounds a reason, in bytes.
const maxWhy = 500

func bounded(why string) string {
	if len(why) > maxWhy {
		why = strings.ToValidUTF8(why[:maxWhy], "")
	}
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return ' '
		}
		return c
	}, why)
}

// plan collects what was decided.
func (r *round) plan() Plan {
	p := Plan{Strays: r.stray, Forget: r.forget}
	for _, g := range r.groups {
		for _, s := range g.steps {
			if s.Put || s.Do != None {
				p.Steps = append(p.Steps, *s)
			}
		}
	}
	slices.SortStableFunc(p.Steps, func(a, b Step) int { return cmp.Compare(a.Instance.ID, b.Instance.ID) })
	return p
}
