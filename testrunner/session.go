package testrunner

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"drover/core"
	"drover/core/agent"
	"drover/core/cluster/recovery"
	"drover/core/service/clock"
	"drover/core/worker"
)

// session runs the slots of one epoch.
type session struct {
	r      *Runner
	worker *worker.Worker

	told context.Context    // the runner's: it ends when the runner must stop
	ctx  context.Context    // ended by halt when running work must be killed and given back
	halt context.CancelFunc // called after the worker was drained, so that returned work is not claimed again
	keep context.Context    // ended by drop when results need not be delivered any more
	drop context.CancelFunc
}

func newSession(ctx context.Context, r *Runner, worker *worker.Worker) *session {
	s := &session{r: r, worker: worker, told: ctx}
	s.ctx, s.halt = context.WithCancel(context.WithoutCancel(ctx))
	s.keep, s.drop = context.WithCancel(context.WithoutCancel(ctx))
	return s
}

// work runs the slots until they are drained, ctx ends, or the epoch is over:
// then it returns FENCED.
func (s *session) work() error {
	defer s.halt()
	over := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() { s.watch(over) })
	errs := make(chan error, s.r.cfg.Slots)
	for range s.r.cfg.Slots {
		go func() { errs <- s.slot() }()
	}
	var fenced error
	for range s.r.cfg.Slots {
		if err := <-errs; core.Is(err, core.CodeFenced) {
			fenced = err
		}
	}
	close(over)
	watch.Wait()
	return fenced
}

// watch stops running work when the runner must stop, and some time later, or once the epoch is over, ends keep.
func (s *session) watch(over <-chan struct{}) {
	defer s.drop()
	told := s.told.Done()
	var handOver <-chan time.Time
	for {
		select {
		case <-over:
			return
		case <-s.worker.Lost():
			return
		case <-handOver:
			return
		case <-told:
			s.worker.Drain()
			s.halt()
			handOver, told = s.r.deps.Clock.After(s.r.cfg.HandOver), nil
		}
	}
}

// slot runs one claim after the other.
func (s *session) slot() error {
	w, err := s.worker.Next(s.ctx)
	for err == nil {
		s.r.metrics.claims.Add(1)
		outcome, over := s.serve(w)
		if over {
			w, _, err = s.worker.FinishNext(s.ctx, w, outcome)
		} else {
			w, err = s.worker.Next(s.ctx)
		}
	}
	return err
}

var errStopping = errors.New("the runner must stop")

// serve runs a claim to its end and returns its outcome for Redis. It returns false if there is none: the epoch is
// over, the worker was closed, or the result could not be recorded before the runner had to stop.
func (s *session) serve(w *worker.Work) (core.Outcome, bool) {
	s.r.metrics.busy.Add(1)
	defer s.r.metrics.busy.Add(-1)
	ctx, cancel := context.WithCancelCause(w.Context())
	defer cancel(nil)
	forget := context.AfterFunc(s.ctx, func() { cancel(errStopping) })
	defer forget()
	if w.Young {
		if outcome := s.ghost(ctx, w); outcome != "" {
			return outcome, true
		}
	}

	j := s.newJob(ctx, w)
	res, outcome := s.run(j)
	state := core.RequestQueued // the new state after a release or retry
	switch outcome {
	case "":
		return "", false
	case core.OutcomeDone, core.OutcomeDead:
		if !s.record(j, res) {
			return "", false
		}
		state = res.State
	case core.OutcomeRelease, core.OutcomeRetry, core.OutcomeBroken, core.OutcomeUnclean, core.OutcomeLater:
	}
	if err := j.live.end(state); err != nil {
		j.log.WithError(err).Debug("watchers were not told of the end")
	}
	return outcome, true
}

// askTimeout bounds the query for an end that the store may have. Without an answer the work is run: a second result
// is refused.
const askTimeout = 3 * time.Second

// ghost returns the outcome of a claim that has its result already, or whose request was deleted, because Redis was set
// back; "" if it is to be run.
func (s *session) ghost(ctx context.Context, w *worker.Work) core.Outcome {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	ended, err := s.r.deps.Store.Terminal(ctx, []string{w.Key})
	switch state := ended[w.Key]; {
	case err != nil:
		s.r.log.WithField("request", w.Key).WithError(err).Warn("the result store does not say whether it has ended, which a Redis that was set back would not know: it is run")
		return ""
	case state == "":
		if id, _, err := core.ParseKey(w.Key); err != nil || !s.deleted(ctx, id) {
			return ""
		}
	case state == core.RequestDead:
		return core.OutcomeDead
	}
	s.r.log.WithField("request", w.Key).Info("it has ended or was deleted, and Redis was set back to before that: it is not run again")
	return core.OutcomeDone
}

// deleted reports whether the store does not have a request: Redis has only what the store had before.
func (s *session) deleted(ctx context.Context, id string) bool {
	_, err := s.r.deps.Store.Get(ctx, id)
	return core.Is(err, core.CodeNotFound)
}

// run runs a job to its end, unless too many deaths count against its request. That is decided by the next owner that
// claims it, not by the one that saw the last death: that one may have lost the claim, which only Redis knows.
func (s *session) run(j *job) (core.Result, core.Outcome) {
	end := recovery.Verdict(j.w.Deaths, recovery.Options{MaxAttempts: s.r.cfg.MaxAttempts, MaxDeaths: s.r.cfg.MaxDeaths})
	if end.State != "" && j.ctx.Err() == nil {
		j.live.close()
		j.log.WithField("reason", end.Reason).Error("the request is not run again")
		if end.State == core.RequestDead {
			return j.dead(end.Reason), core.OutcomeDead
		}
		return j.failed(end.Blame, end.Reason), core.OutcomeDone
	}
	res, err := j.do()
	if err != nil {
		return s.conclude(j, err)
	}
	return res, core.OutcomeDone
}

// conclude decides the outcome of a claim without a result of its own. The outcome is empty if the claim is not ours
// any more.
func (s *session) conclude(j *job, err error) (core.Result, core.Outcome) {
	var bad *ended
	cause := context.Cause(j.ctx)
	switch {
	case core.Is(cause, core.CodeCancelled):
		return j.cancelled(cause), core.OutcomeDone
	case errors.Is(cause, errStopping):
		s.r.metrics.releases.Add(1)
		return j.givesUp(core.OutcomeRelease, "its testrunner had to stop")
	case cause != nil, core.Is(err, core.CodeFenced), core.Is(err, core.CodeStale):
		j.log.WithError(err).Warn("the claim is not ours any more; its work is dropped")
		return core.Result{}, ""
	case errors.As(err, &bad):
		return j.failed(bad.blame, bad.reason), core.OutcomeDone
	}
	if errors.Is(err, core.ErrDamaged) && j.w.Attempts+1 >= s.r.cfg.MaxAttempts {
		return j.failed(core.BlamePlatform, "A file of it cannot be read, which is not your fault: "+err.Error()+"."), core.OutcomeDone
	}
	s.r.metrics.retries.Add(1)
	if j.untrusted && errors.Is(err, agent.ErrUnclean) {
		j.log.WithError(err).Warn("what the submission left in its VM could not be removed; trying again on another VM, if it may")
		return j.givesUp(core.OutcomeUnclean, "something that it left in its VM could not be removed")
	}
	if j.broke(err) {
		j.log.WithError(err).Warn("the VM died under the request; trying again on another VM, if it may")
		return j.givesUp(core.OutcomeBroken, "its VM died")
	}
	j.log.WithError(err).Warn("a platform fault; trying again on another VM, if it may")
	return j.givesUp(core.OutcomeRetry, "the platform failed")
}

// record keeps a result until the store has it: in memory and, once the store does not answer, in the spool. It
// returns false if it had to give up; the runner's next epoch or process delivers the spool's copy.
func (s *session) record(j *job, res core.Result) bool {
	pause := newPause()
	spooled, shrunk := false, false
	for {
		_, err := s.r.deps.Store.Record(s.keep, res)
		switch core.CodeOf(err) {
		case "":
			s.r.metrics.finished(res)
			j.log.WithFields(logrus.Fields{"state": res.State, "attempt": res.Attempt}).Debug("recorded the end of a request")
			if spooled {
				s.r.unspool(res)
			}
			return true
		case core.CodeNotFound:
			j.log.WithError(err).Error("the store does not know the request any more; its result is dropped")
			if spooled {
				s.r.unspool(res)
			}
			return true
		case core.CodeInvalid, core.CodeLimit:
			if !shrunk {
				j.log.WithError(err).Error("the store refuses the result; recording its end without output and tests")
				res, shrunk = bare(res, err), true
				continue
			}
		}
		if s.keep.Err() == nil {
			j.log.WithError(err).Warn("the result cannot be recorded; keeping it and trying again")
		}
		if !spooled {
			spooled = s.r.putSpool(res)
		}
		// The result is recorded even if the claim is another's by now: the first result counts.
		if err := j.waits(s.keep); err != nil {
			j.log.WithError(err).Debug("the claim is not ours any more; its result may be wanted yet")
		}
		if clock.Sleep(s.keep, s.r.deps.Clock, pause.NextBackOff()) != nil {
			return false
		}
	}
}

// bare returns what is left of a result that the store refuses.
func bare(res core.Result, refusal error) core.Result {
	res.Stdout, res.Stderr, res.Tests, res.Score, res.MaxScore = "", "", nil, nil, nil
	res.Truncated = true
	if res.State != core.RequestCompleted && res.State != core.RequestFailed {
		return res
	}
	res.State, res.Blame = core.RequestFailed, core.BlamePlatform
	res.Reason = "It ran, but its result could not be kept: " + refusal.Error() + "."
	return res
}
