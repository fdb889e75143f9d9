package sqlite

import (
	"context"
	"database/sql"

	"drover/core/school"
	"drover/core/store/bounds"
)

// PutLTI makes or changes a record about learning platforms, see school.LTI.
func (s *Store) PutLTI(ctx context.Context, r school.LTIRecord) (int64, error) {
	if err := r.Check(); err != nil {
		return 0, err
	}
	row := revised{
		what: string(r.Kind) + " " + r.ID, table: "lti", key: []column{{"kind", string(r.Kind)}, {"id", r.ID}},
		columns: []column{{"class", r.Class}, {"doc", []byte(r.Doc)}}, revision: r.Revision,
	}
	return commit(ctx, s.committer, r.ID, len(r.Doc), func(t *tx) (int64, error) {
		if r.Class != "" {
			if err := t.open(r.Class); err != nil {
				return 0, err
			}
		}
		return t.put(row)
	})
}

// GetLTI returns a record, see school.LTI.
func (s *Store) GetLTI(ctx context.Context, kind school.LTIKind, id string) (school.LTIRecord, error) {
	all, err := s.ltiRecords(ctx, "SELECT id, class, doc, revision FROM lti WHERE kind = ? AND id = ?", kind, id)
	if err == nil && len(all) == 0 {
		err = school.NoLTI(string(kind) + " " + id)
	}
	if err != nil {
		return school.LTIRecord{}, err
	}
	return all[0], nil
}

// ListLTI lists records, see school.LTI.
func (s *Store) ListLTI(ctx context.Context, kind school.LTIKind, class, after string, limit int) ([]school.LTIRecord, error) {
	if err := bounds.Page(limit); err != nil {
		return nil, err
	}
	if class != "" {
		return s.ltiRecords(ctx, "SELECT id, class, doc, revision FROM lti WHERE kind = ? AND class = ? AND id > ? ORDER BY id LIMIT ?", kind, class, after, limit)
	}
	return s.ltiRecords(ctx, "SELECT id, class, doc, revision FROM lti WHERE kind = ? AND id > ? ORDER BY id LIMIT ?", kind, after, limit)
}

// DeleteLTI removes a record, see school.LTI.
func (s *Store) DeleteLTI(ctx context.Context, kind school.LTIKind, id string) (bool, error) {
	return commit(ctx, s.committer, id, 0, func(t *tx) (bool, error) {
		n, err := t.exec("DELETE FROM lti WHERE kind = ? AND id = ?", string(kind), id)
		return n > 0, err
	})
}

func (s *Store) ltiRecords(ctx context.Context, query string, kind school.LTIKind, args ...any) ([]school.LTIRecord, error) {
	var all []school.LTIRecord
	err := s.rows(ctx, query, append([]any{string(kind)}, args...), func(rows *sql.Rows) error {
		r := school.LTIRecord{Kind: kind}
		var doc []byte
		err := rows.Scan(&r.ID, &r.Class, &doc, &r.Revision)
		r.Doc = doc
		all = append(all, r)
		return err
	})
	return all, err
}
