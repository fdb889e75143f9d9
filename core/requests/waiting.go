package requests

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"drover/core"
	"drover/core/cluster/placement"
)

// Reason names why a request waits.
type Reason string

// The reasons.
const (
	ReasonTurn         Reason = "turn"          // it waits for its turn and a VM
	ReasonRunning      Reason = "running"       // as many of its submitter's run as its pool allows at once
	ReasonPaused       Reason = "paused"        // its pool is paused
	ReasonNoVMFactory  Reason = "no_vmfactory"  // no vmfactory makes VMs
	ReasonNoTestrunner Reason = "no_testrunner" // no testrunner runs requests
	ReasonNoHost       Reason = "no_host"       // no host that is up and not drained makes VMs of its pool
	ReasonCapacity     Reason = "capacity"      // the hosts that do are all too small for one
	ReasonReserved     Reason = "reserved"      // they keep the room for leases
	ReasonFetching     Reason = "fetching"      // a host is fetching the image of its VMs
	ReasonBroken       Reason = "broken"        // a host cannot make VMs of its pool
	ReasonAccepted     Reason = "accepted"      // it is in no queue yet
	ReasonParked       Reason = "parked"        // no living host has room for it
	ReasonRetry        Reason = "retry"         // it pauses after a fault before its next try
	ReasonAssigned     Reason = "assigned"      // it is assigned to one host, which takes it first
)

// Waiting says why a request is not being run yet.
type Waiting struct {
	Reason   Reason    `json:"reason"`
	Text     string    `json:"text"`                  // a sentence, for operators or for the submitter
	FailsAt  int64     `json:"fails_at_ms,omitempty"` // when it ends by the platform's fault if its pool stays broken on all hosts; 0: never
	Ahead    *int      `json:"ahead,omitempty"`       // requests that take their turns before it, as of now; nil: unknown
	AtLeast  bool      `json:"at_least,omitempty"`    // Ahead is a lower bound: there are too many submitters to look at all
	Soon     bool      `json:"soon,omitempty"`        // it is due within the hour: of four turns three are those of such requests
	Expected *Expected `json:"expected,omitempty"`    // nil: not known
}

func waits(s core.RequestState) bool { return s == core.RequestQueued || s == core.RequestParked }

// reasonOf derives the reason from the place of a waiting request.
func reasonOf(p core.Place) Reason {
	switch {
	case p.State == core.RequestParked:
		return ReasonParked
	case p.Due > 0:
		return ReasonRetry
	case p.Assigned != "":
		return ReasonAssigned
	}
	return ReasonTurn
}

// worded is the text of a reason: for operators, with what to do about it, and for the submitter, who can do nothing.
type worded struct{ operator, person string }

func (w worded) of(operator bool) string {
	if operator {
		return w.operator
	}
	return w.person
}

// sentences are the texts of the reasons; words in braces are filled in.
var sentences = map[Reason]worded{
	ReasonTurn: {
		"it waits for its turn and a VM of pool {pool}",
		"it waits for its turn",
	},
	ReasonRunning: {
		"{fault} of its submitter run, as many as pool {pool} allows at once; it begins when one of them ends",
		"as many requests of its submitter run as may at once; it begins when one of them ends",
	},
	ReasonPaused: {
		"pool {pool} is paused until an operator lets it go on",
		"the machines that would run it are paused for now; it keeps its place",
	},
	ReasonNoVMFactory: {
		"no vmfactory is running: start one",
		"the machines that would run it are switched off for now; it keeps its place",
	},
	ReasonNoTestrunner: {
		"no testrunner is running: start one",
		"the machines that would run it are switched off for now; it keeps its place",
	},
	ReasonNoHost: {
		"no host makes VMs of pool {pool} now: {fault}",
		"the machines that would run it are switched off for now; it keeps its place",
	},
	ReasonCapacity: {
		"a VM of pool {pool} takes more {fault} than any host that makes them has for VMs",
		"the machines that are up now are too small for it; it keeps its place",
	},
	ReasonReserved: {
		"the room that a VM of pool {pool} would need is reserved for leases; it begins when they leave some, or a VM of its pool is free",
		"the machines that would run it are reserved for others now; it keeps its place",
	},
	ReasonFetching: {
		"host {host} is not ready to make VMs of pool {pool}: {fault}",
		"a machine is being made ready for it",
	},
	ReasonBroken: {
		"host {host} cannot make VMs of pool {pool}: {fault}",
		"the machines have a fault, which is not that of what was submitted; it keeps its place",
	},
	ReasonAccepted: {
		"it is accepted, but not in Redis yet; the overseer's sweep puts it there",
		"it is accepted and will be queued in a moment",
	},
	ReasonParked: {
		"parked: when its host was lost or drained no other had room for it; the first that has takes it",
		"its machine was lost; the first other one with room takes it, before all that waits",
	},
	ReasonRetry: {
		"after a fault of the platform its next try is due in {left}",
		"its machine had a fault; it is tried again in {left}",
	},
	ReasonAssigned: {
		"it moves to host {host}, which takes it before all other work",
		"it moves to another machine, which takes it before all other work",
	},
}

// ifItLasts is the text of ReasonBroken where the request fails if that lasts.
var ifItLasts = worded{
	"no host can make VMs of pool {pool}, on {host}: {fault}; if that lasts, it fails in {left}",
	"the machines have a fault, which is not that of what was submitted; if that lasts, it ends in {left} by the platform's fault",
}

// wording returns the text of a reason. Fails is when the request fails if that lasts, ms since 1970; 0: never.
func (d *Service) wording(r Reason, fails int64, spec *core.Spec, p core.Place, fault string, operator bool) string {
	text, left := sentences[r], max(0, time.UnixMilli(p.Due).Sub(d.now())).Round(100*time.Millisecond)
	if fails > 0 {
		text, left = ifItLasts, max(time.Second, time.UnixMilli(fails).Sub(d.now()).Round(time.Second))
	}
	return strings.NewReplacer("{pool}", spec.Pool, "{left}", left.String(), "{host}", p.Assigned, "{fault}", fault).Replace(text.of(operator))
}

// waiting returns why a request in the place waits, nil if it does not.
func (d *Service) waiting(ctx context.Context, spec core.Spec, p *core.Place, operator bool) (*Waiting, error) {
	at := core.Place{}
	if p != nil {
		at = *p
	}
	pool, err := d.pool(ctx, cmp.Or(at.Pool, spec.Pool)) // a lease's, if it waits there
	if err != nil {
		return nil, err
	}
	w := &Waiting{Reason: pool.reason, FailsAt: pool.fails}
	if w.Reason == ReasonTurn {
		w.Reason = reasonOf(at)
	}
	if w.Reason == ReasonTurn && at.State == "" {
		w.Reason = ReasonAccepted
	}
	if at.Assigned == "" {
		at.Assigned = pool.host
	}
	w.Text = d.wording(w.Reason, w.FailsAt, &spec, at, pool.fault, operator)
	if at.State != core.RequestQueued || at.Due > 0 || w.Reason == ReasonAssigned {
		return w, nil
	}
	preceding, queued, err := d.Queue.Preceding(ctx, spec.Key())
	if err != nil || !queued {
		return w, err
	}
	w.Soon = preceding.Soon
	if w.Reason == ReasonTurn && preceding.MostRunning > 0 && preceding.Running >= preceding.MostRunning {
		w.Reason = ReasonRunning
		w.Text = d.wording(w.Reason, 0, &spec, at, strconv.Itoa(preceding.Running), operator)
	}
	ahead := before(preceding, spec.Priority)
	w.Ahead, w.AtLeast = &ahead, preceding.AtLeast
	if w.Reason == ReasonTurn {
		most := preceding
		if most.AtLeast {
			most.Turns = max(most.Turns, most.Waiting[spec.Priority]-1)
		}
		w.Expected = pool.pace.expect(ahead, before(most, spec.Priority))
	}
	return w, nil
}

// shares are how many of every ten turns each priority has; unused turns go to the others.
var shares = map[core.Priority]int{core.PriorityHigh: 6, core.PriorityNormal: 3, core.PriorityLow: 1}

// before counts the requests that go before one: of its own priority by turns, of other priorities their share until
// then, and parked ones.
func before(p core.Preceding, priority core.Priority) int {
	n := p.Turns + p.Parked
	for _, other := range core.Priorities() {
		if other != priority {
			n += min(p.Waiting[other], p.Turns*shares[other]/shares[priority])
		}
	}
	return n
}

// TasksRun reports whether a taskrunner is alive.
func (d *Service) TasksRun(ctx context.Context) (bool, error) {
	owners, err := d.Cluster.ListOwners(ctx)
	return !slices.Contains(core.Missing(owners, core.Overseen{}), core.RoleTaskrunner), err
}

// trouble returns what prevents a pool's requests from being run; ReasonTurn if nothing does.
func (d *Service) trouble(ctx context.Context, name string) (r Reason, host, fault string, err error) {
	pool, err := d.Cluster.GetPool(ctx, name)
	switch {
	case err == nil && pool.Paused:
		return ReasonPaused, "", "", nil
	case err != nil && !core.Is(err, core.CodeNotFound): // a pool that Redis has lost comes back
		return "", "", "", err
	}
	owners, err := d.Cluster.ListOwners(ctx)
	if err != nil {
		return "", "", "", err
	}
	running := func(role core.Role) bool {
		return slices.ContainsFunc(owners, func(o core.OwnerInfo) bool { return o.Role == role && !o.Late })
	}
	switch {
	case !running(core.RoleVMFactory):
		return ReasonNoVMFactory, "", "", nil
	case !running(core.RoleTestrunner):
		return ReasonNoTestrunner, "", "", nil
	}
	hosts, err := d.Cluster.ListHosts(ctx)
	for _, h := range hosts {
		if what := h.Fetching[name]; what != "" {
			return ReasonFetching, h.Name, what, nil
		}
		if why := h.Broken[name]; why != "" {
			return ReasonBroken, h.Name, why, nil
		}
	}
	if err != nil || pool.Name == "" {
		return ReasonTurn, "", "", err
	}
	if r, fault = hostless(pool, hosts); r != ReasonTurn || pool.Lease != "" || !slices.ContainsFunc(hosts, keepsForLeases) {
		return r, "", fault, nil
	}
	pools, err := d.Cluster.ListPools(ctx)
	if err == nil && reserved(pool, pools, hosts) {
		r = ReasonReserved
	}
	return r, "", "", err
}

// keepsForLeases reports whether a host has idle VMs of leases, or is to.
func keepsForLeases(h core.HostInfo) bool {
	for pool, t := range h.Targets {
		if strings.HasPrefix(pool, core.LeasePrefix) && t.Warm > 0 {
			return true
		}
	}
	return false
}

// reserved reports whether a pool lacks VMs because of leases: no host has an idle one or is to make one, and one that
// could holds idle VMs for leases instead.
func reserved(p core.Pool, pools []core.Pool, hosts []core.HostInfo) bool {
	size := make(map[string]core.Size, len(pools))
	for i := range pools {
		size[pools[i].Name] = pools[i].Size()
	}
	is := false
	for i := range hosts {
		h := &hosts[i]
		if !slices.Contains(h.Serves, p.Name) || h.State != core.HostUp || h.Drain {
			continue
		}
		if h.VMsOf[p.Name][core.VMClean] > 0 || h.Targets[p.Name].Most > h.VMsOf[p.Name][core.VMClaimed] || h.Targets[p.Name].Warm > 0 {
			return false
		}
		free := h.Capacity()
		for pool, states := range h.VMsOf {
			for state, n := range states {
				idle := state == core.VMClean || state == core.VMCreating
				goes := state == core.VMDirty || state == core.VMDestroying || idle && strings.HasPrefix(pool, core.LeasePrefix)
				if !goes {
					free = free.Less(size[pool], n)
				}
			}
		}
		is = is || keepsForLeases(*h) && free.Lacks(p.Size()) == ""
	}
	return is
}

// failing says when requests of a broken pool fail, and on which host the fault is that they name then.
func (d *Service) failing(ctx context.Context, name string, s *poolState) error {
	outages, err := d.Cluster.Outages(ctx)
	o, is := outages[name]
	if err != nil || !is {
		return err
	}
	p, err := d.Cluster.GetPool(ctx, name)
	switch {
	case core.Is(err, core.CodeNotFound): // it is gone since
		return nil
	case err != nil:
		return err
	}
	if s.fails = p.FailsAt(o); s.fails > 0 {
		s.host, s.fault = o.Host, o.Why
	}
	return nil
}

// hostless returns ReasonNoHost or ReasonCapacity, and why, if no host can make VMs of the pool; else ReasonTurn.
func hostless(p core.Pool, hosts []core.HostInfo) (Reason, string) {
	labelled, ready := p.Requires == "", false
	for i := range hosts {
		h := &hosts[i]
		labelled = labelled || p.Wants(h.Settings.Labels) == ""
		ready = ready || h.Ready && len(h.Serves) > 0
	}
	here, gone := p.HostsFor(hosts)
	able, away := make(map[string]core.Size), []string(nil)
	for _, h := range here {
		able[h.Name] = h.Capacity()
	}
	for _, h := range gone {
		if h.State == core.HostDown {
			away = append(away, h.Name+" is down")
		} else {
			away = append(away, h.Name+" is drained")
		}
	}
	switch lacks, _ := placement.TooLarge(p.Size(), able); {
	case lacks != "":
		return ReasonCapacity, lacks
	case len(able) > 0 || !ready: // a host that has just started reports what it serves in a moment
		return ReasonTurn, ""
	case len(away) > 0:
		return ReasonNoHost, strings.Join(away, ", ")
	case !labelled:
		return ReasonNoHost, "none has the labels " + p.Requires + "; give them to a host"
	}
	return ReasonNoHost, "none serves it; name it with --pools of a vmfactory"
}
