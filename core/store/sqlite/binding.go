package sqlite

import (
	"context"
	"database/sql"

	"drover/core"
)

// Bindings implements core.ResultStore.
func (s *Store) Bindings(ctx context.Context) (map[core.Binding]string, error) {
	its := map[core.Binding]string{}
	err := s.rows(ctx, allBindings, nil, func(rows *sql.Rows) error { return scanBinding(rows, its) })
	return its, err
}

const allBindings = "SELECT kind, id FROM bindings WHERE kind > ''"

func scanBinding(rows *sql.Rows, its map[core.Binding]string) error {
	var kind core.Binding
	var id string
	err := rows.Scan(&kind, &id)
	its[kind] = id
	return err
}

// PutBinding implements core.ResultStore.
func (s *Store) PutBinding(ctx context.Context, kind core.Binding, id string, move bool) (string, error) {
	return commit(ctx, s.committer, string(kind), 0, func(t *tx) (now string, err error) {
		insert := "INSERT INTO bindings (kind, id) VALUES (?1, ?2) ON CONFLICT DO NOTHING"
		if move {
			insert = "INSERT INTO bindings (kind, id) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET id = ?2"
		}
		if _, err := t.exec(insert, string(kind), id); err != nil {
			return "", err
		}
		err = t.one("SELECT id FROM bindings WHERE kind = ?", []any{string(kind)}, &now)
		return now, err
	})
}
