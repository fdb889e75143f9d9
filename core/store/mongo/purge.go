package mongo

import (
	"context"
	"time"
)

// purgeBatch is how many requests are deleted together.
const purgeBatch = 100

// Purge deletes requests, tasks, batches, leases and instances that ended before the time, see school.ResultStore.
func (s *Store) Purge(ctx context.Context, before time.Time, limit int) (int, error) {
	total := 0
	for total < limit {
		batch := min(purgeBatch, limit-total)
		n, err := s.purgeRequests(ctx, before.UnixMilli(), batch)
		total += n
		if err != nil {
			return total, err
		}
		if n < batch {
			break
		}
	}
	if total >= limit {
		return total, nil
	}
	for _, purge := range []func(ctx context.Context, before int64, limit int) (int, error){
		s.purgeTasks, s.purgeBatches, s.purgeLeases, s.purgeInstances,
	} {
		n, err := purge(ctx, before.UnixMilli(), limit-total)
		if total += n; err != nil || total >= limit {
			return total, err
		}
	}
	return total, nil
}

// purgeRequests deletes at most batch requests, including those that an interrupted purge left.
func (s *Store) purgeRequests(ctx context.Context, before int64, batch int) (int, error) {
	n, err := s.sweep(ctx, m{}, batch)
	if err != nil || n == batch {
		return n, err
	}
	due := m{"finished": m{"$gt": 0, "$lt": before}, "kept": absent, "outbox_at": absent}
	docs, err := some[request](ctx, s, requests, due, by("finished", "_id"), batch-n, "_id")
	if err != nil || len(docs) == 0 {
		return n, err
	}
	due["_id"] = m{"$in": idsOf(docs)}
	if err := s.changeAll(ctx, requests, due, leave); err != nil {
		return n, err
	}
	more, err := s.sweep(ctx, m{}, batch-n)
	return n + more, err
}

// leave marks a request as gone.
var leave = m{"$set": m{"state": gone}, "$unset": m{"once": ""}}

// sweep deletes at most limit requests that are gone, with their history and their output.
func (s *Store) sweep(ctx context.Context, which m, limit int) (int, error) {
	which["state"] = gone
	docs, err := some[request](ctx, s, requests, which, by("_id"), limit, "_id")
	if err != nil || len(docs) == 0 {
		return 0, err
	}
	ids := m{"$in": idsOf(docs)}
	for _, in := range []string{outputs, attempts} {
		if _, err := s.remove(ctx, in, m{"request": ids}); err != nil {
			return 0, err
		}
	}
	return s.remove(ctx, requests, m{"_id": ids, "state": gone})
}

func idsOf(docs []request) []string {
	ids := make([]string, len(docs))
	for i, doc := range docs {
		ids[i] = doc.ID
	}
	return ids
}
