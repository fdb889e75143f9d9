package testrunner

import (
	"context"
	"time"

	"drover/core"
	"drover/core/agent"
	"drover/core/harness/cases"
)

// ran is one command's run.
type ran struct {
	capture

	exit      agent.Exit
	unstarted error // why it could not be started
	cut       bool  // an interactor that was ended, since nothing depended on it any more
}

func (r *ran) usage() core.Usage {
	return core.Usage{CPUMs: r.exit.CPUMs, WallMs: r.exit.WallMs, MemoryPeakBytes: r.exit.MemoryPeakBytes}
}

func (r *ran) verdict(exit *int, l cases.Limits) (verdict, why string, by core.DecidedBy) {
	if r.unstarted != nil {
		return cases.RuntimeError, "it could not be started: " + r.unstarted.Error(), core.ByStart
	}
	return cases.Ended(r.exit, exit, l)
}

// limitReached returns the verdict of a limit that the run has reached, and how; "" if it has reached none.
func (r *ran) limitReached(l cases.Limits) (verdict, why string) {
	if r.unstarted != nil || r.cut {
		return "", ""
	}
	if verdict, why, _ = r.verdict(nil, l); verdict == cases.RuntimeError {
		return "", ""
	}
	return verdict, why
}

// step is a run of one command in the place work.
func (j *job) step(c cases.Command, env []string) agent.Run {
	return agent.Run{Args: c, Env: env, Dir: agent.WorkDir, Limits: j.limits}
}

// resetTime is how long it may take to remove what a run has left.
const resetTime = 2 * time.Minute

// one runs one command within its limits and the remaining time of the whole.
func (j *job) one(vm VM, run agent.Run, l cases.Limits) (*ran, error) {
	leave, err := j.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	b, before := j.bounds(l), j.r.watch.look()
	if err := j.running(b.all()); err != nil {
		return nil, err
	}
	out, err := j.execute(j.ctx, vm, run, l, b, func(string, []byte) {})
	if err == nil {
		j.account(out, l, b)
		j.repay(out, b, before)
	}
	return out, err
}

// execute runs one command; tap hears what it prints, which comes with an error, too. One that ends between its limit of
// processor time and stopAt has exceeded the limit nevertheless.
func (j *job) execute(ctx context.Context, vm VM, run agent.Run, l cases.Limits, b bounds, tap func(stream string, data []byte)) (*ran, error) {
	out := &ran{capture: capture{limit: l.Output}}
	late := b.all() + j.r.cfg.RunGrace
	if run.Reset != nil {
		late += resetTime
	}
	inner, cancel := context.WithTimeoutCause(ctx, late, core.Wrap(errLate, core.CodeBadVM, j.w.VM, "VM %s did not end a run within %s", j.w.VM, late))
	defer cancel()
	var err error
	run.CPU, run.Stretch = stopAt(l), b.more
	run.Share = core.Limits{Timeout: b.wall, Memory: l.Memory, Output: min(l.Output, j.limits.Output), Pids: l.Pids}
	out.exit, err = vm.Run(inner, run, func(stream string, data []byte) {
		out.add(stream, data)
		tap(stream, data)
	})
	switch {
	case core.Is(err, core.CodeInvalid):
		out.unstarted = err
		return out, nil
	case err != nil && ctx.Err() == nil && inner.Err() != nil:
		return nil, context.Cause(inner)
	case err != nil:
		return out, err
	}
	out.exit.TimedOut = out.exit.TimedOut || l.Time > 0 && out.exit.CPUMs > l.Time.Milliseconds()
	return out, nil
}

// account adds a run to what the grading has used.
func (j *job) account(out *ran, l cases.Limits, b bounds) {
	if out.unstarted != nil || out.cut {
		return
	}
	s := j.suite
	s.held = out.exit.HeldBy
	s.usage.CPUMs += out.exit.CPUMs
	s.usage.MemoryPeakBytes = max(s.usage.MemoryPeakBytes, out.exit.MemoryPeakBytes)
	s.late = s.late || b.over(out, l)
}
