package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"

	"drover/core"
)

// PutPool stores a pool's settings. Returns INVALID for invalid settings, LIMIT if there are too many pools.
func (s *Store) PutPool(ctx context.Context, p core.Pool) error {
	if err := core.CheckName("pool", p.Name); err != nil {
		return err
	}
	doc, err := json.Marshal(p)
	if err != nil {
		return core.Wrap(err, core.CodeInvalid, p.Name, "pool %s cannot be written as JSON", p.Name)
	}
	_, err = commit(ctx, s.committer, p.Name, len(doc), func(t *tx) (int, error) {
		if err := t.room(core.PoolQuota, p.Name, "SELECT count(*) FROM pools WHERE name <> ?", p.Name); err != nil {
			return 0, err
		}
		return t.exec("INSERT INTO pools (name, settings) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET settings = ?2", p.Name, doc)
	})
	return err
}

// Pools lists the pools by name.
func (s *Store) Pools(ctx context.Context) ([]core.Pool, error) {
	var all []core.Pool
	err := s.rows(ctx, "SELECT name, settings FROM pools ORDER BY name", nil, func(rows *sql.Rows) error {
		var name string
		var doc sql.RawBytes
		if err := rows.Scan(&name, &doc); err != nil {
			return err
		}
		var p core.Pool
		err := decode(doc, &p, name)
		all = append(all, p)
		return err
	})
	return all, err
}

// poolUsers find a user of a pool each. (The plus keeps SQLite from reading all requests that ever used the pool.)
var poolUsers = []string{
	"SELECT coalesce(min('assignment ' || class || '/' || handle), '') FROM assignments WHERE CAST(doc AS TEXT) ->> '$.pool' = ?",
	"SELECT coalesce('job type ' || min(name), '') FROM job_types WHERE CAST(settings AS TEXT) ->> '$.pool' = ?",
	"SELECT coalesce('request ' || min(id), '') FROM requests WHERE state = 'queued' AND +pool = ?",
	`SELECT coalesce('batch ' || min(id), '') FROM batches WHERE state IN ('making', 'cancelling') AND specs IS NOT NULL
		AND EXISTS (SELECT 1 FROM json_each(CAST(specs AS TEXT)) s WHERE s.value ->> '$.pool' = ?)`,
	`SELECT coalesce('lease ' || min(id), '') FROM leases WHERE open = 1
		AND EXISTS (SELECT 1 FROM json_each(CAST(doc AS TEXT) -> '$.reservations') r, json_each(r.value -> '$.pools') p
			WHERE r.value ->> '$.state' <> 'deleted' AND p.value = ?)`,
}

// RemovePool removes a pool that nothing uses, see school.ResultStore.
func (s *Store) RemovePool(ctx context.Context, name string) error {
	_, err := commit(ctx, s.committer, name, 0, func(t *tx) (int, error) {
		var users []string
		for _, query := range poolUsers {
			user := ""
			if err := t.one(query, []any{name}, &user); err != nil {
				return 0, err
			}
			if user != "" {
				users = append(users, user)
			}
		}
		if err := core.PoolUsed(name, users); err != nil {
			return 0, err
		}
		return t.exec("DELETE FROM pools WHERE name = ?", name)
	})
	return err
}
