package sqlite

import (
	"context"
	"database/sql"

	"drover/core"
	"drover/core/store/bounds"
)

// endedBetween reads the index of ends, and of each end two documents.
const endedBetween = `SELECT r.spec, a.result, a.recorded FROM attempts a INDEXED BY attempts_ended CROSS JOIN requests r ON r.id = a.id
	WHERE a.accepted = 1 AND a.recorded >= ? AND a.recorded < ?`

// Ended reads what was recorded in a span of time, see core.Statistics.
func (s *Store) Ended(ctx context.Context, from, until int64, fn func(core.Ended) error) error {
	return s.rows(ctx, endedBetween, []any{from, until}, func(rows *sql.Rows) error {
		var spec, result sql.RawBytes
		var at int64
		if err := rows.Scan(&spec, &result, &at); err != nil {
			return err
		}
		e, err := core.ReadEnded(spec, result, at)
		if err != nil {
			return core.Wrap(err, core.CodeUnavailable, s.path, "the result store holds something unreadable: restore a backup")
		}
		return fn(e)
	})
}

// PutBuckets keeps buckets, see core.Statistics.
func (s *Store) PutBuckets(ctx context.Context, all []core.Bucket) error {
	if err := bounds.Buckets(all); err != nil || len(all) == 0 {
		return err
	}
	size := 0
	for _, b := range all {
		size += len(b.Doc)
	}
	_, err := commit(ctx, s.committer, "", size, func(t *tx) (int, error) {
		for _, b := range all {
			if _, err := t.exec(`INSERT INTO buckets (step, at, name, doc) VALUES (?1, ?2, ?3, ?4)
				ON CONFLICT (step, at, name) DO UPDATE SET doc = ?4`, b.Step, b.At, b.Name, []byte(b.Doc)); err != nil {
				return 0, err
			}
		}
		return len(all), nil
	})
	return err
}

// bucketsBetween reads one range of the index.
const bucketsBetween = "SELECT at, doc FROM buckets WHERE step = ? AND name = ? AND at >= ? AND at < ? ORDER BY at LIMIT ?"

// Buckets returns buckets in order of time, see core.Statistics.
func (s *Store) Buckets(ctx context.Context, step int64, name string, from, until int64) ([]core.Bucket, error) {
	var all []core.Bucket
	err := s.rows(ctx, bucketsBetween, []any{step, name, from, until, core.MaxBuckets}, func(rows *sql.Rows) error {
		b := core.Bucket{Step: step, Name: name}
		err := rows.Scan(&b.At, (*[]byte)(&b.Doc))
		all = append(all, b)
		return err
	})
	return all, err
}

// TrimBuckets deletes old buckets, see core.Statistics.
func (s *Store) TrimBuckets(ctx context.Context, step, before int64) (int, error) {
	return commit(ctx, s.committer, "", 0, func(t *tx) (int, error) {
		return t.exec("DELETE FROM buckets WHERE id IN (SELECT id FROM buckets WHERE step = ? AND at < ? LIMIT ?)", step, before, trimBatch)
	})
}
