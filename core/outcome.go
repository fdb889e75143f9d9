package core

import (
	"slices"
	"strings"
)

// ResultOutcome is how a submission stands, in one word of the domain. Lists, pages, the API and the command line show it;
// none of them judges a result anew.
//
//	outcome      when
//	received     it is kept and has no score: nothing tests it, or its tests gave no points
//	waiting      its tests have not begun, or a list does not know that they have
//	running      its tests run
//	full         every point there was
//	partial      some of the points
//	failed       no points, a limit of the whole run, or a refusal by the harness
//	build_error  it does not compile or build, and has no points
//	graded       a score without a maximum, which is neither full nor partial
//	fault        platform or harness failed, or it waited too long: not the submitter's fault
//	cancelled    somebody stopped its tests
//
// A person's grade takes precedence: by its score the outcome is full, partial, failed or graded.
type ResultOutcome string

// The outcomes.
const (
	ResultReceived   ResultOutcome = "received"
	ResultWaiting    ResultOutcome = "waiting"
	ResultRunning    ResultOutcome = "running"
	ResultFull       ResultOutcome = "full"
	ResultPartial    ResultOutcome = "partial"
	ResultFailed     ResultOutcome = "failed"
	ResultBuildError ResultOutcome = "build_error"
	ResultGraded     ResultOutcome = "graded"
	ResultFault      ResultOutcome = "fault"
	ResultCancelled  ResultOutcome = "cancelled"
)

// ResultOutcomes lists all outcomes, from the best end to those that say nothing about the submission.
func ResultOutcomes() []ResultOutcome {
	return []ResultOutcome{
		ResultFull, ResultPartial, ResultGraded, ResultFailed, ResultBuildError, ResultFault,
		ResultCancelled, ResultRunning, ResultWaiting, ResultReceived,
	}
}

// OutcomeCount is how many submissions stand in one way.
type OutcomeCount struct {
	Outcome ResultOutcome `json:"outcome"`
	Count   int           `json:"count"`
}

// CountedOutcomes returns the outcomes that were counted, in the order of ResultOutcomes.
func CountedOutcomes(count map[ResultOutcome]int) []OutcomeCount {
	all := []OutcomeCount{}
	for _, o := range ResultOutcomes() {
		if n := count[o]; n > 0 {
			all = append(all, OutcomeCount{o, n})
		}
	}
	return all
}

// Words in the verdict of a test that a harness may give. Other words are allowed, and are shown unchanged.
const (
	TestAccepted     = "accepted"
	TestWrongAnswer  = "wrong answer"
	TestTimeLimit    = "time limit"
	TestMemoryLimit  = "memory limit"
	TestProcessLimit = "process limit"
	TestOutputLimit  = "output limit"
	TestRuntimeError = "runtime error"
	TestCrashed      = "crashed" // another word for a runtime error
	TestBuildError   = "build error"
	TestRejected     = "rejected"
	TestSkipped      = "skipped"
)

// bad are the verdicts of tests that were not passed, whatever their points.
var bad = []string{
	TestWrongAnswer, TestTimeLimit, TestMemoryLimit, TestProcessLimit, TestOutputLimit, TestRuntimeError, TestCrashed,
	TestBuildError, TestRejected, TestSkipped,
}

// Passed reports whether all points were won. A test without points is passed unless its verdict says otherwise: 0 of
// 0 points are also those of a build that failed.
func (t *Test) Passed() bool {
	if t.MaxScore > 0 {
		return t.Score >= t.MaxScore
	}
	return t.Score >= t.MaxScore && t.Score >= 0 && !slices.Contains(bad, t.Verdict)
}

// FailedBuild reports whether the test is a build that failed, by its verdict or the beginning of its message.
func (t *Test) FailedBuild() bool {
	if t.Verdict != "" {
		return t.Verdict == TestBuildError
	}
	rest, ok := strings.CutPrefix(t.Message, TestBuildError)
	return ok && (rest == "" || rest[0] == ':' || rest[0] == '\n')
}

// BuildOnly reports whether the test is a build that failed and not a test with points of its own: it is not counted
// among the tests.
func (t *Test) BuildOnly() bool { return t.MaxScore <= 0 && t.FailedBuild() }

// OutcomeOf returns the outcome of a terminal result; "" of a plain command that ended by itself, which nothing
// judges.
func OutcomeOf(r *Result) ResultOutcome {
	if end := outcomeOfEnd(r.State, r.Blame, r.Limit); end != "" {
		return end
	}
	score, most := points(r)
	switch {
	case score <= 0 && slices.ContainsFunc(r.Tests, func(t Test) bool { return t.FailedBuild() }):
		return ResultBuildError
	case r.State != RequestCompleted || r.Limit != "":
		return ResultFailed
	case r.Score == nil && len(r.Tests) == 0:
		return ""
	case r.MaxScore == nil && len(r.Tests) == 0:
		return OutcomeOfScore(*r.Score, nil)
	}
	return OutcomeOfScore(score, &most)
}

// outcomeOfEnd returns the outcome that state and blame alone tell; "" if points decide.
func outcomeOfEnd(state RequestState, blame Blame, limit string) ResultOutcome {
	switch {
	case state == RequestRunning || state == RequestClaimed || state == RequestCancelling:
		return ResultRunning
	case !state.Terminal():
		return ResultWaiting
	case state == RequestCancelled:
		return ResultCancelled
	case state == RequestDead || blame == BlamePlatform || blame == BlameHarness:
		return ResultFault
	case state == RequestTimedOut && limit == "" && blame == BlameNone:
		return ResultFault // it waited too long
	}
	return ""
}

// points returns the totals of a result, or the sums of its tests.
func points(r *Result) (score, most float64) {
	for i := range r.Tests {
		score, most = score+r.Tests[i].Score, most+r.Tests[i].MaxScore
	}
	if r.Score != nil {
		score = *r.Score
	}
	if r.MaxScore != nil {
		most = *r.MaxScore
	}
	return score, most
}

// OutcomeOfScore returns the outcome of a score by its maximum, nil if there is none. If no points can be won, only a
// negative score is bad.
func OutcomeOfScore(score float64, most *float64) ResultOutcome {
	switch {
	case most == nil && score > 0:
		return ResultGraded
	case most == nil:
		return ResultFailed
	case *most <= 0 && score >= 0, *most > 0 && score >= *most:
		return ResultFull
	case score > 0:
		return ResultPartial
	}
	return ResultFailed
}

// OutcomeOfState returns the outcome of a submission by the state of its request, and by the outcome and score of its
// result. State "" is that of a submission without a request.
func OutcomeOfState(state RequestState, blame Blame, of ResultOutcome, score, most *float64) ResultOutcome {
	switch {
	case state == "":
		return ResultReceived
	case state.Terminal() && of != "":
		return of
	}
	if end := outcomeOfEnd(state, blame, LimitTime); end != "" {
		return end
	}
	switch {
	case score != nil:
		return OutcomeOfScore(*score, most)
	case state == RequestCompleted:
		return ResultReceived
	}
	return ResultFailed
}
