package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"drover/core"
	"drover/core/store/bounds"
)

// BeginRequest records which claim starts a request, see school.ResultStore.
func (s *Store) BeginRequest(ctx context.Context, key, by string) (bool, error) {
	id, generation, err := bounds.Begin(key, by)
	if err != nil {
		return false, err
	}
	return commit(ctx, s.committer, id, len(by), func(t *tx) (bool, error) {
		var current int
		var state core.RequestState
		var begun string
		err := t.one("SELECT generation, state, begun FROM requests WHERE id = ?", []any{id}, &current, &state, &begun)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return false, core.NoRequest(id)
		case err != nil:
			return false, err
		}
		if err := core.CheckGeneration("request", id, generation, current); err != nil {
			return false, err
		}
		if generation < current || state.Terminal() || begun != "" {
			return generation == current && !state.Terminal() && begun == by, nil
		}
		_, err = t.exec("UPDATE requests SET begun = ? WHERE id = ?", by, id)
		return true, err
	})
}

// BegunRequests returns which keys were begun, see school.ResultStore.
func (s *Store) BegunRequests(ctx context.Context, keys []string) (map[string]string, error) {
	begun := map[string]string{}
	for page := range slices.Chunk(keys, terminalPage) {
		doc, err := keyPairs(page)
		if err != nil {
			return nil, err
		}
		err = s.rows(ctx, `SELECT r.id, r.generation, r.begun FROM json_each(?) k
			JOIN requests r ON r.id = k.value ->> 0 AND r.generation = k.value ->> 1 AND r.begun <> ''`,
			[]any{doc}, func(rows *sql.Rows) error {
				var id, by string
				var generation int
				err := rows.Scan(&id, &generation, &by)
				begun[core.Key(id, generation)] = by
				return err
			})
		if err != nil {
			return nil, err
		}
	}
	return begun, nil
}
