package worker

import "time"

// Stats is what a worker has done and holds, for metrics.
type Stats struct {
	InHand   int       // claims whose finish was not answered yet
	Idle     int       // callers that wait for work
	Claimed  int64     // claims that arrived
	Finished int64     // finishes that were answered, releases included
	Released int64     // claims that the worker itself gave back: no caller waited for them any more
	Taken    int64     // claims whose slot was revoked
	Calls    int64     // calls of Exchange that were answered
	Repeats  int64     // repeats of a call after an error
	Draining bool      // the host takes no new work
	Ready    bool      // false: the host's vmfactory must reconcile first
	LastBeat time.Time // when the last call that carried a heartbeat of this owner began
}

// Stats returns the present counts.
func (d *Worker) Stats() Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.stats
	s.InHand, s.Idle = len(d.hand), d.waiters.len()
	s.LastBeat = d.presence.LastBeat()
	return s
}
