package sqlite

import (
	"context"
	"database/sql"
	"time"
)

// ExpireOutputs deletes the outputs and files of a pool's results, see school.ResultStore.
func (s *Store) ExpireOutputs(ctx context.Context, pool string, before time.Time, limit int) (int, error) {
	total := 0
	for total < limit {
		batch := min(purgeBatch, limit-total)
		n, err := commit(ctx, s.committer, pool, 0, func(t *tx) (int, error) {
			return t.expire(pool, before.UnixMilli(), batch, s.now())
		})
		total += n
		if err != nil || n < batch {
			return total, err
		}
	}
	return total, nil
}

// withOutputs selects the requests of one batch.
const withOutputs = `(SELECT id FROM requests WHERE pool = ? AND finished > 0 AND expired = 0 AND finished < ? ORDER BY finished, id LIMIT ?)`

func (t *tx) expire(pool string, before int64, batch int, now int64) (int, error) {
	_, err := t.exec(`UPDATE attempts SET stdout = x'', stderr = x'',
		result = CAST(json_set(json_remove(CAST(result AS TEXT), '$.files'), '$.expired_ms', ?) AS BLOB)
		WHERE id IN `+withOutputs+` AND CAST(result AS TEXT) ->> '$.expired_ms' IS NULL`, now, pool, before, batch)
	if err != nil {
		return 0, err
	}
	return t.exec("UPDATE requests SET expired = 1 WHERE id IN "+withOutputs, pool, before, batch)
}

// downloads calls fn with the digests of downloads that have not expired.
func (s *Store) downloads(ctx context.Context, fn func(digest string) error) error {
	var digests []string
	err := s.rows(ctx, "SELECT CAST(doc AS TEXT) ->> '$.download.digest' FROM tasks WHERE expires > ? AND expires > 0", []any{s.now()}, func(rows *sql.Rows) error {
		var digest string
		err := rows.Scan(&digest)
		digests = append(digests, digest)
		return err
	})
	if err != nil {
		return err
	}
	for _, digest := range digests {
		if err := fn(digest); err != nil {
			return err
		}
	}
	return nil
}
