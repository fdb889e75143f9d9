package testrunner

import (
	"time"

	"drover/core/agent/wire"
	"drover/core/harness/cases"
)

// leastLost is the least time of a run without computing for which it is worth a look at what others did.
const leastLost = 100 * time.Millisecond

// bounds are for how long a run may take by the clock.
type bounds struct {
	wall time.Duration
	more time.Duration // by which its VM puts that off, at most, for what the run loses to others
}

// bounds returns those of a run: its own limit, or what is left of the whole grading's, and both are put off.
func (j *job) bounds(l cases.Limits) bounds {
	wall := min(l.Wall, max(j.suite.until.Sub(j.r.deps.Clock.Now()), time.Millisecond))
	return bounds{wall, min(l.Wall-wall+wire.MaxStretch*l.Wall, j.suite.spare)}
}

func (b bounds) all() time.Duration { return b.wall + b.more }

// over reports whether a run ended because the time of the whole grading was up.
func (b bounds) over(out *ran, l cases.Limits) bool {
	return out.exit.TimedOut && out.exit.CPUMs < l.Time.Milliseconds() && b.wall < l.Wall
}

// repay puts off the end of the whole grading for what a run since this look lost to others, as long as there is time to
// spare. It is not counted during a second run, whose time does not count at all.
func (j *job) repay(out *ran, b bounds, before look) {
	s := j.suite
	if s.alone || out.unstarted != nil || s.spare <= 0 {
		return
	}
	wall, own := time.Duration(out.exit.WallMs)*time.Millisecond, time.Duration(out.exit.CPUMs)*time.Millisecond
	lost := max(min(wall-b.wall, time.Duration(out.exit.LostMs)*time.Millisecond), 0)
	if idle := wall - own; idle >= leastLost {
		const percent = 100
		if heard, ok := j.r.watch.fresh().around(before, own); ok && heard.others+heard.stolen >= othersPart {
			lost = max(lost, min(idle, wall*time.Duration(heard.others+heard.stolen)/percent))
		}
	}
	lost = min(lost, s.spare)
	s.until, s.spare = s.until.Add(lost), s.spare-lost
	j.r.metrics.lost.Add(lost.Seconds())
}
