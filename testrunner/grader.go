package testrunner

import (
	"strings"

	"drover/core"
	"drover/core/harness/cases"
)

// graded has the author's grader compute the points of all tests, in a VM where nothing of the submission is left.
func (j *job) graded(r *cases.Report) error {
	c := j.suite.plan.Grader
	if c == nil {
		return nil
	}
	r.Graded = new(float64)
	if r.Build != nil || j.suite.late {
		return nil
	}
	if err := j.vm.Reset(j.ctx, ""); err != nil {
		return err
	}
	j.untrusted = false
	bad, err := j.build(j.vm, c.Files, c.Build, c.Limits)
	if err != nil {
		return err
	}
	if bad != nil {
		return unbuilt(c, bad)
	}
	run := j.step(c.Run, j.w.Spec.Env)
	run.Stdin = strings.NewReader(r.Results(j.suite.plan))
	done, err := j.one(j.vm, run, c.Limits)
	if err != nil {
		return err
	}
	_, why, _ := done.verdict(well, c.Limits)
	if why == "" {
		*r.Graded, why = c.Grade(done.stdout.String())
	}
	if why == "" {
		return nil
	}
	const most = 300
	said := strings.TrimSpace(done.stderr.String())
	return &ended{core.BlameHarness, notYours + "the grader failed: " + why + " (" + strings.ToValidUTF8(said[:min(len(said), most)], "\ufffd") + ")."}
}
