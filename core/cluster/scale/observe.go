package scale

import (
	"fmt"
	"time"

	"drover/core"
)

// observe records what became of one instance: what its provider and its host say.
func (r *round) observe(g *group, i core.Instance) {
	h := r.hosts[i.ID]
	if i.State == core.InstanceTerminated {
		if h != nil && h.State == core.HostDown && !g.Paused {
			r.forget = append(r.forget, h.Name)
		}
		return
	}
	s := &Step{Instance: i}
	g.steps = append(g.steps, s)
	m := g.machine(i, r.ID)
	switch i.State {
	case core.InstanceValid:
		if r.Clock.Age(i.Since) >= backoff(i.Tries) {
			r.move(s, core.InstanceCreating, "its provider is asked for it")
			s.Do = Create
		}
	case core.InstanceCreating:
		r.creating(s, m)
	case core.InstanceRunning:
		r.running(g, s, m, h)
	case core.InstanceJoined:
		r.joined(g, s, m, h)
	case core.InstanceDraining:
		r.draining(g, s, m, h)
	case core.InstanceTerminating:
		if g.lost(r, i, m) {
			r.move(s, core.InstanceTerminated, i.Why)
		} else {
			s.Do = Terminate
		}
	case core.InstanceTerminated:
	}
	if g.Paused && (s.Do != None || s.Instance.State == core.InstanceTerminating) {
		*s = Step{Instance: i} // nothing is made or ended
	}
}

// backoff is how long after a failed try the next one comes.
func backoff(tries int) time.Duration {
	if tries == 0 {
		return 0
	}
	return retryAfter << min(tries-1, MaxTries)
}

// machine returns the machine of an instance; nil if its provider lists none.
func (g *group) machine(i core.Instance, cluster string) *core.Machine {
	var found *core.Machine
	for n := range g.Machines {
		m := &g.Machines[n]
		if m.Token == i.ID && m.Cluster == cluster && (i.Foreign == "" || i.Foreign == m.Foreign) && (found == nil || found.Gone) {
			found = m
		}
	}
	return found
}

// lost reports whether the provider does not have an instance's machine any more.
func (g *group) lost(r *round, i core.Instance, m *core.Machine) bool {
	return g.Listed && (m != nil && m.Gone || m == nil && r.Clock.Age(i.Since) >= ListLag)
}

// move changes the state of a step's instance.
func (r *round) move(s *Step, to core.InstanceState, why string) {
	s.Instance, s.Put = moved(s.Instance, to, r.now, why), true
}

// end lets the provider end a step's machine.
func (r *round) end(s *Step, why string) {
	r.move(s, core.InstanceTerminating, why)
	s.Do = Terminate
}

func (r *round) creating(s *Step, m *core.Machine) {
	switch {
	case m != nil && !m.Gone:
		s.Instance, s.Put = Made(s.Instance, m.Foreign, r.now), true
	case r.Clock.Age(s.Instance.Since) >= CreateWithin:
		// The overseer that asked died, or its provider did not answer.
		err := core.Errorf(core.CodeUnavailable, s.Instance.ID, "its provider did not answer within %s", CreateWithin)
		s.Instance, s.Put = Tried(s.Instance, err, r.now), true
		if s.Instance.Failed {
			s.Do = Terminate
		}
	}
}

func (r *round) running(g *group, s *Step, m *core.Machine, h *core.HostInfo) {
	switch {
	case h != nil && h.State == core.HostUp:
		s.Instance.Joined = r.now
		r.move(s, core.InstanceJoined, "its host registered")
	case g.lost(r, s.Instance, m):
		s.Instance.Failed = true
		r.end(s, "its provider lost it before its host registered")
	case r.Clock.Age(s.Instance.Since) >= g.JoinWithin:
		s.Instance.Failed = true
		r.end(s, fmt.Sprintf("its host did not register within %s", g.JoinWithin))
	}
}

// gone returns why an instance's machine is to be ended at once; "" if it is not.
func (r *round) gone(g *group, s *Step, m *core.Machine, h *core.HostInfo) string {
	switch {
	case g.lost(r, s.Instance, m) && (m != nil || h == nil || h.State != core.HostUp): // a list may be incomplete
		return "its provider lost it"
	case h == nil && r.Clock.AbsentFor(s.Instance.Since) >= core.AbsentLong:
		return "its host is not known any more"
	case h != nil && h.State == core.HostDown && r.Clock.AbsentFor(h.Deadline) >= core.AbsentLong:
		return fmt.Sprintf("its host was silent for %s", core.AbsentLong)
	}
	return ""
}

func (r *round) joined(g *group, s *Step, m *core.Machine, h *core.HostInfo) {
	if why := r.gone(g, s, m, h); why != "" {
		r.end(s, why)
		return
	}
	if r.reclaim(s, m) {
		return
	}
	if h == nil {
		return
	}
	switch {
	case r.Drained[h.Name] == By:
		s.Do = Undrain // an overseer that took it back died before it said so
	case g.Labels != "" && !r.Labeled[h.Name]:
		s.Do = Label // what an operator sets later stays
	}
	switch idle := r.idle(h); {
	case idle && s.Instance.Idle == 0:
		s.Instance.Idle, s.Put = r.now, true
	case !idle && s.Instance.Idle != 0:
		s.Instance.Idle, s.Put = 0, true
	}
}

// reclaim drains a host whose machine its provider takes back. It returns false if there is nothing to do.
func (r *round) reclaim(s *Step, m *core.Machine) bool {
	if m == nil || m.Notice == 0 {
		return false
	}
	next, is := Reclaimed(s.Instance, m.Notice, r.now)
	if is {
		s.Instance, s.Put, s.Do = next, true, Drain
	}
	return is
}

func (r *round) draining(g *group, s *Step, m *core.Machine, h *core.HostInfo) {
	i := &s.Instance
	why := r.gone(g, s, m, h)
	switch {
	case why != "":
		r.end(s, why)
	case r.reclaim(s, m):
	case h != nil && h.Drain && r.idle(h):
		r.end(s, "its host has nothing in hand any more")
	case r.Clock.Age(i.Since) >= time.Duration(i.Deadline-i.Since)*time.Millisecond:
		r.end(s, "the time of its drain is over")
	case h != nil && !h.Drain:
		s.Do = Drain
	}
}

// idle reports whether a host has no work in hand. What a Redis that was just emptied or set back does not know, hosts
// may have.
func (r *round) idle(h *core.HostInfo) bool {
	if r.Clock.AbsentFor(0) < core.AbsentLong {
		return false
	}
	for _, states := range h.VMsOf {
		if states[core.VMClaimed] > 0 {
			return false
		}
	}
	for _, n := range r.Ground.Assigned[h.Name] {
		if n > 0 {
			return false
		}
	}
	return true
}

// strays finds machines that no instance knows: an overseer wrote of each before it was asked for.
func (r *round) strays(g *group) {
	if g.Paused || !g.Listed {
		return
	}
	known := make(map[string]string)
	names := make(map[string]bool)
	for _, other := range r.groups {
		names[other.Name] = true
		for _, s := range other.steps {
			known[s.Instance.ID] = s.Instance.Foreign
		}
	}
	young := func(m core.Machine) bool { return r.Clock.Age(m.Created) < StrayAfter }
	for _, m := range g.Machines {
		foreign, is := known[m.Token]
		its := is && (foreign == "" || foreign == m.Foreign)
		if m.Cluster != r.ID || m.Gone || its || m.Group != g.Name && names[m.Group] || young(m) {
			continue
		}
		r.stray = append(r.stray, Stray{Group: g.Name, Machine: m})
	}
}
