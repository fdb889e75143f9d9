package testrunner

import (
	"time"

	"drover/core"
	"drover/core/agent"
	"drover/core/harness/cases"
)

// What counts as noise, and what as borderline.
const (
	othersPart  = 25 // percent of the host's processors that others use
	stolenPart  = 2  // percent of their time that the hypervisor takes
	nearTenths  = 15 // tenths of the limit of processor time: a run that used more is over it at any load
	waitedParts = 50 // a run of which one in so many parts was waiting for a processor
)

// noise is what others did to a host while a test ran there. What the test itself used is not in it: a submission
// that keeps processors busy makes none.
type noise struct {
	others, stolen int64 // percent of the host's processors
	hot            bool
}

// around returns the noise between two looks during which a test used so much processor time; false if that was not
// measured.
func (l look) around(before look, own time.Duration) (noise, bool) {
	total := l.total - before.total
	if !l.hasStat || !before.hasStat || total <= 0 {
		return noise{}, false
	}
	const percent = 100
	others := min(max(l.busy-before.busy-own.Milliseconds(), 0), total)
	return noise{
		others: others * percent / total, stolen: min(max(l.stolen-before.stolen, 0), total) * percent / total,
		hot: l.throttled > before.throttled,
	}, true
}

// loud returns why a verdict may be owed to noise; "" if it is not.
func (n noise) loud() core.Doubt {
	switch {
	case n.stolen >= stolenPart:
		return core.DoubtStolen
	case n.hot:
		return core.DoubtHot
	case n.others >= othersPart:
		return core.DoubtBusy
	}
	return ""
}

// doubt returns why a test's verdict is in doubt; "" if it stands. Noise makes programs slower, never faster, so only
// limits of time are in doubt: that of processor time where the run was not far over it, and that by the clock where
// the run could have gone on and had no processor.
func doubt(by core.DecidedBy, e agent.Exit, l cases.Limits, n noise) core.Doubt {
	const tenths = 10
	switch {
	case by == core.ByTime && e.CPUMs*tenths <= l.Time.Milliseconds()*nearTenths:
		return n.loud()
	case by == core.ByClock && e.CPUMs < l.Time.Milliseconds() && e.WaitedMs*waitedParts >= e.WallMs && e.WaitedMs > 0:
		return n.loud()
	}
	return ""
}

// longer returns the limit by the clock of a second run: the time in which the first waited for a processor is given
// back, up to as much again.
func longer(wall time.Duration, first agent.Exit) time.Duration {
	waited := time.Duration(first.WaitedMs) * time.Millisecond
	return wall + min(max(waited, 0), wall)
}

// Bounds on second runs of one grading. Each test has one at most, whose verdict counts whatever it is, so none is the
// best of many.
const (
	mostConfirmed = 2                // that came to the same verdict: the submission is slow
	mostAgain     = 20               // in all
	mostExtra     = 60 * time.Second // of time, but for the last
)

// seconds is what a grading has spent on second runs.
type seconds struct {
	runs, confirmed int
	took            time.Duration
}

// spent reports whether there is no second run left.
func (a *seconds) spent() bool {
	return a.confirmed >= mostConfirmed || a.runs >= mostAgain || a.took >= mostExtra
}
