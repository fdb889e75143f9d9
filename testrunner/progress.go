package testrunner

import (
	"context"
	"time"

	"drover/core"
)

// Times that go into a testrunner's reports to Redis: within them a phase ends or is reported again, else the
// testrunner counts as hung and loses the work. Each is longer than the testrunner's own limit, so that its own
// report comes first.
const (
	ownGrace        = 10 * time.Second // to judge, record and finish after the VM has ended
	outageWait      = 30 * time.Second // for the next try while a store is down: the longest pause, and the beginning of the try
	progressTimeout = 2 * time.Second  // for one report to Redis
)

// progress reports the job's phase to Redis, and that it ends or is reported again within a time. The job stops only
// if the claim is not ours any more; if Redis does not answer, it continues.
func (j *job) progress(ctx context.Context, phase core.RequestState, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, progressTimeout)
	defer cancel()
	j.phase, j.until = phase, j.r.deps.Clock.Now().Add(within)
	err := j.worker.Progress(ctx, j.w, string(phase), within)
	if core.Is(err, core.CodeFenced) || core.Is(err, core.CodeStale) {
		return err
	}
	return nil
}

// running reports a running command with a time limit to Redis, unless the last report covers it.
func (j *job) running(limit time.Duration) error {
	within := limit + j.r.cfg.RunGrace + ownGrace
	if j.phase == core.RequestRunning && !j.r.deps.Clock.Now().Add(within).After(j.until) {
		return nil
	}
	return j.progress(j.ctx, core.RequestRunning, within)
}

// waits reports to Redis that the job waits for a store that is down.
func (j *job) waits(ctx context.Context) error {
	return j.progress(ctx, j.phase, j.pool.StageTimeout+outageWait+ownGrace)
}
