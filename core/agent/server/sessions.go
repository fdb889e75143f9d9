package server

import (
	"slices"
	"strconv"

	"drover/core/agent/wire"
)

// If nothing limits the processors, jobs run at a lower priority than the host's own work. Kernels with autogroups
// (sched_autogroup_enabled) apply that only within a session, and divide the processors among sessions: a job has
// one, like every process group, and can make more. So the watchdog lowers the priority of each further session that
// it sees. The kernel allows that ten times a second for the whole host.
const (
	furtherNice  = "10"
	loudSessions = 16 // sessions with normal priority at a time; a run with more is ended as for processes
)

// calm lowers the priority of a process's session, once, unless it is the run's first, and reports whether it is low.
func (j *job) calm(p process) bool {
	if p.session == 0 || p.session == j.session || slices.Contains(j.calmed, p.session) {
		return true
	}
	if j.lends != nil && j.lends.holds(p) {
		return true // runs in the box have their own watchdog
	}
	if j.agent.tree.set(strconv.Itoa(p.pid)+"/autogroup", furtherNice) != nil {
		return false // the next look tries again, perhaps with another process of the session
	}
	j.calmed = append(j.calmed, p.session)
	return true
}

// loud adds the session of a process to those with normal priority.
func (j *job) loud(all []int, p process) []int {
	if !j.agent.tree.autogroups || j.held[wire.LimitCPU] != "" || j.calm(p) || slices.Contains(all, p.session) {
		return all
	}
	return append(all, p.session)
}
