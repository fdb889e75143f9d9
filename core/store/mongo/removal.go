package mongo

import (
	"context"

	"drover/core"
	"drover/core/store/bounds"
)

// MarkRemoved marks a request as to be removed, see school.ResultStore.
func (s *Store) MarkRemoved(ctx context.Context, id string) error {
	which := there(id)
	which["kept"], which["submission"] = absent, absent
	is, err := s.change(ctx, requests, which, m{"$set": m{"removed": true}})
	if err != nil || is {
		return err
	}
	if _, found, err := one[request](ctx, s, requests, there(id), "_id"); err != nil || !found {
		if err == nil {
			err = core.NoRequest(id)
		}
		return err
	}
	return core.OfSubmission(id)
}

// MarkedRemoved lists marked requests, see school.ResultStore.
func (s *Store) MarkedRemoved(ctx context.Context, after string, limit int) ([]core.Spec, error) {
	if err := bounds.Page(limit); err != nil {
		return nil, err
	}
	which := m{"removed": true, "state": m{"$ne": gone}, "_id": m{"$gt": after}}
	docs, err := some[request](ctx, s, requests, which, by("_id"), limit, "spec")
	if err != nil {
		return nil, err
	}
	specs := make([]core.Spec, len(docs))
	for i, doc := range docs {
		if err := decode(doc.Spec, &specs[i], doc.ID); err != nil {
			return nil, err
		}
	}
	return specs, nil
}

// Remove removes a marked request that has ended, see school.ResultStore.
func (s *Store) Remove(ctx context.Context, id string) (bool, error) {
	is, err := s.change(ctx, requests, m{"_id": id, "removed": true, "kept": absent, "finished": m{"$gt": 0}, "state": m{"$ne": gone}}, leave)
	if err != nil || !is {
		return false, err
	}
	_, err = s.sweep(ctx, m{"_id": id}, 1)
	return true, err
}
