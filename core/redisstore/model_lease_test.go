package redisstore_test

import (
	"slices"
	"strings"

	"drover/core"
)

// modelLease is the pool of the model's lease, which is of p1. Its holder is ann.
const modelLease, modelHolder = "lease-x-a", "ann"

// pools are those that owners serve, and VMs are made of.
func (m *model) pools() []string {
	if m.leases {
		return append([]string{modelLease}, modelPools...)
	}
	return modelPools
}

// setLease opens the lease, or closes it.
func (m *model) setLease() {
	l := core.LeasedPoolSetting{Pool: leasedPool("x", "p1"), Open: !m.chance("closed", 3), Submitters: []string{modelHolder}}
	l.Pool.Paused, l.Pool.Running = m.chance("paused", 6), m.n("running", 3)
	m.note("lease open %v", l.Open)
	m.must(m.s.SetLeased(m.ctx, l))
	if m.chance("comes twice", 4) {
		m.copyOf(func() { m.must(m.s.SetLeased(m.ctx, l)) })
	}
}

// serveLease lets a host have idle VMs of the lease and a request of its holder run in them: by chance alone, hardly
// anything would.
func (m *model) serveLease() {
	f := pick(m, "factory", m.factories)
	if m.steps < f.wakes {
		return
	}
	m.note("the lease is served on %s", f.host)
	m.must(m.s.SetLeased(m.ctx, core.LeasedPoolSetting{Pool: leasedPool("x", "p1"), Open: true, Submitters: []string{modelHolder}}))
	f.createIn(modelLease, 1+m.n("VMs", 3))
	f.ready()
	m.enqueue([]core.Spec{m.request("p1", modelHolder, pick(m, "priority", core.Priorities()))})
	for _, r := range slices.Clone(m.runners) {
		if r.host == f.host && m.steps >= r.wakes {
			r.exchange()
		}
	}
}

// reroute moves what waits in another pool than it would be queued in. When a lease is over, overseers move also what has
// ended and was not withdrawn.
func (m *model) reroute() {
	keys := m.unended()
	if m.draining {
		keys = m.keys
	}
	var specs []core.Spec
	for _, key := range keys {
		specs = append(specs, m.ledger[key].spec)
	}
	n, err := m.s.Reroute(m.ctx, specs)
	m.must(err)
	m.note("reroute: %d", n)
}

// endLease closes the lease and removes its pool if nothing is left of it.
func (m *model) endLease() {
	m.must(m.s.SetLeased(m.ctx, core.LeasedPoolSetting{Pool: leasedPool("x", "p1"), Submitters: []string{modelHolder}}))
	m.reroute()
	if m.may(m.s.RemovePool(m.ctx, modelLease, false), core.CodeConflict) {
		m.note("the lease is gone")
	}
}

// checkLease requires that nobody's requests but its holder's are in the lease, and that every request runs in a VM of its
// pool.
func (m *model) checkLease(c *call) {
	for key := range c.after.Hash("specs") {
		if at := strings.Split(c.after.Belongs(key), ":"); len(at) == 4 && at[1] == modelLease && at[3] != modelHolder {
			m.fail("after %s: %s is in the lease as %v", c.name, key, at)
		}
	}
	for id, slot := range c.after.Slots {
		at := strings.Split(c.after.Belongs(id[1]), ":")
		vm := m.real[slot.VM]
		if role, _, _ := core.ParseOwner(id[0]); role != core.RoleTestrunner || len(at) < 4 || vm.pool == "" {
			continue
		}
		if vm.pool != at[1] {
			m.fail("after %s: %s of %v runs in a VM of pool %s", c.name, id[1], at, vm.pool)
		}
	}
}

// leaseBugs are those of the scripts of leases: their games have a lease.
var leaseBugs = map[string][2]string{
	"anybody's request goes to a lease":     {"return one and other and (one < other and one or other) or one or other or pool", "return to.submitter['ann'] or pool"},
	"the spec keeps its pool":               {"pool, spec = goes, in_pool(spec, goes)", "pool = goes"},
	"what runs is moved":                    {"if not list or redis.call('LREM', list, 1, key) == 0 then return false end", ""},
	"what is moved is counted where it was": {"count(was.pool .. ':' .. was.priority, -1)", ""},
	"what is moved is lost":                 {"redis.call('RPUSH', K.apart(pool), key)", ""},
	"moving forgets the size of the specs":  {"count('bytes', #spec - #was)", ""},
}
