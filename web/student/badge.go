package student

import (
	"drover/core"
	"drover/core/classes"
	"drover/web/page"
)

// badge is a state in a word or two, with the colour that the sheet has for it.
type badge struct{ Kind, Text string }

// progresses are how far a user is with an assignment.
var progresses = map[string]badge{
	classes.ProgressSubmitted: {"good", page.Sentence("submitted")},
	classes.ProgressNotYet:    {"calm", page.Sentence("not submitted yet")},
	classes.ProgressOverdue:   {"warn", page.Sentence("overdue")},
	classes.ProgressTooLate:   {"bad", page.Sentence("too late")},
}

// statuses are how far a submission is.
var statuses = map[classes.Status]badge{
	classes.StatusSubmitted: {"good", page.Sentence("submitted")},
	classes.StatusWaiting:   {"calm", page.Sentence("waiting for its tests")},
	classes.StatusTimedOut:  {"bad", page.Sentence("took too long")},
	classes.StatusFailed:    {"bad", page.Sentence("tests failed")},
	classes.StatusCancelled: {"", page.Sentence("cancelled")},
	classes.StatusCompleted: {"good", page.Sentence("tested")},
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
