package classes

import (
	"drover/core"
	"drover/core/school"
)

// Status says in words how far a submission has come.
type Status string

// The statuses.
const (
	StatusSubmitted Status = "Submitted"
	StatusWaiting   Status = "Waiting for test results..."
	StatusTimedOut  Status = "Test request timed out"
	StatusFailed    Status = "Tests Failed"
	StatusCancelled Status = "Test request cancelled"
	StatusCompleted Status = "Tests Completed"
)

// statusOf returns the status for the state of the request that counts.
func statusOf(s school.Standing) Status {
	if s.Submission.Request == "" {
		return StatusSubmitted
	}
	switch s.State {
	case core.RequestCompleted:
		return StatusCompleted
	case core.RequestFailed, core.RequestDead:
		return StatusFailed
	case core.RequestTimedOut:
		return StatusTimedOut
	case core.RequestCancelled:
		return StatusCancelled
	case "": // its request is gone
		return StatusSubmitted
	default:
		return StatusWaiting
	}
}

// explain says whose fault a bad end is, and what to do about it.
func explain(s school.Standing) string {
	if !s.State.Terminal() || s.State == core.RequestCompleted {
		return ""
	}
	switch s.Blame {
	case core.BlameSubmission:
		return "What was submitted could not be tested: look at the reason, mend it and submit it again."
	case core.BlameHarness:
		return "The test harness crashed when running this code. Resubmit; if it happens again, tell who teaches this."
	case core.BlamePlatform:
		return "The tests could not be run; this is not the fault of what was submitted. Resubmit."
	case core.BlameNone:
	}
	return "The tests were stopped. Resubmit to run them."
}
