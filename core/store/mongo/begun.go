package mongo

import (
	"context"
	"slices"

	"drover/core"
	"drover/core/store/bounds"
)

// BeginRequest records which claim starts a request, see school.ResultStore.
func (s *Store) BeginRequest(ctx context.Context, key, by string) (bool, error) {
	id, generation, err := bounds.Begin(key, by)
	if err != nil {
		return false, err
	}
	is, err := s.change(ctx, requests, m{"_id": id, "gen": generation, "state": core.RequestQueued, "begun": absent}, m{"$set": m{"begun": by}})
	if is || err != nil {
		return is, err
	}
	now, found, err := one[request](ctx, s, requests, there(id), "gen", "state", "begun")
	if err == nil && !found {
		err = core.NoRequest(id)
	}
	if err == nil {
		err = core.CheckGeneration("request", id, generation, now.Generation)
	}
	return err == nil && generation == now.Generation && !now.State.Terminal() && now.Begun == by, err
}

// BegunRequests returns which keys were begun, see school.ResultStore.
func (s *Store) BegunRequests(ctx context.Context, keys []string) (map[string]string, error) {
	begun := map[string]string{}
	for page := range slices.Chunk(keys, terminalPage) {
		ids := make([]string, len(page))
		for i, key := range page {
			var err error
			if ids[i], _, err = core.ParseKey(key); err != nil {
				return nil, err
			}
		}
		docs, err := some[request](ctx, s, requests, m{"_id": m{"$in": ids}, "state": m{"$ne": gone}, "begun": m{"$gt": ""}}, nil, 0, "gen", "begun")
		if err != nil {
			return nil, err
		}
		for _, doc := range docs {
			if key := core.Key(doc.ID, doc.Generation); slices.Contains(page, key) {
				begun[key] = doc.Begun
			}
		}
	}
	return begun, nil
}
