package taskrunner

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"drover/core"
	"drover/core/account/auditlog"
	"drover/core/webhook"
)

// maxDeliveryAge is the age after which a delivery is not tried for the first time any more, because its receiver
// keeps failing slowly: longer than all tries of a delivery take.
const maxDeliveryAge = 4 * 24 * time.Hour

// deliveries notify webhooks of events, at least once, with the same id at each try. A delivery that was answered
// with a 2xx is not sent again, unless the taskrunner dies before it has recorded the answer.
type deliveries struct {
	*sender

	store deliveryStore
}

// deliveryStore has the webhooks, and the ends of which they are notified.
type deliveryStore interface {
	newsStore
	ListTasks(ctx context.Context, f core.TaskFilter) ([]core.Task, error)
	GetWebhook(ctx context.Context, id string) (core.Webhook, error)
	PutWebhook(ctx context.Context, w core.Webhook) (revision int64, err error)
	AddAuditEntry(ctx context.Context, d core.AuditEntry) error
}

func (d *deliveries) kind() Kind {
	return Kind{
		Name: core.KindWebhook, Handle: d.handle, MaxAttempts: webhook.Tries, Timeout: 2 * d.poster.whole,
		Retry: func(failures int) time.Duration { return webhook.Pause(failures, rand.Float64()) }, //nolint:gosec // it spreads load
	}
}

func (d *deliveries) handle(ctx context.Context, job *Job) (End, error) {
	var args core.WebhookArgs
	if err := job.Args(&args); err != nil {
		return End{}, err
	}
	w, err := d.store.GetWebhook(ctx, args.Webhook)
	switch {
	case core.Is(err, core.CodeNotFound):
		return End{Note: "not delivered: the webhook is gone"}, nil
	case err != nil:
		return End{}, err
	case w.Disabled:
		return End{Note: "not delivered: the webhook is disabled"}, nil
	}
	body, err := d.payload(ctx, job, args, &w)
	if err != nil {
		return End{}, err
	}
	if wait, why := d.gate.enter(w.ID); wait > 0 {
		return d.later(ctx, job, w, wait, why)
	}
	a, err := d.try(ctx, job, w.ID, w.Message(body))
	switch {
	case err == nil:
		return End{Note: "delivered: " + a.text}, nil
	case args.Event == core.EventTest: // a person is waiting for the result
		return End{}, core.Errorf(core.CodeInvalid, w.ID, "the test was not delivered: %v", err)
	case a.status == http.StatusGone:
		return End{}, d.disable(ctx, w, core.Errorf(core.CodeInvalid, w.ID, "the receiver wants no more (%s)", a.text))
	case job.Attempt >= webhook.Tries:
		return End{}, d.givenUp(ctx, job, w, err)
	}
	return End{}, err
}

// payload returns the body of the delivery, the same at every try.
func (d *deliveries) payload(ctx context.Context, job *Job, args core.WebhookArgs, w *core.Webhook) ([]byte, error) {
	if args.Event == core.EventTest {
		return webhook.Test(job.Task.ID, w, time.UnixMilli(job.Task.Created))
	}
	n, err := findNews(ctx, d.store, args.Event, args.Key)
	if err != nil {
		return nil, err
	}
	return n.payload(job.Task.ID)
}

// later postpones a delivery that the gate has turned away.
func (d *deliveries) later(ctx context.Context, job *Job, w core.Webhook, wait time.Duration, why string) (End, error) {
	if why != "" && job.Age > maxDeliveryAge {
		return End{}, d.givenUp(ctx, job, w, core.Errorf(core.CodeLimit, w.ID, "the receiver has been failing for days: %s", why))
	}
	return putOff(wait), nil
}

// givenUp disables a webhook after a delivery has failed finally, if no other one has succeeded since that one was
// begun. It returns why, for the task.
func (d *deliveries) givenUp(ctx context.Context, job *Job, w core.Webhook, why error) error {
	const look = 1000
	received, err := d.store.ListTasks(ctx, core.TaskFilter{
		Kind: core.KindWebhook, Lane: w.ID, States: []core.TaskState{core.TaskDone}, Limit: look,
	})
	if err != nil {
		return why // the next failed delivery will do it
	}
	for _, t := range received {
		if t.Ended >= job.Task.Created {
			return why
		}
	}
	return d.disable(ctx, w, why)
}

// disable disables a webhook and writes that to the audit log. It returns why, for the task.
func (d *deliveries) disable(ctx context.Context, w core.Webhook, why error) error {
	begun := d.clock.Now()
	w.Disabled, w.Secret = true, "" // the stored secret is kept
	err := d.store.AddAuditEntry(ctx, core.AuditEntry{
		ID: strings.ToLower(ulid.Make().String()), At: begun.UnixMilli(), Actor: core.System().Handle, Action: core.ActWebhook,
		Class: w.Class, Subject: w.ID, Text: auditlog.Sentence(fmt.Sprintf("disables webhook %s: %v", w.ID, why)),
	})
	if err == nil {
		_, err = d.store.PutWebhook(ctx, w)
	}
	if err != nil {
		return why // the webhook was just changed, or the store is away: the next failed delivery will do it
	}
	return core.Wrap(why, core.CodeInvalid, w.ID, "webhook %s is disabled now", w.ID)
}
