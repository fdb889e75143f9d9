package student

import (
	"drover/core"
	"drover/core/classes"
	"drover/web/page"
)

// end is how tests can end, as far as it matters to who reads of it. Zero fields are any.
type end struct {
	state core.RequestState
	blame core.Blame
	limit string
}

// endings say whose fault each end is, and what to do. The first that fits is said.
var endings = []struct {
	end
	text string
}{
	{end{state: core.RequestCancelled}, page.Sentence("The tests were stopped because somebody asked for it, or because something newer was submitted. Nothing is wrong with what was submitted.")},
	{end{state: core.RequestDead}, page.Sentence("This is not your fault: the site tried several times and could not run the tests. What was submitted is kept. Have it tested again, and tell your staff if it stays.")},
	{end{blame: core.BlamePlatform}, page.Sentence("This is not your fault: the site could not run the tests. What was submitted is kept. Have it tested again.")},
	{end{blame: core.BlameHarness}, page.Sentence("This is probably not your fault: the program that tests did not do its work. Have it tested again; if it stays, tell your staff.")},
	{end{blame: core.BlameSubmission, limit: core.LimitTime}, page.Sentence("Your program ran for too long. Look for a loop that does not end, or for something that waits for input.")},
	{end{blame: core.BlameSubmission, limit: core.LimitMemory}, page.Sentence("Your program took more memory than it may have. Look for data that grows without end.")},
	{end{blame: core.BlameSubmission, limit: core.LimitPids}, page.Sentence("Your program started more processes or threads than it may have.")},
	{end{blame: core.BlameSubmission, limit: core.LimitOutput}, page.Sentence("Your program printed more than it may. Look for a loop that prints without end.")},
	{end{blame: core.BlameSubmission}, page.Sentence("What was submitted could not be tested. Read the reason below, mend it and submit it again.")},
	{end{state: core.RequestTimedOut, limit: core.LimitTime}, page.Sentence("The tests ran for too long and were stopped. Your program may have a loop that does not end; if not, have it tested again.")},
	{end{state: core.RequestTimedOut}, page.Sentence("This is not your fault: it waited for too long to be tested. Have it tested again.")},
	{end{state: core.RequestFailed}, page.Sentence("The tests could not be finished. Read the reason below, and have it tested again.")},
}

// ending says how a submission's tests ended and whose fault that is; "" while they
// have not, and for a good end.
func ending(r *page.Request, v classes.SubmissionView) string {
	if !v.State.Terminal() || v.State == core.RequestCompleted && v.Blame == core.BlameNone {
		return ""
	}
	is := end{state: v.State, blame: v.Blame}
	if v.Result != nil {
		is.limit = v.Result.Limit
	}
	for _, e := range endings {
		if e.fits(is) {
			return r.T(e.text)
		}
	}
	return ""
}

func (e end) fits(is end) bool {
	return (e.state == "" || e.state == is.state) && (e.blame == "" || e.blame == is.blame) && (e.limit == "" || e.limit == is.limit)
}
