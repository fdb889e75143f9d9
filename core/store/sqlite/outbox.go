package sqlite

import (
	"context"
	"database/sql"

	"drover/core"
	"drover/core/store/bounds"
)

// tell puts an end into the outbox.
func (t *tx) tell(event, id string, generation int) error {
	_, err := t.exec("INSERT INTO outbox (event, id, generation) VALUES (?, ?, ?)", event, id, generation)
	return err
}

// Outbox lists ends that were not marked as sent, see core.Webhooks.
func (s *Store) Outbox(ctx context.Context, limit int) ([]core.Notice, error) {
	if err := bounds.Page(limit); err != nil {
		return nil, err
	}
	var all []core.Notice
	err := s.rows(ctx, "SELECT event, id, generation FROM outbox ORDER BY seq LIMIT ?", []any{limit}, func(rows *sql.Rows) error {
		var event, id string
		var generation int
		err := rows.Scan(&event, &id, &generation)
		all = append(all, core.Notice{Event: event, Key: core.Key(id, generation)})
		return err
	})
	return all, err
}

// Sent takes notices out of the outbox, see core.Webhooks.
func (s *Store) Sent(ctx context.Context, notices []core.Notice) error {
	ends, err := bounds.Notices(notices)
	if err != nil {
		return err
	}
	_, err = commit(ctx, s.committer, "", 0, func(t *tx) (int, error) {
		for _, e := range ends {
			if _, err := t.exec("DELETE FROM outbox WHERE event = ? AND id = ? AND generation = ?", e.Event, e.ID, e.Generation); err != nil {
				return 0, err
			}
		}
		return len(ends), nil
	})
	return err
}
