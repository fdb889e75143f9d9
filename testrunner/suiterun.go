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
}

func (r *ran) usage() core.Usage {
	return core.Usage{CPUMs: r.exit.CPUMs, WallMs: r.exit.WallMs, MemoryPeakBytes: r.exit.MemoryPeakBytes}
}

func (r *ran) verdict(exit *int, l cases.Limits) (verdict, why string) {
	if r.unstarted != nil {
		return cases.RuntimeError, "it could not be started: " + r.unstarted.Error()
	}
	return cases.Ended(r.exit, exit, l)
}

// step is a run of one command in the place work.
func (j *job) step(c cases.Command, env []string) agent.Run {
	return agent.Run{Args: c, Env: env, Dir: agent.WorkDir, Limits: j.limits}
}

// resetTime is how long it may take to remove what a run has left.
const resetTime = 2 * time.Minute

// one runs one command within its limits and the remaining time of the whole.
func (j *job) one(run agent.Run, l cases.Limits) (*ran, error) {
	left := max(j.suite.until.Sub(j.r.deps.Clock.Now()), time.Millisecond)
	wall := min(l.Wall, left)
	out := &ran{capture: capture{limit: l.Output}}
	late := wall + j.r.cfg.RunGrace
	if run.Reset != nil {
		late += resetTime
	}
	if err := j.running(wall); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(j.ctx, late, core.Wrap(errLate, core.CodeBadVM, j.w.VM, "VM %s did not end a run within %s", j.w.VM, late))
	defer cancel()
	var err error
	run.CPU = l.Time
	run.Share = core.Limits{Timeout: wall, Memory: l.Memory, Output: min(l.Output, j.limits.Output), Pids: l.Pids}
	out.exit, err = j.vm.Run(ctx, run, out.add)
	switch {
	case core.Is(err, core.CodeInvalid):
		out.unstarted = err
		return out, nil
	case err != nil && j.ctx.Err() == nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, err
	}
	s := j.suite
	s.held = out.exit.HeldBy
	s.usage.CPUMs += out.exit.CPUMs
	s.usage.MemoryPeakBytes = max(s.usage.MemoryPeakBytes, out.exit.MemoryPeakBytes)
	s.late = s.late || out.exit.TimedOut && wall < l.Wall && out.exit.CPUMs < l.Time.Milliseconds()
	return out, nil
}
