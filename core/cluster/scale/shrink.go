package scale

import (
	"cmp"
	"slices"
	"strings"

	"drover/core"
)

// shrink drains the hosts of a group that had nothing in hand for long, while nothing waits that they could do. So a
// host that was made for work that waits is not drained by the same work running elsewhere a moment later.
func (r *round) shrink(g *group) {
	if g.wanted || g.made > 0 {
		return
	}
	cool := true
	var idle []*Step
	for _, s := range g.steps {
		cool = cool && r.Clock.Age(s.Instance.Created) >= g.Cooldown
		if i := s.Instance; i.State == core.InstanceJoined && s.Do == None && i.Idle > 0 && r.Clock.Age(i.Idle) >= g.IdleAfter && r.hosts[i.ID] != nil {
			idle = append(idle, s)
		}
	}
	for _, s := range g.steps {
		if s.Instance.State == core.InstanceValid && !s.Put && g.alive() > g.Min {
			r.move(s, core.InstanceTerminated, "nothing waits for it any more")
		}
	}
	if !cool {
		return
	}
	slices.SortFunc(idle, func(a, b *Step) int {
		return cmp.Or(cmp.Compare(a.Instance.Idle, b.Instance.Idle), strings.Compare(b.Instance.ID, a.Instance.ID))
	})
	for _, s := range idle {
		if g.alive() <= g.Min {
			return
		}
		r.move(s, core.InstanceDraining, "its host had nothing in hand for "+r.Clock.Age(s.Instance.Idle).String())
		s.Instance.Deadline, s.Do = r.now+g.DrainFor.Milliseconds(), Drain
	}
}
