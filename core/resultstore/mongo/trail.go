package mongo

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
	_, err = s.insert(ctx, deeds, m{"_id": d.ID, "class": d.Class, "actor": d.Actor, "subject": d.Subject, "json": doc})
	return err
}

// ListDeeds returns a page of the audit trail, see core.Trail.
func (s *Store) ListDeeds(ctx context.Context, f core.TrailFilter) ([]core.Deed, error) {
	limit, err := bounds.Deeds(f)
	if err != nil {
		return nil, err
	}
	which := selection(map[string]string{"class": f.Class, "actor": f.Actor, "subject": f.Subject})
	if f.Before != "" {
		which["_id"] = m{"$lt": f.Before}
	}
	return documents[core.Deed](ctx, s, deeds, which, by("-_id"), limit)
}
