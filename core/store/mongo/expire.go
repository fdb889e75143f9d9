package mongo

import (
	"context"
	"time"

	"drover/core"
	"drover/core/store/bounds"
)

// ExpireOutputs deletes the outputs and files of a pool's results, see school.ResultStore.
func (s *Store) ExpireOutputs(ctx context.Context, pool string, before time.Time, limit int) (int, error) {
	total := 0
	for total < limit {
		batch := min(purgeBatch, limit-total)
		due := m{"pool": pool, "finished": m{"$gt": 0, "$lt": before.UnixMilli()}, "expired": absent, "state": m{"$ne": gone}}
		docs, err := some[request](ctx, s, requests, due, by("finished", "_id"), batch, "gen", "finished", "result", "output", "late")
		if err != nil {
			return total, err
		}
		for i := range docs {
			is, err := s.expire(ctx, &docs[i])
			if err != nil {
				return total, err
			}
			if is {
				total++
			}
		}
		if len(docs) < batch {
			break
		}
	}
	return total, nil
}

// expire deletes the outputs of one request, unless the request changes in the meantime. Those of its history come
// first, because the mark in the request means that all is done.
func (s *Store) expire(ctx context.Context, r *request) (bool, error) {
	now := s.now()
	history, err := some[attempt](ctx, s, attempts, m{"request": r.ID}, nil, 0, "result", "request")
	if err != nil {
		return false, err
	}
	for _, a := range history {
		if err := s.expireAttempt(ctx, &a, now); err != nil {
			return false, err
		}
	}
	doc, _, err := withoutFiles(r.Result, r.ID, now)
	if err != nil {
		return false, err
	}
	which := m{"_id": r.ID, "gen": r.Generation, "finished": r.Finished, "late": absent}
	if r.Late > 0 {
		which["late"] = r.Late
	}
	is, err := s.change(ctx, requests, which, m{"$set": m{"result": doc, "expired": true}, "$unset": m{"output": ""}})
	if is {
		s.drop(ctx, r.Output)
	}
	return is, err
}

func (s *Store) expireAttempt(ctx context.Context, a *attempt, now int64) error {
	doc, was, err := withoutFiles(a.Result, a.Request, now)
	if err != nil || was {
		return err
	}
	_, err = s.change(ctx, attempts, m{"_id": a.ID}, m{"$set": m{"result": doc, "output": output{}}})
	return err
}

// withoutFiles marks a result as expired, unless it is.
func withoutFiles(doc, id string, now int64) (expired string, was bool, err error) {
	var r core.Result
	if err := decode(doc, &r, id); err != nil || r.Expired > 0 {
		return doc, true, err
	}
	r.Files, r.Expired = nil, now
	text, err := bounds.Result(r)
	return string(text), false, err
}
