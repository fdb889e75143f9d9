package mongo

import (
	"context"
	"slices"

	"drover/core"
	"drover/core/school"
)

// setting is a document that is read and written whole: a pool's or an image's.
type setting struct {
	ID     string `bson:"_id"`
	Name   string `bson:"name,omitempty"`
	Digest string `bson:"digest,omitempty"`
	Seq    int64  `bson:"seq,omitempty"` // the greatest is the newest of its name
	JSON   string `bson:"json"`
}

// PutPool stores a pool's settings. Returns INVALID for invalid settings, LIMIT if there are too many pools.
// (Concurrent calls may create a few more.)
func (s *Store) PutPool(ctx context.Context, p core.Pool) error {
	if err := core.CheckName("pool", p.Name); err != nil {
		return err
	}
	doc, err := encode(p, p.Name)
	if err != nil {
		return err
	}
	if err := s.room(ctx, core.PoolQuota, p.Name, pools, m{"_id": m{"$ne": p.Name}}); err != nil {
		return err
	}
	return s.put(ctx, pools, p.Name, m{"json": doc})
}

// Pools lists the pools by name.
func (s *Store) Pools(ctx context.Context) ([]core.Pool, error) {
	return settings[core.Pool](ctx, s, pools, m{}, "_id")
}

// room returns LIMIT if others use up a quota.
func (s *Store) room(ctx context.Context, q core.Quota, id, in string, others m) error {
	n, err := s.count(ctx, in, others, q.Most)
	if err != nil {
		return err
	}
	return q.Check(id, n)
}

// settings decodes the contents of documents.
func settings[T any](ctx context.Context, s *Store, in string, which m, order ...string) ([]T, error) {
	docs, err := some[setting](ctx, s, in, which, by(order...), 0, "json")
	if err != nil {
		return nil, err
	}
	all := make([]T, len(docs))
	for i, doc := range docs {
		if err := decode(doc.JSON, &all[i], doc.ID); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// usedBy is how many users of a pool an error names.
const usedBy = 5

// RemovePool removes a pool that nothing uses, see school.ResultStore. (What begins to use it in a concurrent call may
// be left without it.)
func (s *Store) RemovePool(ctx context.Context, name string) error {
	all, err := documents[school.Assignment](ctx, s, assignments, m{}, by("_id"), 0)
	if err != nil {
		return err
	}
	var users []string
	for i := range all {
		if all[i].Pool == name {
			users = append(users, "assignment "+all[i].Name())
		}
	}
	types, err := s.JobTypes(ctx)
	if err != nil {
		return err
	}
	for i := range types {
		if types[i].Pool == name {
			users = append(users, "job type "+types[i].Name)
		}
	}
	waiting, err := some[request](ctx, s, requests, m{"pool": name, "state": core.RequestQueued}, by("_id"), usedBy, "_id")
	if err != nil {
		return err
	}
	for _, id := range idsOf(waiting) {
		users = append(users, "request "+id)
	}
	for after := ""; len(users) < usedBy; {
		open, err := s.OpenBatches(ctx, after, 1)
		if err != nil {
			return err
		}
		if len(open) == 0 {
			break
		}
		if after = open[0].ID; slices.ContainsFunc(open[0].Specs, func(spec core.Spec) bool { return spec.Pool == name }) {
			users = append(users, "batch "+after)
		}
	}
	c, err := s.Calendar(ctx, 0)
	if err != nil {
		return err
	}
	for i := range c.Leases {
		if c.Leases[i].Reserves(name) {
			users = append(users, "lease "+c.Leases[i].ID)
		}
	}
	if err := core.PoolUsed(name, users[:min(len(users), usedBy)]); err != nil {
		return err
	}
	_, err = s.remove(ctx, pools, m{"_id": name})
	return err
}
