package student

import (
	"drover/core"
	"drover/core/coursework"
	"drover/web/page"
)

// badge is a state in a word or two, with the colour that the sheet has for it.
type badge struct{ Kind, Text string }

// progresses are how far a user is with an assignment.
var progresses = map[string]badge{
	coursework.ProgressSubmitted: {"good", page.Sentence("submitted")},
	coursework.ProgressNotYet:    {"calm", page.Sentence("not submitted yet")},
	coursework.ProgressOverdue:   {"warn", page.Sentence("overdue")},
	coursework.ProgressTooLate:   {"bad", page.Sentence("too late")},
}

// statuses are how far a submission is.
var statuses = map[coursework.Status]badge{
	coursework.StatusSubmitted: {"good", page.Sentence("submitted")},
	coursework.StatusWaiting:   {"calm", page.Sentence("waiting for its tests")},
	coursework.StatusTimedOut:  {"bad", page.Sentence("took too long")},
	coursework.StatusFailed:    {"bad", page.Sentence("tests failed")},
	coursework.StatusCancelled: {"", page.Sentence("cancelled")},
	coursework.StatusCompleted: {"good", page.Sentence("tested")},
}

// states are how far a request is.
var states = map[core.RequestState]badge{
	core.RequestQueued:     {"calm", page.Sentence("waiting")},
	core.RequestParked:     {"warn", page.Sentence("waiting for another machine")},
	core.RequestClaimed:    {"calm", page.Sentence("is being prepared")},
	core.RequestRunning:    {"calm", page.Sentence("running")},
	core.RequestCancelling: {"warn", page.Sentence("is being stopped")},
	core.RequestCompleted:  {"good", page.Sentence("completed")},
	core.RequestFailed:     {"bad", page.Sentence("failed")},
	core.RequestCancelled:  {"", page.Sentence("cancelled")},
	core.RequestTimedOut:   {"bad", page.Sentence("took too long")},
	core.RequestDead:       {"bad", page.Sentence("could not be run")},
}

// said is the badge in the reader's language.
func (b badge) said(r *page.Request) badge { return badge{b.Kind, r.T(b.Text)} }
