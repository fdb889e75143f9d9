package mongo

import (
	"context"
	"encoding/json"

	"drover/core/school"
	"drover/core/store/bounds"
)

// ltiDoc is a record about learning platforms.
type ltiDoc struct {
	ID       string `bson:"_id"` // kind/id
	Name     string `bson:"name"`
	Class    string `bson:"class"`
	JSON     string `bson:"json"`
	Revision int64  `bson:"revision"`
}

func (d *ltiDoc) record(kind school.LTIKind) school.LTIRecord {
	return school.LTIRecord{Kind: kind, ID: d.Name, Class: d.Class, Doc: json.RawMessage(d.JSON), Revision: d.Revision}
}

// PutLTI makes or changes a record about learning platforms, see school.LTI.
func (s *Store) PutLTI(ctx context.Context, r school.LTIRecord) (int64, error) {
	if err := r.Check(); err != nil {
		return 0, err
	}
	key := string(r.Kind) + "/" + r.ID
	open := func() error {
		if r.Class == "" {
			return nil
		}
		return s.openClass(ctx, r.Class)
	}
	if err := open(); err != nil {
		return 0, err
	}
	revision, err := s.revise(ctx, revised{
		what: string(r.Kind) + " " + r.ID, in: ltiRecords, id: key, name: r.ID, revision: r.Revision,
		fields: m{"kind": string(r.Kind), "name": r.ID, "class": r.Class, "json": string(r.Doc)},
	})
	if err != nil {
		return 0, err
	}
	if err := open(); err != nil { // the class was deleted in the meantime
		_, _ = s.remove(ctx, ltiRecords, m{"_id": key})
		return 0, err
	}
	return revision, nil
}

// GetLTI returns a record, see school.LTI.
func (s *Store) GetLTI(ctx context.Context, kind school.LTIKind, id string) (school.LTIRecord, error) {
	doc, found, err := one[ltiDoc](ctx, s, ltiRecords, m{"_id": string(kind) + "/" + id})
	if err == nil && !found {
		err = school.NoLTI(string(kind) + " " + id)
	}
	if err != nil {
		return school.LTIRecord{}, err
	}
	return doc.record(kind), nil
}

// ListLTI lists records, see school.LTI.
func (s *Store) ListLTI(ctx context.Context, kind school.LTIKind, class, after string, limit int) ([]school.LTIRecord, error) {
	if err := bounds.Page(limit); err != nil {
		return nil, err
	}
	which := m{"kind": string(kind), "name": m{"$gt": after}}
	if class != "" {
		which["class"] = class
	}
	docs, err := some[ltiDoc](ctx, s, ltiRecords, which, by("name"), limit)
	if err != nil || len(docs) == 0 {
		return nil, err
	}
	all := make([]school.LTIRecord, len(docs))
	for i := range docs {
		all[i] = docs[i].record(kind)
	}
	return all, nil
}

// DeleteLTI removes a record, see school.LTI.
func (s *Store) DeleteLTI(ctx context.Context, kind school.LTIKind, id string) (bool, error) {
	n, err := s.remove(ctx, ltiRecords, m{"_id": string(kind) + "/" + id})
	return n > 0, err
}
