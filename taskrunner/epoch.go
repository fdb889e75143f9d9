package taskrunner

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"drover/core"
	"drover/core/cluster/recovery"
	"drover/core/service/clock"
	"drover/core/worker"
)

// waitPolls is how many polls one wait for the bell lasts.
const waitPolls = 5

// epoch is the runner under one registration. One goroutine, the loop, makes all exchanges, in one lane: a call
// without an answer is repeated unchanged until it gets one, so that a lost reply strands no task.
type epoch struct {
	*Runner
	presence *worker.Presence
	n        int64
	left     []core.Held // slots of the predecessor, until they are settled

	seq, token int64
	call       *core.TaskExchange // not answered yet
	wait       *backoff.ExponentialBackOff
	rest       time.Time                          // no calls before this, while Redis is down
	looked     time.Time                          // time of the last answer
	more       bool                               // there may be work
	rung       bool                               // there may be work, or something was cancelled
	next       time.Time                          // when a rate or a delay lets a task begin; zero if none waits for that
	running    map[string]context.CancelCauseFunc // running tasks → what cancels their handlers
	ends       []core.TaskFinish                  // to be reported to Redis
	strange    bool                               // Redis has more in our slots than we are running

	finished chan core.TaskFinish
	settled  chan struct{}
	listener chan bool     // tells the listener whether to wait for work as well, because a slot is free
	wake     chan struct{} // the bell rang
	wg       sync.WaitGroup
}

func newEpoch(r *Runner, presence *worker.Presence, left []core.Held) *epoch {
	return &epoch{
		Runner: r, presence: presence, n: presence.Epoch(), left: left, wait: worker.Retries(), looked: r.clock.Now(), more: true,
		running: make(map[string]context.CancelCauseFunc), finished: make(chan core.TaskFinish, maxSlots),
		settled: make(chan struct{}, 1), listener: make(chan bool, 1), wake: make(chan struct{}, 1),
	}
}

// run works until it has drained, or stop ends. Returns FENCED when the epoch is over, or the error that ended it.
func (e *epoch) run(stop context.Context) error {
	ctx, end := context.WithCancel(e.presence.Context())
	work, abort := context.WithCancel(ctx)
	defer e.wg.Wait()
	defer end()
	defer abort()
	defer e.presence.Stop() // before waiting for handlers, which may take long: no heartbeat means that the loop has ended
	// Each epoch sets them again: Redis may have lost everything before.
	if err := e.tasks.SetTaskRates(stop, e.cfg.Rates); err != nil {
		return err
	}
	if len(e.left) > 0 {
		e.wg.Go(func() { e.settle(ctx) })
	}
	e.wg.Go(func() { worker.Listen(ctx, e.wake, e.waitTask) })
	stopped, drain := stop.Done(), e.draining
	var late <-chan time.Time
	for {
		stopping := stopped == nil || drain == nil
		x, err := e.exchange(ctx, stopping)
		if err != nil {
			return err
		}
		e.apply(work, x)
		e.giveBack(ctx)
		if stopping && len(e.running)+len(e.ends) == 0 && e.call == nil {
			return e.leave(ctx)
		}
		select {
		case f := <-e.finished:
			e.take(f)
		case <-e.settled:
			e.left = nil
		case <-e.wake:
			e.more, e.rung = true, true
		case <-e.clock.After(e.pause()):
		case <-drain:
			drain = nil
		case <-stopped:
			stopped = nil
			abort()
			late = e.clock.After(worker.CloseTimeout)
		case <-late:
			e.log.WithField("in_hand", len(e.running)).Warn("cannot give back what is in hand; the next start or the overseer will")
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// apply starts claimed tasks and stops cancelled ones.
func (e *epoch) apply(work context.Context, x core.TaskExchanged) {
	for _, c := range x.Claims {
		e.start(work, c)
	}
	for key, by := range x.Cancelled {
		if stop := e.running[key]; stop != nil {
			stop(cancelled(by))
		}
	}
}

// giveBack releases slots that Redis has and we do not know: Redis was set back, and has forgotten that the tasks
// ended.
func (e *epoch) giveBack(ctx context.Context) {
	if !e.strange {
		return
	}
	e.strange = false
	held, err := e.owners.Held(ctx, e.cfg.Registration.Owner, e.n)
	if err != nil {
		e.log.WithError(err).Debug("cannot look at our slots; the next answer tells again")
		return
	}
	for _, h := range held {
		told := slices.ContainsFunc(e.ends, func(f core.TaskFinish) bool { return f.Key == h.Key })
		if _, runs := e.running[h.Key]; runs || told {
			continue
		}
		e.log.WithField("task", h.Key).Warn("Redis has a task in our slots that is not in hand: it is given back")
		e.ends = append(e.ends, core.TaskFinish{Key: h.Key, Token: h.Token, Outcome: core.OutcomeRelease})
	}
}

// take records the end of a task, and of all others that ended in the meantime.
func (e *epoch) take(f core.TaskFinish) {
	for {
		delete(e.running, f.Key)
		e.ends = append(e.ends, f)
		select {
		case f = <-e.finished:
		default:
			return
		}
	}
}

// pause returns how long the loop may sleep: until its next heartbeat or poll is due, until a task may begin, or
// until the pending call may be repeated.
func (e *epoch) pause() time.Duration {
	now := e.clock.Now()
	if e.call != nil {
		return max(0, e.rest.Sub(now))
	}
	pause := e.rhythm() - now.Sub(e.looked)
	if !e.next.IsZero() && len(e.running) < e.cfg.Slots {
		pause = min(pause, e.next.Sub(now))
	}
	return max(0, pause)
}

func (e *epoch) rhythm() time.Duration { return min(e.cfg.Poll, e.cfg.Registration.Beat) }

// exchange makes a call if there is a reason: a task ended, there may be work, or a heartbeat is due. Returns only
// errors that end the epoch.
func (e *epoch) exchange(ctx context.Context, stopping bool) (core.TaskExchanged, error) {
	now := e.clock.Now()
	if e.call == nil && !e.compose(now, stopping) || now.Before(e.rest) {
		return core.TaskExchanged{}, nil
	}
	x, err := e.tasks.ExchangeTasks(ctx, *e.call)
	if err != nil && (e.presence.Over(ctx, e.n, err) || ctx.Err() != nil) {
		return x, context.Cause(ctx)
	}
	switch core.CodeOf(err) {
	case "":
		e.presence.Heard(now)
		e.answered(x)
		return x, nil
	case core.CodeUnavailable, core.CodeFull:
		if e.rest.IsZero() {
			e.log.WithError(err).Warn("no answer from Redis; repeating the call")
		}
		e.metrics.unanswered.Add(1)
		e.rest = e.clock.Now().Add(e.wait.NextBackOff())
		return core.TaskExchanged{}, nil
	}
	return core.TaskExchanged{}, err
}

// compose makes the next call. Returns false if there is no reason for one.
func (e *epoch) compose(now time.Time, stopping bool) bool {
	want := e.cfg.Slots - len(e.running)
	if stopping || len(e.left) > 0 {
		want = 0
	}
	if want > 0 || len(e.running) > 0 {
		select {
		case e.listener <- want > 0:
		default:
		}
	}
	due := e.rung && len(e.running) > 0 || now.Sub(e.looked) >= e.rhythm()
	if !e.next.IsZero() && !now.Before(e.next) {
		e.more, e.next = true, time.Time{}
	}
	if len(e.ends) == 0 && !due && (want == 0 || !e.more) {
		return false
	}
	e.seq++
	e.call = &core.TaskExchange{
		Owner: e.cfg.Registration.Owner, Epoch: e.n, Seq: e.seq, Finish: e.ends[:min(len(e.ends), maxSlots)],
		Want: want, TokenBase: e.token, Beat: e.cfg.Registration.Beat,
	}
	e.ends = e.ends[len(e.call.Finish):]
	e.token += int64(want)
	return true
}

// answered handles the answer to the pending call.
func (e *epoch) answered(x core.TaskExchanged) {
	for i, ok := range x.Finished {
		if !ok {
			e.log.WithField("task", e.call.Finish[i].Key).Warn("the task was not ours any more")
		}
	}
	if !e.rest.IsZero() {
		e.log.Info("Redis answers again")
	}
	e.strange = len(e.left) == 0 && x.Slots > len(e.running)+len(x.Claims)+len(e.ends)
	// Fewer than wanted means that nothing waits; the bell rings when that changes.
	e.more = len(x.Claims) > 0 && len(x.Claims) == e.call.Want
	e.call, e.rest, e.looked, e.next, e.rung = nil, time.Time{}, e.clock.Now(), time.Time{}, false
	if x.Next > 0 {
		e.next = e.looked.Add(x.Next)
	}
	e.wait.Reset()
	e.metrics.beat.Set(float64(e.looked.UnixMilli()) / 1000)
}

// settle settles the predecessor's slots by the same code as the overseer. Until then nothing is claimed.
func (e *epoch) settle(ctx context.Context) {
	wait := worker.Retries()
	for failing := false; ; failing = true {
		opts := recovery.Options{MaxAttempts: e.cfg.MaxAttempts, Now: e.clock.Now}
		report, err := recovery.Settle(ctx, e.owners, e.store, e.cfg.Registration.Owner, e.n, e.left, opts)
		log := e.log.WithField("left", len(e.left)).WithField("retried", report.Retried).WithField("dead", report.Dead)
		switch {
		case err == nil:
			log.Warn("settled what the last epoch left")
			e.settled <- struct{}{}
			return
		case ctx.Err() != nil:
			return
		case !failing:
			log.WithError(err).Warn("cannot settle what the last epoch left; trying again")
		}
		if clock.Sleep(ctx, e.clock, wait.NextBackOff()) != nil {
			return
		}
	}
}

// waitTask returns nil when something is cancelled, or a task may be there. It waits for tasks only while a slot is
// free: the bell wakes one runner, which should be idle. A busy runner may be idle soon, so it does not wait for
// long.
func (e *epoch) waitTask(ctx context.Context) error {
	var idle bool
	select {
	case idle = <-e.listener:
	case <-ctx.Done():
		return ctx.Err()
	}
	poll := e.cfg.Poll
	if idle {
		poll *= waitPolls
	}
	return e.tasks.WaitTask(ctx, e.cfg.Registration.Owner, idle, poll)
}

// leave deregisters.
func (e *epoch) leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, worker.CloseTimeout)
	defer cancel()
	if err := e.presence.Leave(ctx); err != nil {
		e.log.WithError(err).Warn("cannot deregister; the next start or the overseer will settle what is left")
		return nil
	}
	e.log.WithField("epoch", e.n).Info("deregistered")
	return nil
}
