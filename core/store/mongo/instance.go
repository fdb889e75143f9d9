package mongo

import (
	"cmp"
	"context"

	"drover/core"
	"drover/core/store/bounds"
)

// PutHostGroup makes or changes a group of hosts, see core.Instances. (Concurrent calls may create a few more than the
// maximum.)
func (s *Store) PutHostGroup(ctx context.Context, g core.HostGroup) (int64, error) {
	if err := cmp.Or(core.CheckName("host group", g.Name), core.CheckRevision(g.Name, g.Revision)); err != nil {
		return 0, err
	}
	r := revised{what: "host group " + g.Name, in: hostGroups, id: g.Name, name: g.Name, revision: g.Revision}
	g.Revision++
	doc, err := encode(g, g.Name)
	if err != nil {
		return 0, err
	}
	r.fields = m{"json": doc}
	if err := s.room(ctx, core.GroupQuota, g.Name, hostGroups, m{"_id": m{"$ne": g.Name}, "gone": absent}); err != nil {
		return 0, err
	}
	return s.revise(ctx, r)
}

// DeleteHostGroup removes a group of hosts, see core.Instances.
func (s *Store) DeleteHostGroup(ctx context.Context, name string) error {
	return s.delete(ctx, deletion{
		what: "host group " + name, in: hostGroups, id: name, none: core.NoHostGroup(name),
		hindered: func(ctx context.Context) error {
			n, err := s.count(ctx, instances, m{"group": name, "state": m{"$ne": core.InstanceTerminated}}, 1)
			if err == nil && n > 0 {
				err = core.GroupInUse(name)
			}
			return err
		},
	})
}

// HostGroups lists all groups of hosts, see core.Instances.
func (s *Store) HostGroups(ctx context.Context) ([]core.HostGroup, error) {
	return documents[core.HostGroup](ctx, s, hostGroups, m{}, by("_id"), 0)
}

// openGroup returns nil if an instance may belong to the group.
func (s *Store) openGroup(ctx context.Context, name string) error {
	return s.open(ctx, hostGroups, name, "host group "+name, core.NoHostGroup(name))
}

// PutInstance makes or moves an instance, see core.Instances.
func (s *Store) PutInstance(ctx context.Context, i core.Instance) (int64, error) {
	if err := cmp.Or(core.CheckNames("instance", i.ID, "host group", i.Group), core.CheckRevision(i.ID, i.Revision)); err != nil {
		return 0, err
	}
	r := revised{what: "instance " + i.ID, in: instances, id: i.ID, name: i.ID, revision: i.Revision}
	i.Revision++
	doc, err := encode(i, i.ID)
	if err != nil {
		return 0, err
	}
	ended := int64(0)
	if i.State == core.InstanceTerminated {
		ended = i.Since
	}
	r.fields = m{"group": i.Group, "state": i.State, "ended": ended, "json": doc}
	if r.revision == 0 {
		return s.newInstance(ctx, &i, r)
	}
	there, err := documents[core.Instance](ctx, s, instances, m{"_id": i.ID, "revision": r.revision}, nil, 1)
	if err == nil && len(there) == 1 {
		err = i.CheckMove(&there[0])
	}
	if err != nil {
		return 0, err
	}
	return s.revise(ctx, r)
}

// newInstance makes an instance, and removes it again if its group was deleted meanwhile.
func (s *Store) newInstance(ctx context.Context, i *core.Instance, r revised) (int64, error) {
	if err := cmp.Or(s.openGroup(ctx, i.Group), i.CheckMove(nil)); err != nil {
		return 0, err
	}
	revision, err := s.revise(ctx, r)
	if err != nil {
		return 0, err
	}
	if err := s.openGroup(ctx, i.Group); err != nil {
		_, failed := s.remove(ctx, instances, m{"_id": i.ID, "revision": revision})
		return 0, cmp.Or(failed, err)
	}
	return revision, nil
}

// GetInstance returns an instance, see core.Instances.
func (s *Store) GetInstance(ctx context.Context, id string) (core.Instance, error) {
	return single[core.Instance](ctx, s, core.NoInstance(id), instances, m{"_id": id})
}

// ListInstances lists instances, see core.Instances.
func (s *Store) ListInstances(ctx context.Context, f core.InstanceFilter) ([]core.Instance, error) {
	limit, err := bounds.Instances(f)
	if err != nil {
		return nil, err
	}
	which := selection(map[string]string{"group": f.Group})
	if len(f.States) > 0 {
		which["state"] = m{"$in": f.States}
	}
	if f.Before != "" {
		which["_id"] = m{"$lt": f.Before}
	}
	return documents[core.Instance](ctx, s, instances, which, by("-_id"), limit)
}

// purgeInstances deletes at most limit instances that were terminated before a time.
func (s *Store) purgeInstances(ctx context.Context, before int64, limit int) (int, error) {
	old := m{"ended": m{"$gt": 0, "$lt": before}}
	docs, err := some[document](ctx, s, instances, old, by("ended", "_id"), limit, "_id")
	if err != nil || len(docs) == 0 {
		return 0, err
	}
	ids := make([]string, len(docs))
	for i := range docs {
		ids[i] = docs[i].ID
	}
	old["_id"] = m{"$in": ids}
	return s.remove(ctx, instances, old)
}
