package testrunner

import (
	"context"
	"time"

	"drover/core"
)

// Times that go into what a runner declares to Redis: within it a phase ends or is
// heard of again, else the runner counts as hung and the work is taken from it. Each is
// longer than what the runner limits itself, so that its own word comes first.
const (
	ownGrace        = 10 * time.Second // to judge, record and finish once the VM has ended
	outageWait      = 30 * time.Second // for the next try while a store is down: the longest pause, and the try's own beginning
	progressTimeout = 2 * time.Second  // for Redis to hear of it
)

// progress tells Redis that the job is in a phase and ends or is heard of again
// within a time. Only that the claim is not ours any more stops the job; that Redis
// does not answer does not.
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

// running tells Redis that commands run, whose time limit is given, unless what it
// was told last covers that.
func (j *job) running(limit time.Duration) error {
	within := limit + j.r.cfg.RunGrace + ownGrace
	if j.phase == core.RequestRunning && !j.r.deps.Clock.Now().Add(within).After(j.until) {
		return nil
	}
	return j.progress(j.ctx, core.RequestRunning, within)
}

// waits tells Redis that a store is down and the job waits for it.
func (j *job) waits(ctx context.Context) error {
	return j.progress(ctx, j.phase, j.pool.StageTimeout+outageWait+ownGrace)
}
