package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"drover/core"
	"drover/core/store/bounds"
)

// MarkRemoved marks a request as to be removed, see school.ResultStore.
func (s *Store) MarkRemoved(ctx context.Context, id string) error {
	_, err := commit(ctx, s.committer, id, 0, func(t *tx) (int, error) {
		var kept bool
		err := t.one("SELECT kept OR submission <> '' FROM requests WHERE id = ?", []any{id}, &kept)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return 0, core.NoRequest(id)
		case err == nil && kept:
			err = core.OfSubmission(id)
		}
		if err != nil {
			return 0, err
		}
		return t.exec("UPDATE requests SET removed = 1 WHERE id = ?", id)
	})
	return err
}

// MarkedRemoved lists marked requests, see school.ResultStore.
func (s *Store) MarkedRemoved(ctx context.Context, after string, limit int) ([]core.Spec, error) {
	if err := bounds.Page(limit); err != nil {
		return nil, err
	}
	return s.specs(ctx, "SELECT spec FROM requests WHERE removed = 1 AND id > ? ORDER BY id LIMIT ?", after, limit)
}

// Remove removes a marked request that has ended, see school.ResultStore.
func (s *Store) Remove(ctx context.Context, id string) (bool, error) {
	return commit(ctx, s.committer, id, 0, func(t *tx) (bool, error) {
		n, err := t.exec("DELETE FROM requests WHERE id = ? AND removed = 1 AND kept = 0 AND finished > 0", id)
		if err != nil || n == 0 {
			return false, err
		}
		if _, err := t.exec("DELETE FROM attempts WHERE id = ?", id); err != nil {
			return false, err
		}
		_, err = t.exec("DELETE FROM outbox WHERE event = 'request.ended' AND id = ?", id)
		return true, err
	})
}
