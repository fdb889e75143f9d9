package student

import (
	"drover/core"
	"drover/core/classes"
	"drover/web/page"
)

// end selects ends of tests. Zero fields match any.
type end struct {
	state core.RequestState
	blame core.Blame
	limit string
}

// endings say whose fault each end is, and what to do. The first match is used.
var endings = []struct {
	end
	text string
}{
	{end{state: core.RequestCancelled}, page.Sentence("The tests were stopped by request, or because of a newer submission. Nothing is wrong with this submission.")},
	{end{state: core.RequestDead}, page.Sentence("This is not your fault: the site tried several times and could not run the tests. Your submission is safe. Test it again, and tell your staff if the problem persists.")},
	{end{blame: core.BlamePlatform}, page.Sentence("This is not your fault: the site could not run the tests. Your submission is safe. Test it again.")},
	{end{blame: core.BlameHarness}, page.Sentence("This is probably not your fault: the test program failed. Test it again, and tell your staff if the problem persists.")},
	{end{blame: core.BlameSubmission, limit: core.LimitTime}, page.Sentence("Your program ran for too long. Look for an infinite loop, or for something that waits for input.")},
	{end{blame: core.BlameSubmission, limit: core.LimitMemory}, page.Sentence("Your program exceeded the memory limit. Look for data that grow without bound.")},
	{end{blame: core.BlameSubmission, limit: core.LimitPids}, page.Sentence("Your program exceeded the limit of processes and threads.")},
	{end{blame: core.BlameSubmission, limit: core.LimitOutput}, page.Sentence("Your program exceeded the output limit. Look for a loop that prints endlessly.")},
	{end{blame: core.BlameSubmission}, page.Sentence("Your submission could not be tested. Read the reason below, fix it and submit it again.")},
	{end{state: core.RequestTimedOut, limit: core.LimitTime}, page.Sentence("The tests ran for too long and were stopped. Your program may have an infinite loop; if not, test it again.")},
	{end{state: core.RequestTimedOut}, page.Sentence("This is not your fault: it waited too long for its tests. Test it again.")},
	{end{state: core.RequestFailed}, page.Sentence("The tests could not be completed. Read the reason below, and test it again.")},
}

// ending says how a submission's tests ended and whose fault it was; "" before the end, and for a good end.
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
