package redisstore_test

import (
	"slices"
	"strings"

	"drover/core"
	"drover/core/redisstore"
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

// priorities are those that requests get; preemptible ones only in games with a lease, so that the others stay those in
// which bugs were noticed.
func (m *model) priorities() []core.Priority {
	if m.leases {
		return core.Priorities()
	}
	return core.Priorities()[:3]
}

// setLease opens the lease, or closes it, and lets it lend its idle VMs or not.
func (m *model) setLease() {
	l := core.LeasedPoolSetting{Pool: leasedPool("x", "p1"), Open: !m.chance("closed", 3), Submitters: []string{modelHolder}}
	l.Pool.Lends, l.Pool.Paused, l.Pool.Running = !m.chance("lends nothing", 4), m.chance("paused", 6), m.n("running", 3)
	m.note("lease open %v, lends %v", l.Open, l.Pool.Lends)
	m.must(m.s.SetLeased(m.ctx, l))
	if m.chance("comes twice", 4) {
		m.copyOf(func() { m.must(m.s.SetLeased(m.ctx, l)) })
	}
}

// lend lets a host have idle VMs of the lease and preemptible requests run in them, and at times takes some back at once:
// by chance alone, hardly anything would be lent when somebody takes back.
func (m *model) lend() {
	f := pick(m, "factory", m.factories)
	if m.steps < f.wakes {
		return
	}
	l := core.LeasedPoolSetting{Pool: leasedPool("x", "p1"), Open: true, Submitters: []string{modelHolder}}
	l.Pool.Lends = true
	m.note("the lease lends on %s", f.host)
	m.must(m.s.SetLeased(m.ctx, l))
	f.createIn(modelLease, 1+m.n("VMs", 3))
	f.ready()
	m.enqueue([]core.Spec{m.request("p1", pick(m, "submitter", []string{"ann", "bob"}), core.PriorityPreemptible)})
	for _, r := range slices.Clone(m.runners) {
		if r.host == f.host && m.steps >= r.wakes {
			r.exchange()
		}
	}
	if m.chance("takes back", 2) {
		m.revokeLent()
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

// revokeLent takes back what is lent.
func (m *model) revokeLent() {
	n, err := m.s.RevokeLent(m.ctx, modelLease, 1+m.n("lent", 3))
	m.must(err)
	m.note("revoke what is lent: %d", n)
}

// endLease closes the lease and removes its pool if nothing is left of it.
func (m *model) endLease() {
	m.must(m.s.SetLeased(m.ctx, core.LeasedPoolSetting{Pool: leasedPool("x", "p1"), Submitters: []string{modelHolder}}))
	m.reroute()
	if m.may(m.s.RemovePool(m.ctx, modelLease, false), core.CodeConflict) {
		m.note("the lease is gone")
	}
}

// checkLent requires that the VMs of a lease run nothing but its holder's requests and preemptible ones of the pool that
// it is of, which are counted as lent, and that nobody else's requests wait for it.
func (m *model) checkLent(c *call) {
	lent := c.after.Hash("lent")
	for key := range c.after.Hash("specs") {
		if at := strings.Split(c.after.Belongs(key), ":"); len(at) == 4 && at[1] == modelLease && (at[3] != modelHolder || at[2] == string(core.PriorityPreemptible)) {
			m.fail("after %s: %s is in the lease as %v", c.name, key, at)
		}
	}
	for id, slot := range c.before.Slots { // its owner does not end it any more
		if c.name == "lease_revoke" && c.after.Slots[id].Token != slot.Token {
			m.revoked[claimID(id[1], slot.Token)] = true
		}
	}
	runs := make(map[string]bool)
	for id, slot := range c.after.Slots {
		at := strings.Split(c.after.Belongs(id[1]), ":")
		vm := m.real[slot.VM]
		if role, _, _ := core.ParseOwner(id[0]); role != core.RoleTestrunner || len(at) < 4 || vm.pool == "" {
			continue
		}
		runs[id[1]] = true
		its := redisstore.ReadRecord("lent", lent[id[1]])
		switch {
		case vm.pool == at[1]:
			if its != nil {
				m.fail("after %s: %s runs in a VM of its pool, and is lent it", c.name, id[1])
			}
		case vm.pool != modelLease || at[1] != "p1" || at[2] != string(core.PriorityPreemptible) || its == nil:
			m.fail("after %s: %s of %v runs in a VM of pool %s, lent %q", c.name, id[1], at, vm.pool, lent[id[1]])
		}
	}
	for key := range lent {
		if !runs[key] {
			m.fail("after %s: %s is lent a VM, and does not run", c.name, key)
		}
	}
}

// mayRevoke says whether the call may take something back: it was lent by the pool that it names.
func (c *call) mayRevoke(owner, key, token string) bool {
	its := redisstore.ReadRecord("lent", c.before.Hash("lent")[key])
	return c.name == "lease_revoke" && its["pool"] == c.args[0] && its["owner"] == owner && its["token"] == token
}

// leaseBugs are those of the scripts of leases: their games have a lease.
var leaseBugs = map[string][2]string{
	"anybody's request goes to a lease":     {"return one and other and (one < other and one or other) or one or other or pool", "return to.submitter['ann'] or pool"},
	"a preemptible one goes to a lease":     {"if priority == 'preemptible' then return pool end", ""},
	"the spec keeps its pool":               {"pool, spec = goes, in_pool(spec, goes)", "pool = goes"},
	"what was lent stays so":                {"redis.call('HDEL', K.lent, unpack(keys))", ""},
	"what is lent is not recorded":          {"redis.call('HSET', K.lent, keys[i], W.lent({ pool = leased, owner = owner, token = token }))", ""},
	"a lease lends what is low":             {"share(pool, 'preemptible', want, 0, most, {}, false, keys)", "share(pool, 'low', want, 0, most, {}, false, keys)"},
	"what runs is moved":                    {"if not list or redis.call('LREM', list, 1, key) == 0 then return false end", ""},
	"what is moved is counted where it was": {"count(was.pool .. ':' .. was.priority, -1)", ""},
	"what is moved is lost":                 {"redis.call('RPUSH', K.apart(pool), key)", ""},
	"moving forgets the size of the specs":  {"count('bytes', #spec - #was)", ""},
	"taking back uses an attempt":           {"outcomes = { 'release' } }", "outcomes = { 'retry' } }"},
}
