package taskrunner

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"drover/core"
	"drover/core/service/clock"
	"drover/core/store/bounds"
	"drover/core/webhook"
)

// outboxPage is how many ends are handled at a time.
const outboxPage = 200

// outbox makes a delivery, a task of core.KindWebhook or core.KindCallback, for each notice in the outbox and each
// receiver. A notice is of an end, or of something that happened to a lease, which is called an end here too. Several outboxes may run at once, in several taskrunners, and be killed at any point:
//
//	killed after           leaves                      healed by
//	the end's record       the end, in the outbox      the next look of any outbox
//	some deliveries made   the end, in the outbox      the same: existing ones are not made again
//	all deliveries made    the end, in the outbox      the same
//	Sent                   nothing                     -
//
// An end is added to the outbox in the step that records it, and a delivery's id is derived from the end and the
// receiver; so none is left out and none is made twice.
type outbox struct {
	store  outboxStore
	submit TaskSubmitter
	clock  clock.Clock
	log    logrus.FieldLogger
	poll   time.Duration
	news   chan struct{}
	stuck  int // ends that the last look could not handle: the next one looks behind them
}

// outboxStore has the outbox.
type outboxStore interface {
	newsStore
	GetWebhook(ctx context.Context, id string) (core.Webhook, error)
	Outbox(ctx context.Context, limit int) ([]core.Notice, error)
	Sent(ctx context.Context, notices []core.Notice) error
	Ping(ctx context.Context) error
}

// TaskSubmitter accepts tasks, as core/requests/intake does.
type TaskSubmitter interface {
	SubmitTask(ctx context.Context, t core.Task) (core.Task, bool, error)
}

func newOutbox(store outboxStore, submit TaskSubmitter, c clock.Clock, log logrus.FieldLogger, poll time.Duration) *outbox {
	return &outbox{store: store, submit: submit, clock: c, log: log, poll: poll, news: make(chan struct{}, 1)}
}

// ring signals that this process has added an end.
func (o *outbox) ring() {
	select {
	case o.news <- struct{}{}:
	default:
	}
}

// run handles ends until ctx ends.
func (o *outbox) run(ctx context.Context) {
	if o.submit == nil {
		return
	}
	failing := false
	for {
		more, err := o.empty(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !failing:
			o.log.WithError(err).Warn("cannot hand on what webhooks are to be told; trying again")
		case err == nil && failing:
			o.log.Info("webhooks are told again")
		}
		failing = err != nil
		if more && !failing {
			continue
		}
		select {
		case <-o.news:
		case <-o.clock.After(o.poll):
		case <-ctx.Done():
			return
		}
	}
}

// empty handles the oldest ends and reports whether there may be more.
func (o *outbox) empty(ctx context.Context) (more bool, err error) {
	limit := min(outboxPage+o.stuck, bounds.MaxPage)
	notices, err := o.store.Outbox(ctx, limit)
	if err != nil || len(notices) == 0 {
		return false, err
	}
	known := map[string]*core.Webhook{}
	var done []core.Notice
	var stuck error
	for _, n := range notices {
		err := o.handOn(ctx, n, known)
		switch {
		case err == nil:
			done = append(done, n)
		case ctx.Err() != nil:
			return false, err
		default:
			// It stays for the next look, and does not hold back those behind it, unless the store is away.
			stuck = core.Wrap(err, core.CodeUnavailable, n.Key, "the end of %s is not handed on yet", n.Key)
			if away := o.store.Ping(ctx); away != nil {
				return false, errors.Join(stuck, o.store.Sent(ctx, done))
			}
		}
	}
	o.stuck = len(notices) - len(done)
	if len(done) > 0 {
		err = o.store.Sent(ctx, done)
	}
	return len(notices) == limit && len(done) > 0, errors.Join(stuck, err)
}

// handOn makes the deliveries of one end. An error means that the store could not be read; permanent faults are
// logged.
func (o *outbox) handOn(ctx context.Context, n core.Notice, known map[string]*core.Webhook) error {
	e, err := findNews(ctx, o.store, n.Event, n.Key)
	if core.Is(err, core.CodeNotFound) || core.Is(err, core.CodeInvalid) {
		o.log.WithError(err).WithField("key", n.Key).Debug("nobody is told of an end that is gone")
		return nil
	}
	if err != nil {
		return err
	}
	for _, id := range e.notify {
		w, err := o.webhook(ctx, id, known)
		if err != nil {
			return err
		}
		if w == nil || w.Disabled || !slices.Contains(w.Events, n.Event) {
			continue
		}
		t, err := delivery(n, e, w)
		if err == nil {
			err = o.make(ctx, n, t)
		}
		if err != nil {
			return err
		}
	}
	if e.callback == "" {
		return nil
	}
	t, err := callbackTask(n, e)
	if err == nil {
		err = o.make(ctx, n, t)
	}
	return err
}

// make makes a delivery.
func (o *outbox) make(ctx context.Context, n core.Notice, t core.Task) error {
	_, _, err := o.submit.SubmitTask(ctx, t)
	if core.Is(err, core.CodeUnavailable) || ctx.Err() != nil {
		return err
	}
	if err != nil {
		o.log.WithError(err).WithFields(logrus.Fields{"key": n.Key, "kind": t.Kind, "lane": t.Lane}).Error("somebody is not told of an end: the delivery is refused")
	}
	return nil
}

// webhook reads a webhook, once per page; nil if it is gone.
func (o *outbox) webhook(ctx context.Context, id string, known map[string]*core.Webhook) (*core.Webhook, error) {
	if w, ok := known[id]; ok {
		return w, nil
	}
	w, err := o.store.GetWebhook(ctx, id)
	switch {
	case core.Is(err, core.CodeNotFound):
		known[id] = nil
	case err != nil:
		return nil, err
	default:
		known[id] = &w
	}
	return known[id], nil
}

// delivery makes the task that notifies a webhook of an end.
func delivery(n core.Notice, e news, w *core.Webhook) (core.Task, error) {
	args, err := json.Marshal(core.WebhookArgs{Webhook: w.ID, Event: n.Event, Key: n.Key})
	if err != nil {
		return core.Task{}, err
	}
	return core.Task{
		ID: webhook.DeliveryID(e.at, n.Event, n.Key, w.ID), Kind: core.KindWebhook, Args: args,
		Priority: core.PriorityNormal, Lane: w.ID, About: w.Class,
	}, nil
}
