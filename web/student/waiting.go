package student

import (
	"time"

	"drover/core"
	"drover/core/requests"
	"drover/web/page"
)

// progress is how far an unfinished request has come.
type progress struct {
	Waits    bool
	Why      string // why it waits
	FailsAt  int64  // when it fails if that lasts, ms since 1970; 0: never
	Operator string // the same for operators; "" for others
	Ahead    string // how many take their turns before it; "" if that is not known
	Expected string // how long it may still wait; "" if that is not known
	Attempt  int    // that is under way
	Since    int64  // of that attempt, ms since 1970
}

// reasons say why a request waits, to readers who can do nothing about it.
var reasons = map[requests.Reason]string{
	requests.ReasonNoHost:       page.Sentence("The machines that would run it are switched off for now. It keeps its place."),
	requests.ReasonCapacity:     page.Sentence("The machines that are up now are too small for it. It keeps its place."),
	requests.ReasonReserved:     page.Sentence("The machines that would run it are reserved for others now. It keeps its place."),
	requests.ReasonTurn:         page.Sentence("It waits for its turn."),
	requests.ReasonRunning:      page.Sentence("As many of your submissions run as may at once. It begins when one of them ends."),
	requests.ReasonPaused:       page.Sentence("The machines that would run it are paused for now. It keeps its place."),
	requests.ReasonNoVMFactory:  page.Sentence("The machines that would run it are switched off for now. It keeps its place."),
	requests.ReasonNoTestrunner: page.Sentence("The machines that would run it are switched off for now. It keeps its place."),
	requests.ReasonFetching:     page.Sentence("A machine is being prepared for it."),
	requests.ReasonBroken:       page.Sentence("The machines have a fault, which the submission did not cause. It keeps its place."),
	requests.ReasonAccepted:     page.Sentence("It is accepted and will be queued in a moment."),
	requests.ReasonParked:       page.Sentence("Its machine was lost. The first other one with room takes it, before all waiting work."),
	requests.ReasonRetry:        page.Sentence("Its machine had a fault. It will be retried in a moment."),
	requests.ReasonAssigned:     page.Sentence("It moves to another machine, which takes it before all other work."),
}

// readProgress puts into words what is known of an unfinished request.
func readProgress(r *page.Request, w *requests.Waiting, attempt int, since int64) progress {
	if w == nil {
		return progress{Attempt: attempt, Since: since}
	}
	p := progress{Waits: true, Why: r.T(reasons[w.Reason]), FailsAt: w.FailsAt}
	if w.FailsAt > 0 {
		p.Why = r.T("The machines have a fault, which the submission did not cause.")
	}
	if core.Allow(r.Actor(), core.ActClusterView, core.Object{}) == nil {
		p.Operator = w.Text
	}
	if w.Soon {
		p.Why += " " + r.T("It is due soon: three of four turns are those of such submissions.")
	}
	if w.Ahead != nil && *w.Ahead == 0 {
		p.Ahead = r.T("It is next.")
	} else if w.Ahead != nil && w.AtLeast {
		p.Ahead = r.N(*w.Ahead, "At least %d takes its turn before it.", "At least %d take their turns before it.")
	} else if w.Ahead != nil {
		p.Ahead = r.N(*w.Ahead, "%d takes its turn before it.", "%d take their turns before it.")
	}
	if e := w.Expected; e != nil {
		p.Expected = expected(r, e)
	}
	return p
}

// expected rounds a wait to a second: the estimate is no better.
func expected(r *page.Request, e *requests.Expected) string {
	least, most := e.Least.Round(time.Second).Milliseconds(), max(time.Second, e.Most.Round(time.Second)).Milliseconds()
	if least == 0 {
		return r.T("up to %s", r.Span(most))
	}
	return r.T("%s to %s", r.Span(least), r.Span(most))
}

// try is one recorded try of a request, including those that do not count.
type try struct {
	core.Result
	Ended int64 // ms since 1970
	Badge badge
}

// readTries describes the tries of a request; a single one is not shown.
func readTries(r *page.Request, all []core.Attempt) []try {
	if len(all) < 2 {
		return nil
	}
	tries := make([]try, len(all))
	for i, a := range all {
		b := states[a.Result.State]
		if a.Result.Blame == core.BlamePlatform {
			b = badge{"warn", fault}
			if core.Allow(r.Actor(), core.ActClusterView, core.Object{}) != nil {
				a.Result.Reason = "" // it names machines
			}
		}
		tries[i] = try{a.Result, a.Recorded, b.said(r)}
	}
	return tries
}

// fault is the reason of a try that failed by a platform fault.
var fault = page.Sentence("a fault of the site")
