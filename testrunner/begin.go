package testrunner

import (
	"drover/core"
	"drover/core/service/clock"
)

// begin asks the result store for leave to start the first command of a request that must not run twice, and waits for a
// store that is down. The store gives it to one claim, whatever Redis has lost since: an *ended if another had it.
func (j *job) begin() error {
	if !j.once {
		return nil
	}
	by := j.worker.Owner() + " " + j.w.Token
	for pause := newPause(); ; {
		may, err := j.r.deps.Store.BeginRequest(j.ctx, j.w.Key, by)
		switch {
		case may:
			j.begun = true
			return nil
		case err == nil:
			return &ended{core.BlamePlatform, core.BegunReason("its claim was lost")}
		case j.ctx.Err() != nil || !core.Is(err, core.CodeUnavailable):
			return err
		}
		j.log.WithError(err).Warn("the result store does not say whether the request may begin; the claim waits for it")
		if err := j.waits(j.ctx); err != nil {
			return err
		}
		if err := clock.Sleep(j.ctx, j.r.deps.Clock, pause.NextBackOff()); err != nil {
			return err
		}
	}
}

// givesUp returns the end of a claim that has no result of its own: the outcome, unless the request was begun and must not
// run again.
func (j *job) givesUp(outcome core.Outcome, how string) (core.Result, core.Outcome) {
	if !j.begun {
		return core.Result{}, outcome
	}
	return j.failed(core.BlamePlatform, core.BegunReason(how)), core.OutcomeDone
}
