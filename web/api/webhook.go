package api

import (
	"context"

	"drover/core"
	"drover/core/school"
)

func webhookTable() []entry {
	return []entry{
		is(Operation{"listWebhooks", get, "/classes/{class}/webhooks", core.ActWebhook, school.ScopeRead, 0, "List the webhooks of a class, by id"}, (*server).listWebhooks),
		is(Operation{"addWebhook", post, "/classes/{class}/webhooks", core.ActWebhook, school.ScopeTeach, 201, "Create a webhook for the requests and tasks of a class; only this answer has its secret"}, (*server).addWebhook),
		is(Operation{"listClusterWebhooks", get, "/webhooks", core.ActWebhook, school.ScopeRead, 0, "List the webhooks of the cluster, by id"}, (*server).listClusterWebhooks),
		is(Operation{"addClusterWebhook", post, "/webhooks", core.ActWebhook, school.ScopeAdmin, 201, "Create a webhook that requests and tasks may name; only this answer has its secret"}, (*server).addClusterWebhook),
		is(Operation{"viewWebhook", get, "/webhooks/{id}", core.ActWebhook, school.ScopeRead, 0, "Return a webhook"}, (*server).viewWebhook),
		is(Operation{"changeWebhook", patch, "/webhooks/{id}", core.ActWebhook, school.ScopeTeach, 0, "Change a webhook"}, (*server).changeWebhook),
		is(Operation{"removeWebhook", remove, "/webhooks/{id}", core.ActWebhook, school.ScopeTeach, 0, "Remove a webhook; waiting deliveries are not sent"}, (*server).removeWebhook),
		is(Operation{"rotateWebhook", post, "/webhooks/{id}/rotate", core.ActWebhook, school.ScopeTeach, 0, "Give a webhook a new secret; only this answer has it"}, (*server).rotateWebhook),
		is(Operation{"testWebhook", post, "/webhooks/{id}/test", core.ActWebhook, school.ScopeTeach, 202, "Send a test delivery, once"}, (*server).testWebhook),
		is(Operation{"listDeliveries", get, "/webhooks/{id}/deliveries", core.ActWebhook, school.ScopeRead, 0, "List past and pending deliveries, newest first"}, (*server).listDeliveries),
		is(Operation{"redeliver", post, "/deliveries/{id}/redeliver", core.ActWebhook, school.ScopeTeach, 202, "Repeat a delivery"}, (*server).redeliver),
	}
}

// WebhookFields are what can be changed of a webhook.
type WebhookFields struct {
	URL      string   `json:"url"`
	Events   []string `json:"events" doc:"request.ended, task.ended, comment.released, question.asked, question.answered, lease.created, lease.updated, lease.deleted, lease.started, lease.before_end, lease.ended, lease.failed, lease.degraded, lease.whole"`
	Disabled bool     `json:"disabled,omitempty"`
}

// NewlyMade is a webhook with its secret.
type NewlyMade struct {
	core.Webhook
	Secret string `json:"secret" doc:"whsec_…, signs the deliveries"`
}

func (s *server) webhooks(ctx context.Context, a core.Actor, class string, in Cursor) (*listed[core.Webhook], error) {
	found, err := s.Classes.ListWebhooks(ctx, a, class, in.Cursor, in.more())
	if err != nil {
		return nil, err
	}
	return paged(ctx, in, found, func(w *core.Webhook) string { return w.ID }), nil
}

func (s *server) listWebhooks(ctx context.Context, a core.Actor, in *struct {
	InClass
	Cursor
},
) (*listed[core.Webhook], error) {
	return s.webhooks(ctx, a, in.Class, in.Cursor)
}

func (s *server) listClusterWebhooks(ctx context.Context, a core.Actor, in *Cursor) (*listed[core.Webhook], error) {
	return s.webhooks(ctx, a, "", *in)
}

func (s *server) hook(ctx context.Context, a core.Actor, class string, f WebhookFields) (*tagged[NewlyMade], error) {
	w, err := s.Classes.AddWebhook(ctx, a, core.Webhook{Class: class, URL: f.URL, Events: f.Events, Disabled: f.Disabled})
	if err != nil {
		return nil, err
	}
	return made(w.Revision, NewlyMade{w, w.Secret}, "webhooks", w.ID), nil
}

func (s *server) addWebhook(ctx context.Context, a core.Actor, in *struct {
	InClass
	Body WebhookFields
},
) (*tagged[NewlyMade], error) {
	return s.hook(ctx, a, in.Class, in.Body)
}

func (s *server) addClusterWebhook(ctx context.Context, a core.Actor, in *struct{ Body WebhookFields }) (*tagged[NewlyMade], error) {
	return s.hook(ctx, a, "", in.Body)
}

func (s *server) viewWebhook(ctx context.Context, a core.Actor, in *struct {
	One
	Reading
},
) (*tagged[core.Webhook], error) {
	w, err := s.Classes.ViewWebhook(ctx, a, in.ID)
	if err != nil {
		return nil, err
	}
	return read(in.Reading, w.Revision, w), nil
}

func (s *server) changeWebhook(ctx context.Context, a core.Actor, in *struct {
	One
	Changing
	Body Change[WebhookFields]
},
) (*tagged[core.Webhook], error) {
	return apply(ctx, in.Changing, versioned[core.Webhook]{
		view: func(ctx context.Context) (core.Webhook, error) { return s.Classes.ViewWebhook(ctx, a, in.ID) },
		of:   func(w *core.Webhook) int64 { return w.Revision },
		change: func(ctx context.Context, w core.Webhook) (core.Webhook, error) {
			fields := WebhookFields{w.URL, w.Events, w.Disabled}
			if err := in.Body.onto(&fields); err != nil {
				return w, err
			}
			w.URL, w.Events, w.Disabled = fields.URL, fields.Events, fields.Disabled
			return s.Classes.EditWebhook(ctx, a, w)
		},
	})
}

func (s *server) removeWebhook(ctx context.Context, a core.Actor, in *One) (*done, error) {
	return &done{}, s.Classes.RemoveWebhook(ctx, a, in.ID)
}

// NewSecret is a webhook's.
type NewSecret struct {
	Secret string `json:"secret"`
}

func (s *server) rotateWebhook(ctx context.Context, a core.Actor, in *struct {
	One
	Distrust bool `query:"distrust" doc:"stop signing by the former secret at once"`
},
) (*answer[NewSecret], error) {
	secret, err := s.Classes.RotateWebhook(ctx, a, in.ID, in.Distrust)
	return answered(NewSecret{secret}, err)
}

func (s *server) testWebhook(ctx context.Context, a core.Actor, in *One) (*started, error) {
	return begun(s.Classes.TestWebhook(ctx, a, in.ID))
}

func (s *server) listDeliveries(ctx context.Context, a core.Actor, in *struct {
	One
	Cursor
},
) (*listed[core.Task], error) {
	found, err := s.Classes.Deliveries(ctx, a, in.ID, in.Cursor.Cursor, in.more())
	if err != nil {
		return nil, err
	}
	return paged(ctx, in.Cursor, found, func(t *core.Task) string { return t.ID }), nil
}

func (s *server) redeliver(ctx context.Context, a core.Actor, in *One) (*started, error) {
	return begun(s.Classes.Redeliver(ctx, a, in.ID))
}
