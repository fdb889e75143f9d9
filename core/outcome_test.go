package core_test

import (
	"testing"

	"drover/core"

	"github.com/stretchr/testify/assert"
)

func TestOutcomeOf(t *testing.T) {
	t.Parallel()
	number := func(f float64) *float64 { return &f }
	build := core.Test{Name: "build", Verdict: core.TestBuildError, Message: "build error: it ended with exit code 1"}
	skipped := core.Test{Name: "a", MaxScore: 5, Verdict: core.TestSkipped}
	for name, c := range map[string]struct {
		result core.Result
		want   core.ResultOutcome
	}{
		"all points":               {core.Result{State: core.RequestCompleted, Score: number(10), MaxScore: number(10)}, core.ResultFull},
		"some points":              {core.Result{State: core.RequestCompleted, Score: number(3), MaxScore: number(10)}, core.ResultPartial},
		"no points":                {core.Result{State: core.RequestCompleted, Score: number(0), MaxScore: number(10)}, core.ResultFailed},
		"less than none":           {core.Result{State: core.RequestCompleted, Score: number(-1), MaxScore: number(0)}, core.ResultFailed},
		"nothing to be won":        {core.Result{State: core.RequestCompleted, Score: number(0), MaxScore: number(0)}, core.ResultFull},
		"a score without maximum":  {core.Result{State: core.RequestCompleted, Score: number(7)}, core.ResultGraded},
		"sums of tests":            {core.Result{State: core.RequestCompleted, Tests: []core.Test{{Score: 1, MaxScore: 1}, {MaxScore: 1}}}, core.ResultPartial},
		"a build that failed":      {core.Result{State: core.RequestCompleted, Score: number(0), MaxScore: number(5), Tests: []core.Test{build, skipped}}, core.ResultBuildError},
		"the same, nothing to win": {core.Result{State: core.RequestCompleted, Score: number(0), MaxScore: number(0), Tests: []core.Test{build}}, core.ResultBuildError},
		"a message says so": {
			core.Result{State: core.RequestCompleted, Tests: []core.Test{{Name: "x", MaxScore: 1, Message: "build error\nrle.c:5"}}},
			core.ResultBuildError,
		},
		"one part did not build":  {core.Result{State: core.RequestCompleted, Score: number(5), MaxScore: number(10), Tests: []core.Test{build}}, core.ResultPartial},
		"a refusal":               {core.Result{State: core.RequestFailed, Blame: core.BlameSubmission, Score: number(0)}, core.ResultFailed},
		"too much memory":         {core.Result{State: core.RequestFailed, Blame: core.BlameSubmission, Limit: core.LimitMemory}, core.ResultFailed},
		"the harness":             {core.Result{State: core.RequestFailed, Blame: core.BlameHarness, Limit: core.LimitTime}, core.ResultFault},
		"the platform":            {core.Result{State: core.RequestFailed, Blame: core.BlamePlatform}, core.ResultFault},
		"no try left":             {core.Result{State: core.RequestDead}, core.ResultFault},
		"it waited too long":      {core.Result{State: core.RequestTimedOut}, core.ResultFault},
		"it ran too long":         {core.Result{State: core.RequestTimedOut, Blame: core.BlameSubmission, Limit: core.LimitTime}, core.ResultFailed},
		"stopped":                 {core.Result{State: core.RequestCancelled}, core.ResultCancelled},
		"a command that ended":    {core.Result{State: core.RequestCompleted, ExitCode: 3}, ""},
		"a command over a limit":  {core.Result{State: core.RequestFailed, Blame: core.BlameSubmission, Limit: core.LimitOutput}, core.ResultFailed},
		"a result without an end": {core.Result{State: core.RequestQueued}, core.ResultWaiting},
	} {
		assert.Equal(t, c.want, core.OutcomeOf(&c.result), name)
	}
}

// TestOutcomeOfState judges results that were recorded without an outcome as well.
func TestOutcomeOfState(t *testing.T) {
	t.Parallel()
	half, whole := 0.5, 1.0
	for name, c := range map[string]struct {
		state core.RequestState
		blame core.Blame
		of    core.ResultOutcome
		score *float64
		want  core.ResultOutcome
	}{
		"no request":                {"", "", "", nil, core.ResultReceived},
		"in the queue":              {core.RequestQueued, "", "", nil, core.ResultWaiting},
		"parked":                    {core.RequestParked, "", "", nil, core.ResultWaiting},
		"running":                   {core.RequestRunning, "", "", nil, core.ResultRunning},
		"recorded":                  {core.RequestCompleted, "", core.ResultBuildError, &half, core.ResultBuildError},
		"a rerun waits":             {core.RequestQueued, "", core.ResultFull, nil, core.ResultWaiting},
		"not recorded":              {core.RequestCompleted, "", "", &half, core.ResultPartial},
		"no points were given":      {core.RequestCompleted, "", "", nil, core.ResultReceived},
		"not recorded, our fault":   {core.RequestFailed, core.BlamePlatform, "", nil, core.ResultFault},
		"not recorded, the student": {core.RequestFailed, core.BlameSubmission, "", nil, core.ResultFailed},
	} {
		assert.Equal(t, c.want, core.OutcomeOfState(c.state, c.blame, c.of, c.score, &whole), name)
	}
}

func TestTestPassed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		test core.Test
		want bool
	}{
		"all points":              {core.Test{Score: 2, MaxScore: 2, Verdict: core.TestAccepted}, true},
		"some points":             {core.Test{Score: 1, MaxScore: 2}, false},
		"no points to win":        {core.Test{Verdict: core.TestAccepted}, true},
		"the harness's own word":  {core.Test{Verdict: "fine"}, true},
		"a build of 0 points":     {core.Test{Verdict: core.TestBuildError}, false},
		"skipped, without points": {core.Test{Verdict: core.TestSkipped}, false},
		"below zero":              {core.Test{Score: -1, MaxScore: -1}, false},
	} {
		assert.Equal(t, c.want, c.test.Passed(), name)
	}
}
