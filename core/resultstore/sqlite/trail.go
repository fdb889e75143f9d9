package sqlite

import (
	"context"

	"drover/core"
	"drover/core/resultstore/bounds"
)

// AddDeed adds an entry to the audit trail, see core.Trail.
func (s *Store) AddDeed(ctx context.Context, d core.Deed) error {
	if err := bounds.Deed(d); err != nil {
		return err
	}
	doc, err := encode(d, d.ID)
	if err != nil {
		return err
	}
	_, err = commit(ctx, s.committer, d.ID, len(doc), func(t *tx) (int, error) {
		return t.exec("INSERT INTO deeds (id, class, actor, subject, doc) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", d.ID, d.Class, d.Actor, d.Subject, doc)
	})
	return err
}

// ListDeeds returns a page of the audit trail, see core.Trail.
func (s *Store) ListDeeds(ctx context.Context, f core.TrailFilter) ([]core.Deed, error) {
	limit, err := bounds.Deeds(f)
	if err != nil {
		return nil, err
	}
	query, args := selection("SELECT doc FROM deeds", []condition{
		{"class = ?", f.Class}, {"actor = ?", f.Actor}, {"subject = ?", f.Subject}, {"id < ?", f.Before},
	})
	return documents[core.Deed](ctx, s, query+" ORDER BY id DESC LIMIT ?", append(args, limit)...)
}
