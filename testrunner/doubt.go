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
	closeParts  = 10 // a run that ended by itself and was over it by one in so many parts at most was close
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
// the run, or the interactor that it talked with, could have gone on and had no processor. A close run is in doubt on a
// quiet host, too: what the machine below it takes, and how fast its processors are at the moment, may not show.
func doubt(by core.DecidedBy, e agent.Exit, l cases.Limits, n noise) core.Doubt {
	const tenths = 10
	idle := e.WaitedMs + e.PartnerMs
	switch {
	case by == core.ByTime && e.CPUMs*tenths <= l.Time.Milliseconds()*nearTenths:
		if because := n.loud(); because != "" || !wasClose(e, l) {
			return because
		}
		return core.DoubtClose
	case by == core.ByClock && e.CPUMs < l.Time.Milliseconds() && idle*waitedParts >= e.WallMs && idle > 0:
		return n.loud()
	}
	return ""
}

// stopAt is the processor time at which a run is killed: a little above its limit, so that one that ends by itself soon
// after the limit is known from one that would not have ended.
func stopAt(l cases.Limits) time.Duration { return l.Time + l.Time/closeParts }

// wasClose reports whether a run that was over its limit of processor time ended before it was killed for that.
func wasClose(e agent.Exit, l cases.Limits) bool { return e.CPUMs < stopAt(l).Milliseconds() }

// Bounds on further runs of one grading. Noise only ever makes a program slower, so the fastest of few runs is the
// fairest of them, and the first that is in no doubt is the last.
const (
	mostFurther   = 2                // of one test
	mostClose     = 5                // of one test whose last run was close
	mostConfirmed = 2                // tests that came to the same verdict: the submission is slow
	mostAgain     = 20               // in all
	mostExtra     = 60 * time.Second // of time, but for the last
)

// seconds is what a grading has spent on further runs.
type seconds struct {
	runs, confirmed int
	took            time.Duration
	cpu             int64 // ms of processor time that count for nothing
}

// spent reports whether there is no further run left.
func (a *seconds) spent() bool {
	return a.confirmed >= mostConfirmed || a.runs >= mostAgain || a.took >= mostExtra
}
