package core

import (
	"slices"
	"time"
)

// RedisClock is what Redis says of its clock and of its memory. A chore that does something irreversible because a thing is
// absent, silent or overdue asks it for how long that has been so, and nothing else: a difference of two times is none.
// Whether an owner's heartbeat is late is the exception: scripts decide that at the moment at which they fence it.
//
//	what happened to Redis                  an age counts
//	its clock was set forward, or nobody    without that time: nobody knows how long it took
//	  gave a sign for a while
//	its clock was set back                  from when that was noticed, of a moment that is yet to come
//	it was emptied, or lost this record     from then on
//	it was restarted, promoted, or set      from then on, if it is for how long something has been absent
//	  back to an older memory
//
// Signs are the heartbeats of owners and of overseers. Of a moment of the calendar, such as the end of a lease, nobody
// can say when it really comes: after a step of the clock, the calendar follows once signs were given for confirmStep.
//
// It is to be read after what is judged by it: what is missing because Redis was just emptied is then known to be so.
type RedisClock struct {
	Now     int64 // ms since 1970, as the moments that it is asked about
	Began   int64 // since when Redis serves its memory
	SetBack int64 // when the clock was last found to have been set back; 0: not as far as is known
	Silent  int64 // when the last silence of all owners ended: before, none could report anything
	Gaps    []Gap // times without a sign, oldest first
}

// Gap is a time in which nobody gave a sign.
type Gap struct {
	To     int64 // when it ended, ms since 1970
	Lasted time.Duration
}

// confirmStep is for how long a clock that was set must go on before its moments count.
const confirmStep = time.Minute

// slightly is by how much a moment may be yet to come without that the clock was set back: other machines' clocks are not
// exactly like it.
const slightly = time.Minute

// AbsentLong is for how long a host must be silent, or unknown to Redis, before it counts as gone.
const AbsentLong = 2 * time.Minute

// Age is for how long a moment has been past.
func (c RedisClock) Age(since int64) time.Duration {
	since = c.noticed(since)
	from, ms := c.Now, int64(0)
	for _, g := range slices.Backward(c.Gaps) { // they may overlap, if the clock was set back in between
		if since < g.To && g.To <= c.Now {
			ms += max(0, from-g.To)
			from = min(from, g.To-g.Lasted.Milliseconds())
		}
	}
	return time.Duration(ms+max(0, from-since)) * time.Millisecond
}

// noticed is a moment, or when it was noticed that it is yet to come.
func (c RedisClock) noticed(moment int64) int64 {
	switch {
	case moment <= c.Now:
		return moment
	case c.SetBack == 0 || moment-c.Now < slightly.Milliseconds():
		return c.Now
	}
	return min(c.SetBack, c.Now)
}

// AbsentFor is for how long Redis can say that something is not there, or did not change, since a moment.
func (c RedisClock) AbsentFor(since int64) time.Duration {
	return c.Age(max(c.noticed(since), c.noticed(c.Began)))
}

// UnreportedFor is for how long an owner that lives could have reported something since a moment, and did not.
func (c RedisClock) UnreportedFor(since int64) time.Duration {
	if c.Silent <= c.Now {
		since = max(c.noticed(since), c.Silent)
	}
	return c.Age(since)
}

// Ahead is by how much the clock may be ahead of the calendar, because it was set a moment ago. That Redis was emptied is
// no reason to think so: the gap of that has no beginning.
func (c RedisClock) Ahead() (ahead time.Duration) {
	for _, g := range c.Gaps {
		if g.To <= c.Now && g.Lasted.Milliseconds() < g.To && time.Duration(c.Now-g.To)*time.Millisecond < confirmStep {
			ahead += g.Lasted
		}
	}
	return ahead
}
