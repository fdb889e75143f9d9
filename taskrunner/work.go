package taskrunner

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/sirupsen/logrus"

	"drover/core"
)

// maxNote bounds what is kept of how a task ended, in bytes.
const maxNote = 2000

// start runs a task and hands its end to the loop.
func (e *epoch) start(ctx context.Context, c core.TaskClaim) {
	e.running[c.Task.Key()] = true
	e.metrics.running.Inc()
	e.wg.Go(func() {
		defer e.metrics.running.Dec()
		f := e.do(ctx, c)
		e.metrics.tasks.WithLabelValues(e.label(c.Task.Kind), string(f.Outcome)).Inc()
		e.finished <- f
	})
}

// label keeps the kinds in metrics to those that there are.
func (e *epoch) label(kind string) string {
	if e.handlers[kind] == nil {
		return "unknown"
	}
	return kind
}

// do runs a task and records its end, store first.
func (e *epoch) do(ctx context.Context, c core.TaskClaim) core.TaskFinish {
	f := core.TaskFinish{Key: c.Task.Key(), Token: c.Token}
	log := e.log.WithFields(logrus.Fields{"task": c.Task.ID, "kind": c.Task.Kind, "attempt": c.Attempts + 1})
	note, err := e.attempt(ctx, c)
	switch {
	case err == nil:
		log.WithField("note", note).Info("done")
		f.Outcome = e.record(ctx, c, core.TaskDone, core.OutcomeDone, note)
	case ctx.Err() != nil:
		f.Outcome = core.OutcomeRelease
	case c.Attempts+1 >= e.cfg.MaxAttempts || core.Is(err, core.CodeInvalid):
		log.WithError(err).Error("dead")
		note = fmt.Sprintf("attempt %d of %d: %v", c.Attempts+1, e.cfg.MaxAttempts, err)
		f.Outcome = e.record(ctx, c, core.TaskDead, core.OutcomeDead, note)
	default:
		f.Outcome = core.OutcomeRetry
		log.WithError(err).Warn("failed")
	}
	if f.Outcome == core.OutcomeRetry {
		f.Delay = e.delay(c.Attempts + 1)
	}
	return f
}

// attempt is one bounded try. A panic is the handler's failure.
func (e *epoch) attempt(ctx context.Context, c core.TaskClaim) (note string, err error) {
	handle := e.handlers[c.Task.Kind]
	if handle == nil {
		return "", core.Errorf(core.CodeInvalid, c.Task.ID, "no taskrunner of this version knows tasks of kind %q", c.Task.Kind)
	}
	ctx, cancel := context.WithTimeout(ctx, e.cfg.Timeout)
	defer cancel()
	begun := e.clock.Now()
	defer func() {
		e.metrics.seconds.WithLabelValues(c.Task.Kind).Observe(e.clock.Now().Sub(begun).Seconds())
		if p := recover(); p != nil {
			err = core.Errorf(core.CodeInternal, c.Task.ID, "the handler of %s panicked: %v\n%s", c.Task.Kind, p, debug.Stack())
		}
	}()
	note, err = handle(ctx, c.Task.Args)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = core.Wrap(err, core.CodeUnavailable, c.Task.ID, "not done within %s", e.cfg.Timeout)
	}
	return note, err
}

// record makes the end durable, however long the store is away. If the runner
// has to stop before, the task is given back and will be done again.
func (e *epoch) record(ctx context.Context, c core.TaskClaim, state core.TaskState, outcome core.Outcome, note string) core.Outcome {
	log := e.log.WithField("task", c.Task.ID)
	_, err := backoff.Retry(ctx, func() (bool, error) {
		first, err := e.store.EndTask(ctx, core.TaskEnd{ID: c.Task.ID, Generation: c.Task.Generation, State: state, Note: clip(note)})
		switch {
		case core.Is(err, core.CodeNotFound):
			return false, nil // its row was purged: nobody waits for it
		case core.Is(err, core.CodeInvalid) || core.Is(err, core.CodeLimit):
			return false, backoff.Permanent(err)
		}
		return first, err
	}, backoff.WithBackOff(patience()), backoff.WithMaxElapsedTime(0), backoff.WithNotify(func(err error, _ time.Duration) {
		log.WithError(err).Warn("cannot record how the task ended; trying again")
	}))
	switch {
	case err == nil:
		return outcome
	case ctx.Err() != nil:
		return core.OutcomeRelease
	}
	log.WithError(err).Error("the store refuses how the task ended")
	return core.OutcomeRetry
}

// clip bounds a note, which may hold what a handler was told by others.
func clip(s string) string {
	s = strings.ToValidUTF8(s, "?")
	if len(s) > maxNote {
		s = strings.ToValidUTF8(s[:maxNote], "") + " …"
	}
	return s
}
