package redisstore_test

import (
	"slices"

	"drover/core"
	"drover/core/redisstore"
)

// takeRing takes the ring of the host's bell, as an idle owner does before it calls, and returns what puts it back.
func (r *runner) takeRing() func() {
	if r.look().Hash("owner", r.name)["idle"] != "1" || len(r.look().List("bell", r.host)) == 0 {
		return func() {}
	}
	bell := r.s.Namespace().Key("bell", r.host)
	r.must(r.b.Admin.Del(r.ctx, bell).Err())
	r.seen = nil
	return func() {
		r.must(r.b.Admin.LPush(r.ctx, bell, "1").Err())
		r.seen = nil
	}
}

// waitingIn counts the requests of a pool that wait.
func waitingIn(l *redisstore.Look, pool string) int {
	n := len(l.List("parked", pool))
	for _, priority := range core.Priorities() {
		for _, line := range []string{string(priority), string(priority) + "-soon"} {
			for _, submitter := range l.List("turns", pool, line) {
				n += len(l.List("queue", pool, line, submitter))
			}
		}
	}
	return n
}

// checkIdle requires of a call that makes requests wait that no host stays asleep while something can run there: for each
// request that waits, one of the hosts with clean VMs and idle owners was woken, as long as there are some. A host whose
// late heartbeat makes it able again is woken by nobody: its idle owners look by themselves each second.
func (m *model) checkIdle(c *call) {
	if m.b.Mini == nil {
		return
	}
	l := c.after
	current := redisstore.ReadRecord("incarnation", l.Hash("meta")["incarnation"])["name"]
	for _, pool := range modelPools {
		its := l.Hash("pool", pool)
		if its["paused"] == "1" || its["running"] != "0" { // what waits may not run where that is limited
			continue
		}
		waiting := waitingIn(l, pool)
		if waiting <= waitingIn(c.before, pool) {
			continue
		}
		rung := 0
		var asleep []string
		for host, due := range l.Scores("hosts") {
			h := l.Hash("host", host)
			if due < float64(m.at.UnixMilli()) || h["state"] != string(core.HostUp) || h["drain"] == "1" || h["failed"] != "" ||
				h["probation"] != "" || h["incarnation"] != current || len(l.List("clean", host, pool)) == 0 {
				continue
			}
			switch {
			case len(l.List("bell", host)) > 0:
				rung++
			case slices.Contains(l.List("idle", pool), host):
				asleep = append(asleep, host)
			}
		}
		if len(asleep) > 0 && waiting > rung {
			m.fail("after %s: %d requests of %s wait, %d hosts were woken, and %v, which have clean VMs of it and are idle, were not", c.name, waiting, pool, rung, asleep)
		}
	}
}
