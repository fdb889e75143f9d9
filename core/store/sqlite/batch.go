package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"drover/core"
	"drover/core/store/bounds"
)

// createdBatch is the answer of CreateBatch.
type createdBatch struct {
	batch core.Batch
	is    bool
}

// The columns of a batch: without its specs, and with them.
const (
	briefBatch = "SELECT doc, state, caller, NULL FROM batches"
	fullBatch  = "SELECT doc, state, caller, specs FROM batches"
)

// CreateBatch makes a batch durable, see core.Batches.
func (s *Store) CreateBatch(ctx context.Context, b core.Batch) (core.Batch, bool, error) {
	doc, specs, err := bounds.Batch(b)
	if err != nil {
		return core.Batch{}, false, err
	}
	b.State, b.By, b.Specs = core.BatchMaking, "", nil
	made, err := commit(ctx, s.committer, b.ID, len(doc)+len(specs), func(t *tx) (createdBatch, error) {
		n, err := t.exec(`INSERT INTO batches (id, last, submitter, idempotency, created, state, caller, doc, specs) VALUES (?, ?, ?, ?, ?, ?, '', ?, ?)
			ON CONFLICT DO NOTHING`, b.ID, b.Last, b.Submitter, b.Idempotency, b.Created, b.State, doc, specs)
		if err != nil || n == 1 {
			return createdBatch{b, n == 1}, err
		}
		was, err := scanBatch(func(into ...any) error {
			return t.one(briefBatch+" WHERE submitter = ? AND idempotency = ? AND idempotency <> ''", []any{b.Submitter, b.Idempotency}, into...)
		})
		if errors.Is(err, sql.ErrNoRows) {
			err = core.BatchTaken(b.ID)
		}
		return createdBatch{was, false}, err
	})
	return made.batch, made.is, err
}

// scanBatch reads one row of briefBatch or fullBatch.
func scanBatch(scan func(into ...any) error) (core.Batch, error) {
	var b core.Batch
	var doc, specs []byte
	var state core.BatchState
	var by string
	if err := scan(&doc, &state, &by, &specs); err != nil {
		return core.Batch{}, err
	}
	if err := decode(doc, &b, "a batch"); err != nil {
		return core.Batch{}, err
	}
	b.State, b.By = state, by
	if specs == nil {
		return b, nil
	}
	return b, decode(specs, &b.Specs, b.ID)
}

// GetBatch returns a batch, see core.Batches.
func (s *Store) GetBatch(ctx context.Context, id string) (core.Batch, error) {
	found, err := s.batches(ctx, briefBatch+" WHERE id = ?", id)
	if err != nil {
		return core.Batch{}, err
	}
	if len(found) == 0 {
		return core.Batch{}, core.NoBatch(id)
	}
	return found[0], nil
}

// ListBatches lists batches, see core.Batches.
func (s *Store) ListBatches(ctx context.Context, f core.BatchFilter) ([]core.Batch, error) {
	limit, err := bounds.Batches(f)
	if err != nil {
		return nil, err
	}
	where, args := []string{"1"}, []any{}
	for _, c := range []struct{ text, value string }{
		{"submitter = ?", f.Submitter},
		{"idempotency = ? AND idempotency <> ''", f.Idempotency},
		{"id < ?", f.Before},
	} {
		if c.value != "" {
			where, args = append(where, c.text), append(args, c.value)
		}
	}
	return s.batches(ctx, briefBatch+" WHERE "+strings.Join(where, " AND ")+" ORDER BY id DESC LIMIT ?", append(args, limit)...)
}

// OpenBatches lists batches with something left to do, see core.Batches.
func (s *Store) OpenBatches(ctx context.Context, after string, limit int) ([]core.Batch, error) {
	if err := bounds.Page(limit); err != nil {
		return nil, err
	}
	return s.batches(ctx, fullBatch+" WHERE state IN ('making', 'cancelling') AND id > ? ORDER BY id LIMIT ?", after, limit)
}

func (s *Store) batches(ctx context.Context, query string, args ...any) ([]core.Batch, error) {
	var all []core.Batch
	err := s.rows(ctx, query, args, func(rows *sql.Rows) error {
		b, err := scanBatch(rows.Scan)
		all = append(all, b)
		return err
	})
	return all, err
}

// MoveBatch moves a batch to another state, see core.Batches.
func (s *Store) MoveBatch(ctx context.Context, id string, from, to core.BatchState, by string) (bool, error) {
	if err := bounds.BatchMove(id, from, to); err != nil {
		return false, err
	}
	return commit(ctx, s.committer, id, 0, func(t *tx) (bool, error) {
		n, err := t.exec(`UPDATE batches SET state = ?1, caller = CASE ?2 WHEN '' THEN caller ELSE ?2 END,
			specs = CASE ?1 WHEN 'cancelling' THEN specs END WHERE id = ?3 AND state = ?4`, to, by, id, from)
		return n == 1, err
	})
}

// batchDigests calls fn with the digests that job types and batches name.
func (s *Store) batchDigests(ctx context.Context, fn func(digest string) error) error {
	types, err := s.JobTypes(ctx)
	if err != nil {
		return err
	}
	for _, jt := range types {
		if jt.Harness == nil {
			continue
		}
		if err := fn(jt.Harness.Digest); err != nil {
			return err
		}
	}
	for after := ""; ; {
		open, err := s.OpenBatches(ctx, after, 1)
		if err != nil || len(open) == 0 {
			return err
		}
		for i := range open[0].Specs {
			if err := eachDigest(&open[0].Specs[i], fn); err != nil {
				return err
			}
		}
		after = open[0].ID
	}
}
