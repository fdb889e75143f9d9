package harness_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"drover/core"
	"drover/core/harness"
)

var pastTime = time.Unix(1_000_000_000, 0)

func TestVerdictOf(t *testing.T) {
	t.Parallel()
	failing := func(message string) []core.Test {
		return []core.Test{{Name: "a", Score: 1, MaxScore: 1}, {Name: "b", MaxScore: 1, Message: message}}
	}
	tests := []struct {
		name   string
		result core.Result
		want   harness.Verdict
	}{
		{"Waiting", core.Result{State: core.RequestQueued}, harness.Unfinished},
		{"Cancelled", core.Result{State: core.RequestCancelled}, harness.Cancelled},
		{"Dead", core.Result{State: core.RequestDead}, harness.PlatformFault},
		{"Files missing", core.Result{State: core.RequestFailed, Blame: core.BlamePlatform}, harness.PlatformFault},
		{"Waited too long", core.Result{State: core.RequestTimedOut, Blame: core.BlamePlatform}, harness.PlatformFault},
		{"Bad output", core.Result{State: core.RequestFailed, Blame: core.BlameHarness}, harness.HarnessFault},
		{"Harness ran out of time", core.Result{State: core.RequestFailed, Blame: core.BlameHarness, Limit: core.LimitTime}, harness.HarnessFault},
		{"Time", core.Result{State: core.RequestTimedOut, Blame: core.BlameSubmission}, harness.TimeLimit},
		{"Memory", core.Result{State: core.RequestFailed, Blame: core.BlameSubmission, Limit: core.LimitMemory}, harness.MemoryLimit},
		{"Processes", core.Result{State: core.RequestFailed, Blame: core.BlameSubmission, Limit: core.LimitPids}, harness.ProcessLimit},
		{"Output", core.Result{State: core.RequestFailed, Blame: core.BlameSubmission, Limit: core.LimitOutput}, harness.OutputLimit},
		{"Command well", core.Result{State: core.RequestCompleted}, harness.Passed},
		{"Command badly", core.Result{State: core.RequestCompleted, ExitCode: 3}, harness.Failed},
		{"Command by signal", core.Result{State: core.RequestCompleted, ExitCode: 139, Signal: "SIGSEGV"}, harness.Crashed},
		{"All points", core.Result{State: core.RequestCompleted, Score: num(2), MaxScore: num(2)}, harness.Passed},
		{"More than all", core.Result{State: core.RequestCompleted, Score: num(3), MaxScore: num(2)}, harness.Passed},
		{"Some points", core.Result{State: core.RequestCompleted, Score: num(1), MaxScore: num(2)}, harness.Partial},
		{"No points", core.Result{State: core.RequestCompleted, Score: num(0), MaxScore: num(2)}, harness.Failed},
		{"None to win", core.Result{State: core.RequestCompleted, Score: num(0), MaxScore: num(0)}, harness.Passed},
		{"Points lost", core.Result{State: core.RequestCompleted, Score: num(-1), MaxScore: num(0)}, harness.Failed},
		{"Sum of tests", core.Result{State: core.RequestCompleted, Tests: failing("")}, harness.Partial},
		{"Word", core.Result{State: core.RequestCompleted, Score: num(1), MaxScore: num(2), Tests: failing("crashed")}, harness.Crashed},
		{"Word and colon", core.Result{State: core.RequestCompleted, Score: num(1), MaxScore: num(2), Tests: failing("time limit: no end after 1 s")}, harness.TimeLimit},
		{"Word in a sentence", core.Result{State: core.RequestCompleted, Score: num(1), MaxScore: num(2), Tests: failing("crashed into a wall")}, harness.Partial},
		{"Word though all points", core.Result{State: core.RequestCompleted, Score: num(2), MaxScore: num(2), Tests: failing("crashed")}, harness.Passed},
		{"Harness refuses", core.Result{State: core.RequestFailed, Blame: core.BlameSubmission}, harness.Rejected},
		{"Harness refuses with points", core.Result{State: core.RequestFailed, Blame: core.BlameSubmission, Score: num(0), MaxScore: num(2)}, harness.Rejected},
		{"Harness refuses with a word", core.Result{State: core.RequestFailed, Blame: core.BlameSubmission, Tests: failing("memory limit: asked for more")}, harness.MemoryLimit},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, test.want, harness.VerdictOf(&test.result))
		})
	}
}
