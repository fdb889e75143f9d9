package student

import (
	"drover/core"
	"drover/core/classes"
	"drover/web/page"
)

// badge is a state in a word or two, with its colour in the style sheet.
type badge struct{ Kind, Text string }

// progresses are the badges of a user's progress with an assignment.
var progresses = map[string]badge{
	classes.ProgressSubmitted: {"good", page.Sentence("submitted")},
	classes.ProgressNotYet:    {"calm", page.Sentence("not submitted yet")},
	classes.ProgressOverdue:   {"warn", page.Sentence("overdue")},
	classes.ProgressTooLate:   {"bad", page.Sentence("too late")},
}

// states are the badges of requests.
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

// said returns the badge in the reader's language.
func (b badge) said(r *page.Request) badge { return badge{b.Kind, r.T(b.Text)} }
