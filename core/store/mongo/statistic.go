package mongo

import (
	"context"
	"fmt"

	"drover/core"
	"drover/core/store/bounds"
)

// Ended reads what was recorded in a span of time, see core.Statistics. A rerun copies a result into the
// history before it clears its place: so requests are read first, and a result that is in both counts once.
func (s *Store) Ended(ctx context.Context, from, until int64, fn func(core.Ended) error) error {
	span := m{"$gte": from, "$lt": until}
	now, err := some[request](ctx, s, requests, m{"finished": span, "state": m{"$ne": gone}}, nil, 0, "spec", "result", "finished")
	if err != nil {
		return err
	}
	seen := make(map[string]bool, len(now))
	tell := func(spec, result string, at int64) error {
		e, err := core.ReadEnded([]byte(spec), []byte(result), at)
		if err != nil {
			return core.Wrap(err, core.CodeUnavailable, s.name, "the result store holds something unreadable: restore a backup")
		}
		if seen[e.Key] {
			return nil
		}
		seen[e.Key] = true
		return fn(e)
	}
	for i := range now {
		if now[i].Result == "" {
			continue // a rerun came between
		}
		if err := tell(now[i].Spec, now[i].Result, now[i].Finished); err != nil {
			return err
		}
	}
	former, err := some[attempt](ctx, s, attempts, m{"recorded": span, "accepted": true}, nil, 0, "request", "result", "recorded")
	if err != nil || len(former) == 0 {
		return err
	}
	ids := make([]string, len(former))
	for i := range former {
		ids[i] = former[i].Request
	}
	its, err := some[request](ctx, s, requests, m{"_id": m{"$in": ids}, "state": m{"$ne": gone}}, nil, 0, "spec")
	if err != nil {
		return err
	}
	specs := make(map[string]string, len(its))
	for i := range its {
		specs[its[i].ID] = its[i].Spec
	}
	for i := range former {
		if spec, is := specs[former[i].Request]; is {
			if err := tell(spec, former[i].Result, former[i].Recorded); err != nil {
				return err
			}
		}
	}
	return nil
}

// bucket is the document of a bucket. Its id orders the buckets of a step and a name.
type bucket struct {
	ID   string `bson:"_id"`
	At   int64  `bson:"at"`
	Step int64  `bson:"step"`
	Doc  string `bson:"json"`
}

func bucketID(step int64, name string, at int64) string {
	return fmt.Sprintf("%d/%s/%019d", step, name, at)
}

// PutBuckets keeps buckets, see core.Statistics.
func (s *Store) PutBuckets(ctx context.Context, all []core.Bucket) error {
	if err := bounds.Buckets(all); err != nil {
		return err
	}
	for _, b := range all {
		if err := s.put(ctx, buckets, bucketID(b.Step, b.Name, b.At), m{"step": b.Step, "at": b.At, "json": string(b.Doc)}); err != nil {
			return err
		}
	}
	return nil
}

// Buckets returns buckets in order of time, see core.Statistics.
func (s *Store) Buckets(ctx context.Context, step int64, name string, from, until int64) ([]core.Bucket, error) {
	if until <= from {
		return nil, nil
	}
	docs, err := some[bucket](ctx, s, buckets, m{"_id": m{"$gte": bucketID(step, name, max(0, from)), "$lt": bucketID(step, name, until)}},
		by("_id"), core.MaxBuckets)
	if err != nil || len(docs) == 0 {
		return nil, err
	}
	all := make([]core.Bucket, len(docs))
	for i, doc := range docs {
		all[i] = core.Bucket{Step: step, Name: name, At: doc.At, Doc: []byte(doc.Doc)}
	}
	return all, nil
}

// TrimBuckets deletes old buckets, see core.Statistics.
func (s *Store) TrimBuckets(ctx context.Context, step, before int64) (int, error) {
	return s.remove(ctx, buckets, m{"step": step, "at": m{"$lt": before}})
}
