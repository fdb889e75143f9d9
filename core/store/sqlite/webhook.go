package sqlite

import (
	"cmp"
	"context"
	"database/sql"

	"drover/core"
	"drover/core/store/bounds"
)

// PutWebhook makes or changes a webhook, see core.Webhooks.
func (s *Store) PutWebhook(ctx context.Context, w core.Webhook) (int64, error) {
	if err := cmp.Or(core.CheckName("webhook", w.ID), core.CheckRevision(w.ID, w.Revision)); err != nil {
		return 0, err
	}
	doc, err := encode(w, w.ID)
	if err != nil {
		return 0, err
	}
	columns := []column{{"class", w.Class}, {"doc", doc}}
	if w.Secret != "" {
		columns = append(columns, column{"secret", w.Secret})
	}
	return commit(ctx, s.committer, w.ID, len(doc), func(t *tx) (int64, error) {
		if err := t.room(core.WebhookQuota, w.ID, "SELECT count(*) FROM webhooks WHERE class = ? AND id <> ?", w.Class, w.ID); err != nil {
			return 0, err
		}
		return t.put(revised{"webhook " + w.ID, "webhooks", []column{{"id", w.ID}}, columns, w.Revision})
	})
}

// GetWebhook returns a webhook with its secret, see core.Webhooks.
func (s *Store) GetWebhook(ctx context.Context, id string) (core.Webhook, error) {
	found, err := s.webhooks(ctx, "SELECT revision, secret, doc FROM webhooks WHERE id = ?", id)
	if err != nil {
		return core.Webhook{}, err
	}
	if len(found) == 0 {
		return core.Webhook{}, core.NoWebhook(id)
	}
	return found[0], nil
}

// DeleteWebhook removes a webhook, see core.Webhooks.
func (s *Store) DeleteWebhook(ctx context.Context, id string) error {
	_, err := commit(ctx, s.committer, id, 0, func(t *tx) (int, error) {
		n, err := t.exec("DELETE FROM webhooks WHERE id = ?", id)
		if err == nil && n == 0 {
			err = core.NoWebhook(id)
		}
		return n, err
	})
	return err
}

// ListWebhooks lists a class's webhooks, see core.Webhooks.
func (s *Store) ListWebhooks(ctx context.Context, class, after string, limit int) ([]core.Webhook, error) {
	if err := bounds.Page(limit); err != nil {
		return nil, err
	}
	return s.webhooks(ctx, "SELECT revision, '', doc FROM webhooks WHERE class = ? AND id > ? ORDER BY id LIMIT ?", class, after, limit)
}

func (s *Store) webhooks(ctx context.Context, query string, args ...any) ([]core.Webhook, error) {
	var all []core.Webhook
	err := s.rows(ctx, query, args, func(rows *sql.Rows) error {
		var revision int64
		var secret string
		var doc sql.RawBytes
		if err := rows.Scan(&revision, &secret, &doc); err != nil {
			return err
		}
		var w core.Webhook
		err := decode(doc, &w, "a webhook")
		w.Secret, w.Revision = secret, revision
		all = append(all, w)
		return err
	})
	return all, err
}
