package mongo

import (
	"cmp"
	"context"

	"drover/core"
	"drover/core/store/bounds"
)

// PutWebhook makes or changes a webhook, see core.Webhooks. (Concurrent calls may create a few more than the
// maximum.)
func (s *Store) PutWebhook(ctx context.Context, w core.Webhook) (int64, error) {
	if err := cmp.Or(core.CheckName("webhook", w.ID), core.CheckRevision(w.ID, w.Revision)); err != nil {
		return 0, err
	}
	r := revised{what: "webhook " + w.ID, in: webhooks, id: w.ID, name: w.ID, revision: w.Revision}
	doc, err := encode(w, w.ID)
	if err != nil {
		return 0, err
	}
	r.fields = m{"class": w.Class, "json": doc}
	if w.Secret != "" {
		r.fields["secret"] = w.Secret
	}
	if err := s.room(ctx, core.WebhookQuota, w.ID, webhooks, m{"class": w.Class, "_id": m{"$ne": w.ID}}); err != nil {
		return 0, err
	}
	return s.revise(ctx, r)
}

// GetWebhook returns a webhook with its secret, see core.Webhooks.
func (s *Store) GetWebhook(ctx context.Context, id string) (core.Webhook, error) {
	doc, found, err := one[document](ctx, s, webhooks, m{"_id": id})
	if err == nil && !found {
		err = core.NoWebhook(id)
	}
	if err != nil {
		return core.Webhook{}, err
	}
	return doc.webhook()
}

func (d *document) webhook() (core.Webhook, error) {
	var w core.Webhook
	err := decode(d.JSON, &w, d.ID)
	w.Secret, w.Revision = d.Secret, d.Revision
	return w, err
}

// DeleteWebhook removes a webhook, see core.Webhooks.
func (s *Store) DeleteWebhook(ctx context.Context, id string) error {
	n, err := s.remove(ctx, webhooks, m{"_id": id})
	if err == nil && n == 0 {
		err = core.NoWebhook(id)
	}
	return err
}

// ListWebhooks lists a class's webhooks, see core.Webhooks.
func (s *Store) ListWebhooks(ctx context.Context, class, after string, limit int) ([]core.Webhook, error) {
	if err := bounds.Page(limit); err != nil {
		return nil, err
	}
	docs, err := some[document](ctx, s, webhooks, m{"class": class, "_id": m{"$gt": after}}, by("_id"), limit, "json", "revision")
	if err != nil || len(docs) == 0 {
		return nil, err
	}
	all := make([]core.Webhook, len(docs))
	for i := range docs {
		if all[i], err = docs[i].webhook(); err != nil {
			return nil, err
		}
	}
	return all, nil
}
