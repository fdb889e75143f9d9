package classes

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"drover/core"
	"drover/core/webhook"
)

func noWebhook(id string) error {
	return core.Errorf(core.CodeNotFound, id, "there is no webhook %.80q", id)
}

// webhook returns a webhook with its secrets, if the actor has the right to it.
func (r *Service) webhook(ctx context.Context, a core.Actor, id string) (core.Webhook, error) {
	if !core.ValidName(id) {
		return core.Webhook{}, noWebhook(id)
	}
	w, err := r.Store.GetWebhook(ctx, id)
	if core.Is(err, core.CodeNotFound) {
		return core.Webhook{}, noWebhook(id)
	}
	if err != nil {
		return core.Webhook{}, err
	}
	if err := r.mayHook(ctx, a, w.Class); core.Is(err, core.CodeNotFound) || err != nil && w.Class == "" {
		return core.Webhook{}, noWebhook(id)
	} else if err != nil {
		return core.Webhook{}, err
	}
	return w, nil
}

// mayHook returns an error if the actor has no right to the webhooks of a class, or for "" of the cluster.
func (r *Service) mayHook(ctx context.Context, a core.Actor, class string) error {
	if class == "" {
		return core.Allow(a, core.ActWebhook, core.Object{})
	}
	_, err := r.class(ctx, a, class, core.ActWebhook)
	return err
}

// ViewWebhook returns a webhook, without its secret. Returns NOTFOUND, FORBIDDEN.
func (r *Service) ViewWebhook(ctx context.Context, a core.Actor, id string) (core.Webhook, error) {
	w, err := r.webhook(ctx, a, id)
	w.Secret = ""
	return w, err
}

// ListWebhooks lists the webhooks of a class, or for "" of the cluster, with ids after the given one, without their
// secrets. Returns NOTFOUND, FORBIDDEN, INVALID.
func (r *Service) ListWebhooks(ctx context.Context, a core.Actor, class, after string, limit int) ([]core.Webhook, error) {
	if err := r.mayHook(ctx, a, class); err != nil {
		return nil, err
	}
	return r.Store.ListWebhooks(ctx, class, after, limit)
}

// AddWebhook creates a webhook of a class, which is notified of all its events, or for "" of the cluster, which is
// notified if a request or task names it. The result has the secret, which no other call returns. Returns NOTFOUND,
// FORBIDDEN, INVALID, LIMIT, CONFLICT while the class is being deleted.
func (r *Service) AddWebhook(ctx context.Context, a core.Actor, w core.Webhook) (core.Webhook, error) {
	err := r.mayHook(ctx, a, w.Class)
	if err == nil && w.Class != "" {
		_, err = r.openClass(ctx, a, w.Class, core.ActWebhook)
	}
	if err != nil {
		return core.Webhook{}, err
	}
	w.ID, w.By, w.Created, w.Revision = r.newID(), a.Handle, r.now().UnixMilli(), 0
	w.Secret = webhook.NewSecret()
	if err := r.checkWebhook(ctx, w); err != nil {
		return core.Webhook{}, err
	}
	text := "adds webhook " + w.ID + " to " + shownURL(w.URL) + " for " + strings.Join(w.Events, ", ")
	return w, r.change(ctx, a, aboutWebhook(w, text), func() (err error) {
		w.Revision, err = r.Store.PutWebhook(ctx, w)
		return err
	})
}

// EditWebhook changes a webhook's URL, events and whether it is disabled, if it still has the given revision. Returns
// NOTFOUND, FORBIDDEN, INVALID, LIMIT, CONFLICT.
func (r *Service) EditWebhook(ctx context.Context, a core.Actor, w core.Webhook) (core.Webhook, error) {
	old, err := r.webhook(ctx, a, w.ID)
	if err != nil {
		return core.Webhook{}, err
	}
	w.Class, w.By, w.Created, w.Secret = old.Class, old.By, old.Created, old.Secret
	if err := r.checkWebhook(ctx, w); err != nil {
		return core.Webhook{}, err
	}
	var d diff
	d.note("URL", shownURL(old.URL), shownURL(w.URL))
	if old.URL != w.URL && len(d) == 0 {
		d = append(d, "what follows the ? of its URL")
	}
	d.note("events", strings.Join(old.Events, ", "), strings.Join(w.Events, ", "))
	d.note("disabled", old.Disabled, w.Disabled)
	w.Secret = "" // the stored one is kept
	if len(d) == 0 {
		w.Revision = old.Revision
		return w, nil
	}
	if w.Revision == 0 {
		return core.Webhook{}, unrevised("webhook", w.ID)
	}
	return w, r.change(ctx, a, aboutWebhook(w, d.sentence("webhook "+w.ID)), func() (err error) {
		w.Revision, err = r.Store.PutWebhook(ctx, w)
		return err
	})
}

// RotateWebhook gives a webhook a new secret and returns it, which no other call does. Deliveries are also signed
// with the former secret until the next rotation, unless distrust is set. Returns NOTFOUND, FORBIDDEN, CONFLICT.
func (r *Service) RotateWebhook(ctx context.Context, a core.Actor, id string, distrust bool) (secret string, err error) {
	w, err := r.webhook(ctx, a, id)
	if err != nil {
		return "", err
	}
	text := "gives webhook " + id + " a new secret"
	if distrust {
		w.Secret, text = "", text+", and trusts the former one no more"
	}
	w.Secret, secret = webhook.Rotate(w.Secret)
	err = r.change(ctx, a, aboutWebhook(w, text), func() error {
		_, err := r.Store.PutWebhook(ctx, w)
		return err
	})
	if err != nil {
		return "", err
	}
	return secret, nil
}

// RemoveWebhook removes a webhook; its waiting deliveries are dropped. Returns NOTFOUND, FORBIDDEN.
func (r *Service) RemoveWebhook(ctx context.Context, a core.Actor, id string) error {
	w, err := r.webhook(ctx, a, id)
	if err != nil {
		return err
	}
	text := "removes webhook " + id + " to " + shownURL(w.URL)
	return r.change(ctx, a, aboutWebhook(w, text), func() error { return r.Store.DeleteWebhook(ctx, id) })
}

// TestWebhook starts a delivery of a test event, which is tried once. Returns NOTFOUND, FORBIDDEN, CONFLICT for a
// disabled webhook.
func (r *Service) TestWebhook(ctx context.Context, a core.Actor, id string) (core.Task, error) {
	w, err := r.webhook(ctx, a, id)
	if err != nil {
		return core.Task{}, err
	}
	return r.deliver(ctx, a, w, core.WebhookArgs{Webhook: id, Event: core.EventTest}, "tests webhook "+id)
}

// Deliveries lists past and waiting deliveries to a webhook, newest first. Returns NOTFOUND, FORBIDDEN, INVALID.
func (r *Service) Deliveries(ctx context.Context, a core.Actor, id, before string, limit int) ([]core.Task, error) {
	if _, err := r.webhook(ctx, a, id); err != nil {
		return nil, err
	}
	return r.Store.ListTasks(ctx, core.TaskFilter{Kind: core.KindWebhook, Lane: id, Before: before, Limit: limit})
}

// Redeliver starts a delivery again: under its own id, which receivers recognize, if it never arrived, else under a
// new one. Returns NOTFOUND, FORBIDDEN, CONFLICT for an unfinished delivery and for a disabled webhook, LIMIT.
func (r *Service) Redeliver(ctx context.Context, a core.Actor, delivery string) (core.Task, error) {
	if !core.ValidName(delivery) {
		return core.Task{}, noDelivery(delivery)
	}
	t, err := r.Store.GetTask(ctx, delivery)
	if core.Is(err, core.CodeNotFound) || err == nil && t.Kind != core.KindWebhook {
		return core.Task{}, noDelivery(delivery)
	}
	if err != nil {
		return core.Task{}, err
	}
	var args core.WebhookArgs
	if err := json.Unmarshal(t.Args, &args); err != nil {
		return core.Task{}, core.Wrap(err, core.CodeInternal, delivery, "the arguments of delivery %s cannot be read", delivery)
	}
	w, err := r.webhook(ctx, a, args.Webhook)
	if core.Is(err, core.CodeNotFound) {
		err = noDelivery(delivery)
	}
	if err != nil {
		return core.Task{}, err
	}
	text := "delivers " + delivery + " to webhook " + w.ID + " again"
	if t.State == core.TaskDone {
		return r.deliver(ctx, a, w, args, text)
	}
	if err := enabled(w); err != nil {
		return core.Task{}, err
	}
	err = r.change(ctx, a, aboutWebhook(w, text), func() (err error) {
		t, err = r.Intake.RetryTask(ctx, delivery)
		return err
	})
	return t, err
}

func noDelivery(id string) error {
	return core.Errorf(core.CodeNotFound, id, "there is no delivery %.80q", id)
}

func enabled(w core.Webhook) error {
	if w.Disabled {
		return core.Errorf(core.CodeConflict, w.ID, "webhook %s is disabled: enable it, then try again", w.ID)
	}
	return nil
}

// deliver starts a delivery that a person requested and is waiting for.
func (r *Service) deliver(ctx context.Context, a core.Actor, w core.Webhook, args core.WebhookArgs, text string) (core.Task, error) {
	if err := enabled(w); err != nil {
		return core.Task{}, err
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return core.Task{}, core.Wrap(err, core.CodeInternal, w.ID, "the arguments of a delivery cannot be written")
	}
	var t core.Task
	err = r.change(ctx, a, aboutWebhook(w, text), func() (err error) {
		t, _, err = r.Intake.SubmitTask(ctx, core.Task{
			ID: r.newID(), Kind: core.KindWebhook, Args: raw, Priority: core.PriorityHigh, Lane: w.ID, Requester: a.Handle, About: w.Class,
		})
		return err
	})
	return t, err
}

// checkWebhook refuses a webhook that no delivery could reach, and one beyond the number that one end can notify.
func (r *Service) checkWebhook(ctx context.Context, w core.Webhook) error {
	if err := w.Check(); err != nil {
		return err
	}
	if err := r.Webhooks.CheckURL(w.URL); err != nil {
		return err
	}
	if w.Class == "" || w.Disabled {
		return nil
	}
	for _, event := range w.Events {
		others, err := r.notified(ctx, w.Class, event)
		if err != nil {
			return err
		}
		others = slices.DeleteFunc(others, func(id string) bool { return id == w.ID })
		if len(others) >= core.MaxNotify {
			return core.Errorf(core.CodeLimit, w.Class, "%d webhooks of class %s are told of %s already, the most there may be: disable or remove one", len(others), w.Class, event)
		}
	}
	return nil
}

// notified lists the class's webhooks for an event.
func (r *Service) notified(ctx context.Context, class, event string) ([]string, error) {
	var ids []string
	if class == "" {
		return nil, nil
	}
	for after := ""; ; {
		hooks, err := r.Store.ListWebhooks(ctx, class, after, page)
		if err != nil {
			return nil, err
		}
		for i := range hooks {
			after = hooks[i].ID
			if !hooks[i].Disabled && slices.Contains(hooks[i].Events, event) && len(ids) < core.MaxNotify {
				ids = append(ids, after)
			}
		}
		if len(hooks) < page {
			return ids, nil
		}
	}
}

// shownURL returns a URL without its query, which may be a secret.
func shownURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "an unreadable URL"
	}
	u.RawQuery, u.ForceQuery = "", false
	return u.Redacted()
}

func aboutWebhook(w core.Webhook, text string) core.AuditEntry {
	return core.AuditEntry{Action: core.ActWebhook, Class: w.Class, Subject: w.ID, Text: text}
}
