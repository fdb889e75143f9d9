package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"drover/core"
	"drover/core/store/bounds"
)

// AddStateChanges adds changes of state, see core.StateLog.
func (s *Store) AddStateChanges(ctx context.Context, all []core.StateChange) error {
	if err := bounds.StateChanges(all); err != nil || len(all) == 0 {
		return err
	}
	size := 0
	for i := range all {
		size += len(all[i].Why) + changeBytes
	}
	_, err := commit(ctx, s.committer, "", size, func(t *tx) (int, error) {
		for _, c := range all {
			if _, err := t.exec(insertStateChange, string(c.Kind), c.Thing, c.At, c.N, c.State, c.How, c.By, c.With, c.Why, c.Until); err != nil {
				return 0, err
			}
		}
		return len(all), nil
	})
	return err
}

const insertStateChange = `INSERT INTO state_changes (kind, thing, at, n, state, how, owner, other, why, until)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`

// changeBytes is about what a change brings beside its reason.
const changeBytes = 200

// stateChanges is one index lookup and as many rows as the page has.
const stateChanges = `SELECT kind, thing, at, n, state, how, owner, other, why, until FROM state_changes
	WHERE kind = ? AND thing = ? AND (at, n) < (?, ?) ORDER BY at DESC, n DESC LIMIT ?`

// StateChanges returns a page of changes of a thing, see core.StateLog.
func (s *Store) StateChanges(ctx context.Context, f core.StateChangeFilter) ([]core.StateChange, error) {
	at, n, limit, err := bounds.StateChangePage(f)
	if err != nil {
		return nil, err
	}
	var all []core.StateChange
	err = s.rows(ctx, stateChanges, []any{string(f.Kind), f.Thing, at, n, limit}, func(rows *sql.Rows) error {
		var c core.StateChange
		err := rows.Scan(&c.Kind, &c.Thing, &c.At, &c.N, &c.State, &c.How, &c.By, &c.With, &c.Why, &c.Until)
		all = append(all, c)
		return err
	})
	return all, err
}

// trimBatch is how many changes one transaction deletes.
const trimBatch = 1000

// TrimStateChanges deletes the oldest changes, see core.StateLog.
func (s *Store) TrimStateChanges(ctx context.Context, before int64, most, limit int) (int, error) {
	total := 0
	for total < limit {
		batch := min(trimBatch, limit-total)
		n, err := commit(ctx, s.committer, "", 0, func(t *tx) (int, error) {
			return t.exec(`DELETE FROM state_changes
				WHERE seq < (SELECT min(seq) FROM state_changes) + ?3
				AND (at < ?1 OR seq <= (SELECT max(seq) FROM state_changes) - ?2)`, before, most, batch)
		})
		total += n
		if err != nil || n < batch {
			return total, err
		}
	}
	return total, nil
}

// Mark returns how far somebody got, see core.StateLog.
func (s *Store) Mark(ctx context.Context, name string) (string, error) {
	value := ""
	err := s.rows(ctx, "SELECT value FROM marks WHERE name = ?", []any{name}, func(rows *sql.Rows) error { return rows.Scan(&value) })
	return value, err
}

// MoveMark notes how far somebody got, see core.StateLog.
func (s *Store) MoveMark(ctx context.Context, name, from, to string) (bool, error) {
	if err := bounds.Mark(name, to); err != nil {
		return false, err
	}
	return commit(ctx, s.committer, name, 0, func(t *tx) (bool, error) {
		var now string
		err := t.one("SELECT value FROM marks WHERE name = ?", []any{name}, &now)
		if err != nil && !errors.Is(err, sql.ErrNoRows) || now != from {
			return false, ignoreNone(err)
		}
		_, err = t.exec("INSERT INTO marks (name, value) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = ?2", name, to)
		return err == nil, err
	})
}

// ignoreNone is nil where there was only no row.
func ignoreNone(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}
