package redisstore_test

import (
	"slices"
	"time"

	"drover/core"
	"drover/core/redisstore"
)

// stepClock sets Redis' clock by hours, forwards or backwards, while everybody lives on: they
// send heartbeats as before, in any order, and overseers judge in between.
func (m *model) stepClock() {
	if m.b.Mini == nil || !m.waitsForClock() && !m.chance("all the same", 4) {
		return
	}
	by := time.Duration(1+m.n("minutes", 12*60))*time.Minute + time.Duration(m.n("ms", 59_999))*time.Millisecond
	// Not both a Redis that lost its memory and a clock behind it: epochs are no smaller than the
	// clock, so that none comes again.
	if m.life == 1 && m.chance("back", 2) {
		by = -by
		m.back++
	}
	m.note("the clock of Redis steps by %s", by)
	// Who was judged by the former clock came back before the step or not at all.
	m.later, m.overseers = nil, [2]overseer{}
	m.ahead += by
	m.interrupt()
	m.pass(by)
	for range 2 {
		m.beatOneByOne()
		m.pass(lateBy / 2)
	}
	m.promote()
	for _, host := range modelHosts {
		_, err := m.s.Unassign(m.ctx, host, lateBy)
		m.must(err)
	}
}

// interrupt begins a time in which Redis has heard of nobody yet: its clock stepped, or it forgot heartbeats.
func (m *model) interrupt() {
	m.interrupted++
	m.cameBack, m.heardNow = m.heardNow, make(map[string]bool)
}

// waitsForClock says whether something waits for a time to come.
func (m *model) waitsForClock() bool {
	l := m.look()
	if len(l.Scores("later")) > 0 || len(l.Lists("assigned")) > 0 {
		return true
	}
	return slices.ContainsFunc(modelHosts, func(host string) bool { return l.Hash("host", host)["probation"] != "" })
}

// beatOneByOne lets everybody that is awake send a heartbeat, in any order, and overseers judge in between.
func (m *model) beatOneByOne() {
	type heartbeat struct {
		name  string
		epoch int64
	}
	var heartbeats []heartbeat
	for _, r := range m.runners {
		if m.steps >= r.wakes {
			heartbeats = append(heartbeats, heartbeat{r.name, r.epoch})
		}
	}
	for _, f := range m.factories {
		if m.steps >= f.wakes {
			heartbeats = append(heartbeats, heartbeat{f.name, f.epoch})
		}
	}
	for len(heartbeats) > 0 {
		if m.chance("is judged", 3) {
			m.takeDown(m.judge())
			m.reap()
		}
		i := m.n("who", len(heartbeats))
		m.beatOrLate(heartbeats[i].name, false, heartbeats[i].epoch)
		heartbeats = slices.Delete(heartbeats, i, i+1)
	}
}

// now is the true time.
func (m *model) now() time.Time { return m.at.Add(-m.ahead) }

// heartbeatBy says which owner a call lets send a heartbeat, and when the next heartbeat is due.
func (c *call) heartbeatBy() (string, time.Duration) {
	at := map[string]int{"register": 6, "beat": 2, "exchange": 7}
	if i, beats := at[c.name]; beats && c.err == nil && c.num(i) > 0 {
		return c.args[0], time.Duration(c.num(i)) * time.Millisecond
	}
	return "", 0
}

// The longest that anything waits by a clock, and a bit.
const longestPause = 6 * time.Minute

// checkClock requires that a clock which steps changes nothing but itself: who is heard of
// in time is not fenced, and what waits for a time waits no longer than it ever may.
func (m *model) checkClock(c *call) {
	if m.b.Mini == nil {
		return
	}
	if owner, next := c.heartbeatBy(); owner != "" {
		m.heard[owner], m.heardNow[owner] = m.now().Add(next), true
	}
	before, after := c.before.Scores("owners"), c.after.Scores("owners")
	alive := 0
	for _, due := range before {
		if due > 0 {
			alive++
		}
	}
	for owner, due := range after {
		if alive < 3 {
			break // of so few nobody can tell whether it was they or the clock
		}
		if m.interrupted > 1 && !m.cameBack[owner] {
			continue // nor of who is silent since the interruption before this one
		}
		if due == 0 && before[owner] > 0 && (c.name == "fence" || c.name == "host_down") && m.now().Sub(m.heard[owner]) < 0 {
			m.fail("%s fenced %s, whose next heartbeat is due in %s", c.name, owner, m.heard[owner].Sub(m.now()))
		}
	}
	clock := m.at.UnixMilli()
	if _, heartbeat := c.heartbeatBy(); c.name == "promote" || heartbeat > 0 && c.name == "beat" {
		later, most := c.after.Scores("later"), m.at.Add(longestPause).UnixMilli()
		for key, due := range later {
			if int64(due) > most && len(c.before.Scores("later")) <= 64 {
				m.fail("%s pauses for %s after %s", key, time.Duration(int64(due)-clock)*time.Millisecond, c.name)
			}
		}
	}
	switch c.name {
	case "unassign":
		for _, pool := range modelPools {
			for _, key := range c.after.List("assigned", c.args[0], pool) {
				move := redisstore.ReadRecord("move", c.after.Hash("evacuations")[key])
				if at := redisstore.Num(move["scheduled"]); move == nil || at > clock {
					m.fail("%s is assigned since %d, which is to come, after unassign", key, at)
				}
			}
		}
	case "exchange":
		m.checkDelay(c)
	}
}

// early says whether the delay of a probation is not over. One that has longer to go than it is was
// begun by a clock that was set back since.
func (m *model) early(probation string) bool {
	its := redisstore.ReadRecord("probation", probation)
	left := redisstore.Num(its["from"]) - m.at.UnixMilli()
	return left > 0 && left <= redisstore.Num(its["delay"])
}

// checkDelay requires that a host on probation gets its canary, though the clock was set back since.
func (m *model) checkDelay(c *call) {
	host := c.before.Hash("host", c.args[1])
	its := redisstore.ReadRecord("probation", host["probation"])
	if c.err != nil || its == nil || c.num(6) == 0 || host["incarnation"] != c.args[8] || host["drain"] == "1" {
		return
	}
	if lane := redisstore.ReadRecord("lane", c.before.Hash("owner", c.args[0])["lane"+c.args[3]]); lane["seq"] == c.args[4] {
		return // it acted before
	}
	from, delay := redisstore.Num(its["from"]), redisstore.Num(its["delay"])
	canary := redisstore.ReadRecord("canary", host["canary"])
	if _, out := c.before.Slots[[2]string{canary["owner"], canary["key"]}]; out || from-m.at.UnixMilli() <= delay {
		return
	}
	for id, slot := range c.after.Slots {
		if id[0] == c.args[0] && c.before.Slots[id].Token != slot.Token {
			return
		}
	}
	for _, pool := range modelPools {
		if len(c.before.List("clean", c.args[1], pool)) == 0 || c.before.Hash("pool", pool)["paused"] == "1" {
			continue
		}
		for _, priority := range core.Priorities() {
			if turns := c.before.List("turns", pool, string(priority)); len(turns) > 0 && !slices.Contains(turns, "") {
				m.fail("%s gets no canary for a host whose delay of %d ms has %d ms to go", c.args[0], delay, from-m.at.UnixMilli())
			}
		}
	}
}
