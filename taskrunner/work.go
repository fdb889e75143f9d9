package taskrunner

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/sirupsen/logrus"

	"drover/core"
	"drover/core/worker"
)

// maxNote bounds a task's note, in bytes.
const maxNote = 2000

// hintTimeout bounds calls that may fail without harm: notes and hints.
const hintTimeout = 5 * time.Second

// try is one try of a task.
type try struct {
	*epoch
	core.TaskClaim
	kind Kind
	log  logrus.FieldLogger
	job  *Job

	stopped bool // it was cancelled
}

// start runs a task, unless it was cancelled before, and hands its end to the loop.
func (e *epoch) start(work context.Context, c core.TaskClaim) {
	ctx, cancel := context.WithCancelCause(work)
	e.running[c.Task.Key()] = cancel
	if c.Cancelled != "" {
		cancel(cancelled(c.Cancelled))
	}
	t := e.newTry(c)
	e.metrics.running.Add(1)
	e.wg.Go(func() {
		defer cancel(nil)
		defer e.metrics.running.Add(-1)
		f := t.do(work, ctx, cancel)
		how := string(f.Outcome)
		if t.stopped {
			how = string(core.TaskCancelled)
		}
		e.metrics.tasks.Add(1, e.label(c.Task.Kind), how)
		e.finished <- f
	})
}

// cancelled is the cause with which a cancelled task's handler is stopped.
func cancelled(by string) error { return core.Errorf(core.CodeCancelled, "", "cancelled by %s", by) }

func (e *epoch) newTry(c core.TaskClaim) *try {
	kind, known := e.kinds[c.Task.Kind]
	if !known {
		kind = e.cfg.filledKind(Kind{Name: c.Task.Kind, Handle: unknown})
	}
	t := &try{epoch: e, TaskClaim: c, kind: kind}
	t.log = e.log.WithFields(logrus.Fields{"task": c.Task.ID, "kind": c.Task.Kind, "attempt": c.Attempts + 1})
	t.job = &Job{Task: c.Task, Attempt: c.Attempts + 1, Age: e.now().Sub(time.UnixMilli(c.Task.Created)), teller: newTeller(e.clock, kind.Timeout, t.tell)}
	return t
}

func unknown(_ context.Context, job *Job) (End, error) {
	return End{}, core.Errorf(core.CodeInvalid, job.Task.ID, "no taskrunner of this version knows tasks of kind %q", job.Task.Kind)
}

// label returns a kind as a label of metrics, one of the known ones.
func (e *epoch) label(kind string) string {
	if _, known := e.kinds[kind]; !known {
		return "unknown"
	}
	return kind
}

func (t *try) tell(ctx context.Context, p core.TaskProgress, limit time.Duration) error {
	return t.tasks.ProgressTask(ctx, t.cfg.Registration.Owner, t.n, t.Task.Key(), t.Token, p, limit)
}

// do runs a task and records its end, in the store first. Ctx is the handler's and ends with a cancellation; work
// lasts until the runner stops.
func (t *try) do(work, ctx context.Context, cancel context.CancelCauseFunc) core.TaskFinish {
	telling, hush := context.WithCancel(work)
	told := make(chan struct{})
	go func() {
		defer close(told)
		t.job.teller.run(telling, cancel)
	}()
	defer func() { <-told }()
	defer hush()
	f := core.TaskFinish{Key: t.Task.Key(), Token: t.Token}
	if t.Young && t.ghost(ctx) {
		t.log.Info("it has ended, and Redis was set back to before that: it is not done again")
		f.Outcome = core.OutcomeDone
		return f
	}
	end, err := t.handle(ctx)
	t.job.teller.handled(work)
	switch cause := context.Cause(ctx); {
	case err == nil && end.Later == 0:
		t.log.WithField("note", end.Note).Info("done")
		f.Outcome = t.record(work, core.TaskDone, core.OutcomeDone, end)
	case core.Is(cause, core.CodeCancelled):
		t.log.Info(cause.Error())
		t.stopped = true
		f.Outcome = t.record(work, core.TaskCancelled, core.OutcomeDone, End{Note: cause.Error()})
	case cause != nil:
		f.Outcome = core.OutcomeRelease
	case err == nil:
		f.Outcome, f.Delay = core.OutcomeLater, end.Later
	default:
		f.Outcome = t.failed(work, err)
	}
	if f.Outcome == core.OutcomeRetry {
		f.Delay = t.kind.Retry(t.Attempts + 1)
		if asked := (*retryIn)(nil); errors.As(err, &asked) {
			f.Delay = max(f.Delay, asked.wait)
		}
	}
	return f
}

// ghost reports whether the task has ended already, because Redis was set back. If the store does not answer, the
// task is run once more.
func (t *try) ghost(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, hintTimeout)
	defer cancel()
	now, err := t.store.GetTask(ctx, t.Task.ID)
	return err == nil && (now.Generation > t.Task.Generation || now.Generation == t.Task.Generation && now.State.Terminal())
}

// failed records a failure and returns the outcome.
func (t *try) failed(work context.Context, err error) core.Outcome {
	ctx, cancel := context.WithTimeout(work, hintTimeout)
	defer cancel()
	note := t.store.FailTask(ctx, t.Task.ID, core.TaskFailure{
		Generation: t.Task.Generation, Attempt: t.Attempts + 1, At: t.clock.Now().UnixMilli(), Text: clip(err.Error()),
	})
	if note != nil {
		t.log.WithError(note).Warn("the store does not have this failure")
	}
	if t.Attempts+1 < t.kind.MaxAttempts && !slices.Contains(final, core.CodeOf(err)) {
		t.log.WithError(err).Warn("failed")
		return core.OutcomeRetry
	}
	t.log.WithError(err).Error("dead")
	why := fmt.Sprintf("attempt %d of %d: %v", t.Attempts+1, t.kind.MaxAttempts, err)
	return t.record(work, core.TaskDead, core.OutcomeDead, End{Note: why})
}

// handle makes one try. A panic is a failure of the handler.
func (t *try) handle(ctx context.Context) (end End, err error) {
	if ctx.Err() != nil {
		return End{}, context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, t.kind.Timeout)
	defer cancel()
	begun := t.clock.Now()
	defer func() {
		t.metrics.seconds.Observe(t.clock.Now().Sub(begun).Seconds(), t.label(t.Task.Kind))
		if p := recover(); p != nil {
			t.log.WithField("stack", string(debug.Stack())).Errorf("the handler panicked: %v", p) // for operators, not for the requester
			err = core.Errorf(core.CodeInternal, t.Task.ID, "the handler of %s panicked: %v", t.Task.Kind, p)
		}
	}()
	end, err = t.kind.Handle(ctx, t.job)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = core.Wrap(err, core.CodeUnavailable, t.Task.ID, "not done within %s", t.kind.Timeout)
	}
	return end, err
}

// record makes the end durable, however long the store is away. If the runner has to stop before, the task is given
// back and will be run again.
func (t *try) record(ctx context.Context, state core.TaskState, outcome core.Outcome, end End) core.Outcome {
	how := core.TaskEnd{
		ID: t.Task.ID, Generation: t.Task.Generation, State: state, Note: clip(end.Note),
		Progress: t.job.teller.progress(), Download: end.Download,
	}
	err := how.Check()
	if err == nil {
		err = t.keep(ctx, how)
	}
	switch {
	case err == nil:
		t.wakeParent(ctx)
		if len(t.Task.Notify) > 0 {
			t.outbox.ring()
		}
		return outcome
	case ctx.Err() != nil:
		return core.OutcomeRelease
	}
	t.log.WithError(err).Error("how the task ended cannot be recorded")
	return core.OutcomeRetry
}

// keep tells the store of an end until it has it.
func (t *try) keep(ctx context.Context, end core.TaskEnd) error {
	_, err := backoff.Retry(ctx, func() (bool, error) {
		first, err := t.store.EndTask(ctx, end)
		switch {
		case core.Is(err, core.CodeNotFound):
			return false, nil // its row was purged: nobody waits for it
		case core.Is(err, core.CodeInvalid):
			return false, backoff.Permanent(err)
		}
		return first, err
	}, backoff.WithBackOff(worker.Retries()), backoff.WithMaxElapsedTime(0), backoff.WithNotify(func(err error, _ time.Duration) {
		t.log.WithError(err).Warn("cannot record how the task ended; trying again")
	}))
	return err
}

// wakeParent wakes the task of which this one is a part. It is only a hint: the parent also polls.
func (t *try) wakeParent(ctx context.Context) {
	if t.Task.Parent == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, hintTimeout)
	defer cancel()
	parent, err := t.store.GetTask(ctx, t.Task.Parent)
	if err == nil && !parent.State.Terminal() {
		err = t.tasks.WakeTask(ctx, parent.Key())
	}
	if err != nil {
		t.log.WithError(err).WithField("parent", t.Task.Parent).Debug("the parent was not woken")
	}
}

// clip shortens a note, which may quote what a handler received.
func clip(s string) string { return clipTo(s, maxNote) }

func clipTo(s string, most int) string {
	s = strings.ToValidUTF8(s, "?")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + " …"
	}
	return s
}
