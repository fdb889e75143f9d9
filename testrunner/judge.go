package testrunner

import (
	"cmp"
	"fmt"
	"strings"

	"drover/core"
	"drover/core/agent"
	"drover/core/harness"
)

// judge makes the result of a run that ended.
func (j *job) judge(exit agent.Exit) core.Result {
	res := j.result()
	res.ExitCode, res.Signal, res.HeldBy = exit.Code, exit.Signal, exit.HeldBy
	res.Usage = core.Usage{CPUMs: exit.CPUMs, WallMs: exit.WallMs, MemoryPeakBytes: exit.MemoryPeakBytes}
	j.heard(&res)
	res.Truncated = exit.Truncated || j.out.cutOut || j.out.cutErr
	if j.w.Spec.Harness == nil {
		judgeCommand(&res, exit, j.limits)
		return res
	}
	outCut := res.Truncated && int64(j.out.stdout.Len()) >= j.limits.Output
	judgeHarness(&res, exit, j.limits, j.away(), j.out.stdout.String(), outCut, j.parser(res.Stderr))
	return res
}

// parser reads the report of a harness in the form that its settings name. Said is what it printed beside it.
func (j *job) parser(said string) func(text []byte) (harness.Report, error) {
	in, err := harness.ParseInput(j.w.Spec.Input)
	if err != nil || in.Config.Format != harness.FormatGradescope {
		return harness.ParseReport
	}
	return func(text []byte) (harness.Report, error) {
		return harness.ParseResults(text, said, in.WasDue(j.r.deps.Clock.Now()))
	}
}

// judgeCommand judges the end of a plain command. An exit code is for the caller to judge, an exceeded limit is not.
func judgeCommand(res *core.Result, exit agent.Exit, limits core.Limits) {
	res.Limit = exit.Limit()
	switch {
	case res.Limit == core.LimitTime:
		res.State, res.Blame, res.Reason = core.RequestTimedOut, core.BlameSubmission, "The program was stopped: "+over(res.Limit, limits)
	case res.Limit != "":
		res.State, res.Blame, res.Reason = core.RequestFailed, core.BlameSubmission, "The program was stopped: "+over(res.Limit, limits)
	default:
		res.State = core.RequestCompleted
		if exit.Signal != "" {
			res.Reason = "The program was ended by the signal " + exit.Signal + "."
		}
	}
}

// notYours begins every reason that is not the submitter's fault.
const notYours = "The grading program failed, which is not your fault: "

// judgeHarness judges the end of a grading. Limits on memory and processes apply to the whole VM: exceeding them ends
// the run whatever the harness printed before or after, because the kernel may kill the harness or the submission
// first. A harness that is away has its VM to itself. Time that the harness has spent on commands in its box is the
// submission's.
func judgeHarness(res *core.Result, exit agent.Exit, limits core.Limits, away bool, out string, outCut bool, parse func(text []byte) (harness.Report, error)) {
	res.State, res.Limit = core.RequestFailed, exit.Limit()
	if len(exit.Refused) > 0 {
		res.Limit = exit.Refused[0]
	}
	switch {
	case !away && (res.Limit == core.LimitMemory || res.Limit == core.LimitPids):
		res.Blame, res.Reason = core.BlameSubmission, "The grading was stopped: "+over(res.Limit, limits)
		return
	case res.Limit == core.LimitTime && exit.BoxedMs*2 >= limits.Timeout.Milliseconds():
		res.Blame, res.Reason = core.BlameSubmission, "The grading was stopped: "+over(res.Limit, limits)+" Programs of the submission ran for half of it or more."
		return
	case res.Limit != "":
		res.Blame, res.Reason = core.BlameHarness, notYours+over(res.Limit, limits)
		return
	case exit.Signal != "":
		res.Blame, res.Reason = core.BlameHarness, notYours+"it was ended by the signal "+exit.Signal+"."
		return
	case exit.Code != 0:
		res.Blame, res.Reason = core.BlameHarness, fmt.Sprintf("%sit ended with exit code %d.", notYours, exit.Code)
		return
	case outCut:
		res.Limit = core.LimitOutput
		res.Blame, res.Reason = core.BlameHarness, notYours+over(res.Limit, limits)
		return
	}
	judgeReport(res, []byte(out), parse)
}

// judgeReport adds a harness's report to the result.
func judgeReport(res *core.Result, text []byte, parse func(text []byte) (harness.Report, error)) {
	res.State = core.RequestFailed
	report, err := parse(text)
	if err != nil {
		res.Blame, res.Reason = core.BlameHarness, notYours+err.Error()+"."
		return
	}
	res.Score, res.MaxScore, res.Tests = report.Score, report.MaxScore, report.Tests
	if report.Failed {
		res.Blame, res.Reason = core.BlameSubmission, refusal(report.Tests)
		return
	}
	res.State = core.RequestCompleted
}

// over says which limit was exceeded.
func over(limit string, l core.Limits) string {
	switch limit {
	case core.LimitTime:
		return fmt.Sprintf("it ran for longer than its time limit of %s.", l.Timeout)
	case core.LimitMemory:
		return fmt.Sprintf("it took more memory than its limit of %s.", core.SizeText(l.Memory))
	case core.LimitPids:
		return fmt.Sprintf("it started more processes than its limit of %d.", l.Pids)
	case core.LimitOutput:
		return fmt.Sprintf("it printed more than its output limit of %s.", core.SizeText(l.Output))
	}
	return "it went over its limit on " + limit + "."
}

// refusal returns why a harness refused to grade: the first line of a test's message.
func refusal(tests []core.Test) string {
	for _, test := range tests {
		if line, _, _ := strings.Cut(strings.TrimSpace(test.Message), "\n"); line != "" {
			return "The grading program could not grade this submission: " + line
		}
	}
	return "The grading program could not grade this submission."
}

// exitNotFound is a shell's exit code for a command that it cannot start.
const exitNotFound = 127

// unstartable returns the result of a command that the VM could not start.
func (j *job) unstartable(err error) core.Result {
	res := j.failed(core.BlameSubmission, "The command could not be started: "+err.Error()+".")
	if j.w.Spec.Harness != nil {
		res = j.failed(core.BlameHarness, notYours+"it could not be started: "+err.Error()+".")
	}
	res.ExitCode = exitNotFound
	return res
}

// failed returns a result with blame and reason.
func (j *job) failed(blame core.Blame, reason string) core.Result {
	res := j.result()
	res.State, res.Blame, res.Reason = core.RequestFailed, blame, reason
	return res
}

// cancelled returns the result of cancelled work.
func (j *job) cancelled(cause error) core.Result {
	res := j.result()
	res.State, res.Reason = core.RequestCancelled, cause.Error()
	return res
}

// dead returns the result of a request that is not run again.
func (j *job) dead(why string) core.Result {
	res := j.result()
	res.State, res.Blame, res.Reason, res.Attempt = core.RequestDead, core.BlamePlatform, why, max(1, j.w.Attempts)
	return res
}

// result returns the fields common to all results of the job.
func (j *job) result() core.Result {
	spec := &j.w.Spec
	res := core.Result{
		ID: spec.ID, Generation: spec.Generation, Attempt: j.w.Attempts + 1, Change: spec.Change,
		Stdout: text(&j.out.stdout), Stderr: text(&j.out.stderr), Truncated: j.out.cutOut || j.out.cutErr,
		Host: j.r.host, Pool: cmp.Or(j.pool.Of, spec.Pool), VM: j.w.VM, Token: j.w.Token, Image: j.image,
	}
	// The claim's time is by Redis' clock, so only one difference of clocks, the submitter's, is included.
	claimed := max(j.w.Since-spec.Submitted, 0)
	res.Times = core.Times{Submitted: spec.Submitted, Claimed: claimed, Started: -1}
	if !j.started.IsZero() {
		res.Times.Started = claimed + j.started.Sub(j.arrived).Milliseconds()
	}
	res.Receipt = j.receipt()
	res.Times.Finished = claimed + j.r.deps.Clock.Now().Sub(j.arrived).Milliseconds()
	return res
}
