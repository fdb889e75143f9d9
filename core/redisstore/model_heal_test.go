package redisstore_test

import (
	"slices"
	"strconv"
	"time"

	"drover/core"
	"drover/core/coretest"
)

var modelHosts = []string{"h1", "h2"}

// assign sends some of what is settled to hosts, or parks it, by the number that stands now
// or, at times, by an old one.
func (m *model) assign(items []core.Settlement) ([]core.Settlement, int64) {
	items = slices.Clone(items)
	for i := range items {
		_, request := m.ledger[items[i].Key]
		if request && (items[i].Outcome == core.OutcomeRetry || items[i].Outcome == core.OutcomeRelease) && !m.draining {
			items[i].To = pick(m, "to", []string{"", core.Parked, "h1", "h2"})
		}
	}
	placed, _ := strconv.ParseInt(m.look().Hash("meta")["placed"], 10, 64) // none yet: 0
	if m.chance("old number", 3) {
		placed--
	}
	return items, placed
}

// revoke takes a slot from an owner, at once or when it may read otherwise.
func (m *model) revoke() {
	l := m.look()
	var ids [][2]string
	for id := range l.Slots {
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return
	}
	slices.SortFunc(ids, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	owner := pick(m, "slot", ids)[0]
	held, err := m.s.Held(m.ctx, owner, 0)
	m.must(err)
	slices.SortFunc(held, func(a, b core.Held) int { return slices.Compare([]string{a.Key}, []string{b.Key}) })
	h := pick(m, "of the owner", held)
	m.soon(func() {
		items, _ := m.assign(m.decide([]core.Held{h}))
		m.revoked[claimID(h.Key, h.Token)] = true
		err := m.s.Revoke(m.ctx, owner, h, items[0], "the model says so")
		m.note("revoke %v of %s: %v", items[0], owner, err)
		if to := items[0].To; m.may(err, core.CodeConflict) && to != "" && m.chance("is upset", 2) {
			m.upset(h.Key, to)
		}
	})
}

// upset lets something happen to what was assigned or parked before anybody takes it.
func (m *model) upset(key, to string) {
	switch m.n("how", 4) {
	case 0:
		m.may(m.s.Drain(m.ctx, to, true, 0), core.CodeNotFound)
	case 1:
		m.may(coretest.ErrOf(m.s.Report(m.ctx, core.HostReport{Host: to, Event: core.HostFailed, By: "dog"})), core.CodeNotFound, core.CodeInvalid)
	default:
		place, err := m.s.Cancel(m.ctx, key, "somebody", core.CancelWaiting)
		m.must(err)
		if place.State != "" {
			m.record(key, core.RequestCancelled)
			_, err = m.s.Withdraw(m.ctx, key)
			m.must(err)
		}
	}
}

// declareDead ends the epoch of a process that is gone, at once or when another may have its name.
func (m *model) declareDead(owner string, epoch int64) {
	if m.chance("is declared dead", 2) {
		m.soon(func() {
			_, err := m.s.DeclareDead(m.ctx, owner, epoch)
			m.note("%s %d is declared dead: %v", owner, epoch, err)
			m.may(err, core.CodeConflict, core.CodeNotFound)
		})
	}
}

func (m *model) promote() {
	n, err := m.s.Promote(m.ctx)
	m.must(err)
	m.note("%d retries go", n)
}

func (m *model) unassign() {
	_, err := m.s.Unassign(m.ctx, pick(m, "host", modelHosts), time.Duration(m.n("seconds", 3))*time.Second)
	m.must(err)
}

// report is a watchdog's.
func (m *model) report() {
	r := core.HostReport{Host: pick(m, "host", modelHosts), Event: core.HostRecovered, By: "dog"}
	if m.chance("failed", 2) {
		r.Event = core.HostFailed
	}
	m.note("host %s %s", r.Host, r.Event)
	m.may(coretest.ErrOf(m.s.Report(m.ctx, r)), core.CodeNotFound)
}

func (m *model) probation() {
	why := pick(m, "why", []string{"", "it flaps", "a black hole"})
	host := pick(m, "host", modelHosts)
	m.note("host %s on probation: %q", host, why)
	m.may(m.s.Probation(m.ctx, host, why, time.Duration(m.n("seconds", 3))*time.Second, 1+m.n("needed", 3)), core.CodeNotFound)
}

// trust lets all hosts work as before.
func (m *model) trust() {
	for _, host := range modelHosts {
		m.may(coretest.ErrOf(m.s.Report(m.ctx, core.HostReport{Host: host, Event: core.HostRecovered, By: "dog"})), core.CodeNotFound)
		m.may(m.s.Probation(m.ctx, host, "", 0, 0), core.CodeNotFound)
		_, err := m.s.Unassign(m.ctx, host, 0)
		m.must(err)
	}
}
