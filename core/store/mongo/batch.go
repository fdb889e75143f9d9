package mongo

import (
	"context"

	"drover/core"
	"drover/core/store/bounds"
)

// batch is the document of a batch. Optional fields are left out when empty.
type batch struct {
	ID        string          `bson:"_id"`
	Last      string          `bson:"last"` // id of its last request
	Submitter string          `bson:"submitter"`
	Once      string          `bson:"once,omitempty"` // submitter and idempotency key
	Created   int64           `bson:"created"`
	State     core.BatchState `bson:"state"`
	Open      bool            `bson:"open,omitempty"` // something is left to do
	By        string          `bson:"by,omitempty"`   // who cancelled it
	JSON      string          `bson:"json"`           // without state, who cancelled it, and specs
	Specs     string          `bson:"specs,omitempty"`
}

// The fields of a batch without its specs.
var briefBatch = []string{"json", "state", "by"}

func (doc *batch) read() (core.Batch, error) {
	var b core.Batch
	if err := decode(doc.JSON, &b, doc.ID); err != nil {
		return core.Batch{}, err
	}
	b.State, b.By = doc.State, doc.By
	if doc.Specs == "" {
		return b, nil
	}
	return b, decode(doc.Specs, &b.Specs, doc.ID)
}

// CreateBatch makes a batch durable, see core.Batches.
func (s *Store) CreateBatch(ctx context.Context, b core.Batch) (core.Batch, bool, error) {
	doc, specs, err := bounds.Batch(b)
	if err != nil {
		return core.Batch{}, false, err
	}
	fresh := batch{
		ID: b.ID, Last: b.Last, Submitter: b.Submitter, Once: once(b.Submitter, b.Idempotency), Created: b.Created, State: core.BatchMaking, Open: true,
		JSON: string(doc), Specs: string(specs),
	}
	is, err := s.insert(ctx, batches, fresh)
	if err != nil {
		return core.Batch{}, false, err
	}
	if is {
		b.State, b.By, b.Specs = core.BatchMaking, "", nil
		return b, true, nil
	}
	if fresh.Once != "" {
		was, found, err := one[batch](ctx, s, batches, m{"once": fresh.Once}, briefBatch...)
		if err != nil {
			return core.Batch{}, false, err
		}
		if found {
			b, err = was.read()
			return b, false, err
		}
	}
	return core.Batch{}, false, core.BatchTaken(b.ID)
}

// GetBatch returns a batch, see core.Batches.
func (s *Store) GetBatch(ctx context.Context, id string) (core.Batch, error) {
	doc, found, err := one[batch](ctx, s, batches, m{"_id": id}, briefBatch...)
	if err == nil && !found {
		err = core.NoBatch(id)
	}
	if err != nil {
		return core.Batch{}, err
	}
	return doc.read()
}

// ListBatches lists batches, see core.Batches.
func (s *Store) ListBatches(ctx context.Context, f core.BatchFilter) ([]core.Batch, error) {
	limit, err := bounds.Batches(f)
	if err != nil {
		return nil, err
	}
	which := m{}
	for name, value := range map[string]string{"submitter": f.Submitter, "once": once(f.Submitter, f.Idempotency)} {
		if value != "" {
			which[name] = value
		}
	}
	if f.Before != "" {
		which["_id"] = m{"$lt": f.Before}
	}
	return s.listBatches(ctx, which, "-_id", limit, briefBatch...)
}

// OpenBatches lists batches with something left to do, see core.Batches.
func (s *Store) OpenBatches(ctx context.Context, after string, limit int) ([]core.Batch, error) {
	if err := bounds.Page(limit); err != nil {
		return nil, err
	}
	return s.listBatches(ctx, m{"open": true, "_id": m{"$gt": after}}, "_id", limit, append([]string{"specs"}, briefBatch...)...)
}

func (s *Store) listBatches(ctx context.Context, which m, order string, limit int, fields ...string) ([]core.Batch, error) {
	docs, err := some[batch](ctx, s, batches, which, by(order), limit, fields...)
	if err != nil || len(docs) == 0 {
		return nil, err
	}
	all := make([]core.Batch, len(docs))
	for i := range docs {
		if all[i], err = docs[i].read(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// MoveBatch moves a batch to another state, see core.Batches.
func (s *Store) MoveBatch(ctx context.Context, id string, from, to core.BatchState, by string) (bool, error) {
	if err := bounds.BatchMove(id, from, to); err != nil {
		return false, err
	}
	set, unset := m{"state": to}, m{}
	if by != "" {
		set["by"] = by
	}
	if to.Open() {
		set["open"] = true
	} else {
		unset["open"] = ""
	}
	if to != core.BatchCancelling {
		unset["specs"] = ""
	}
	how := m{"$set": set}
	if len(unset) > 0 {
		how["$unset"] = unset
	}
	return s.change(ctx, batches, m{"_id": id, "state": from}, how)
}

// purgeBatches deletes at most limit old batches of which no request is left. It looks at each once, oldest first, so
// those with requests do not hold up the others.
func (s *Store) purgeBatches(ctx context.Context, before int64, limit int) (int, error) {
	total := 0
	for after := ""; total < limit; {
		due := m{"created": m{"$lt": before}, "open": absent, "_id": m{"$gt": after}}
		docs, err := some[batch](ctx, s, batches, due, by("_id"), purgeBatch, "last")
		if err != nil {
			return total, err
		}
		for _, doc := range docs {
			after = doc.ID
			left, err := s.count(ctx, requests, m{"_id": m{"$gt": doc.ID, "$lte": doc.Last}}, 1)
			if err != nil {
				return total, err
			}
			if left > 0 || total == limit {
				continue
			}
			n, err := s.remove(ctx, batches, m{"_id": doc.ID, "open": absent})
			if total += n; err != nil {
				return total, err
			}
		}
		if len(docs) < purgeBatch {
			break
		}
	}
	return total, nil
}

// batchDigests calls fn with the digests that job types and batches name.
func (s *Store) batchDigests(ctx context.Context, fn func(digest string) error) error {
	types, err := s.JobTypes(ctx)
	if err != nil {
		return err
	}
	for _, t := range types {
		if t.Harness == nil {
			continue
		}
		if err := fn(t.Harness.Digest); err != nil {
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
