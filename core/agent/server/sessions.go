package server

import (
	"slices"
	"strconv"

	"drover/core/agent/wire"
)

// Where nothing holds the processors, jobs run at a lower priority than the host's own
// work. Kernels with autogroups (sched_autogroup_enabled) count that within a session
// alone, and share the processors out among sessions: a job has one, as everybody, and
// can make more. So the watchdog puts each further one that it sees behind those of the
// host. Anybody may do so ten times a second, for all of the host together.
const (
	furtherNice  = "10"
	loudSessions = 16 // not put behind, at a time; who has more is ended as for processes
)

// calm puts the session of a process behind, once, unless it is the run's first, and reports whether it is.
func (j *job) calm(p process) bool {
	if p.session == 0 || p.session == j.session || slices.Contains(j.calmed, p.session) {
		return true
	}
	if j.lends != nil && j.lends.holds(p) {
		return true // what runs in the box has a watchdog of its own
	}
	if j.agent.tree.set(strconv.Itoa(p.pid)+"/autogroup", furtherNice) != nil {
		return false // the next look tries again; it may be another process of the session that can be named
	}
	j.calmed = append(j.calmed, p.session)
	return true
}

// loud adds the session of a process to those that are not behind.
func (j *job) loud(all []int, p process) []int {
	if !j.agent.tree.autogroups || j.held[wire.LimitCPU] != "" || j.calm(p) || slices.Contains(all, p.session) {
		return all
	}
	return append(all, p.session)
}
