package testrunner

import (
	"io"
	"strconv"

	"drover/core"
	"drover/core/agent"
	"drover/core/agent/wire"
	"drover/core/harness/cases"
)

// mostFeedback is the most files that a checker may leave for the next pass.
const mostFeedback = 100

// judgeOf is the author's program that judges a test, and the VM in which it does; nil if a comparison does.
func (j *job) judgeOf(t *cases.Test) (*cases.Checker, VM) {
	switch t.Compare.By {
	case cases.Check:
		return j.suite.plan.Checker, j.vm
	case cases.Interact:
		return j.suite.plan.Interactor, j.peer
	}
	return nil, nil
}

// again reports whether the test's program must run once more, since its judge has accepted and written a further input.
// The test then has that input, and the judge will find everything else that it has left.
func (j *job) again(t *cases.Test, o *cases.Outcome, pass int) (bool, error) {
	c, vm := j.judgeOf(t)
	if c == nil || c.Passes == 0 || !o.Passed() {
		return false, nil
	}
	next := false
	j.suite.left = nil
	want := agent.Collection{Paths: []string{cases.Feedback}, Files: mostFeedback, Bytes: cases.MaxFeedback}
	skipped, err := vm.Collect(j.ctx, wire.Work, want, func(f agent.Taken, in io.Reader) error {
		raw, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		if f.Path == cases.NextPass {
			next, t.Input = true, cases.Content{Text: string(raw)}
			return nil
		}
		j.suite.left = append(j.suite.left, cases.Placed{At: f.Path, Content: cases.Content{Text: string(raw)}})
		return nil
	})
	switch {
	case err != nil:
		return false, err
	case next && pass == c.Passes:
		return false, j.checkerFailed(c, t, "it asks for another pass after "+strconv.Itoa(pass)+", which are all that it may have")
	}
	for _, s := range skipped {
		if s.Why != wire.SkipAbsent {
			return false, j.checkerFailed(c, t, "what it leaves for the next pass cannot be kept: "+s.Path+": "+s.Why)
		}
	}
	return next, nil
}

// most is the usage of two passes, each of which has limits of its own.
func most(a, b core.Usage) core.Usage {
	return core.Usage{CPUMs: max(a.CPUMs, b.CPUMs), WallMs: max(a.WallMs, b.WallMs), MemoryPeakBytes: max(a.MemoryPeakBytes, b.MemoryPeakBytes)}
}
