package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"strings"

	"drover/core"
	"drover/core/store/bounds"
)

// PutHostGroup makes or changes a group of hosts, see core.Instances.
func (s *Store) PutHostGroup(ctx context.Context, g core.HostGroup) (int64, error) {
	if err := cmp.Or(core.CheckName("host group", g.Name), core.CheckRevision(g.Name, g.Revision)); err != nil {
		return 0, err
	}
	known := g.Revision
	g.Revision++
	doc, err := encode(g, g.Name)
	if err != nil {
		return 0, err
	}
	return commit(ctx, s.committer, g.Name, len(doc), func(t *tx) (int64, error) {
		if err := t.room(core.GroupQuota, g.Name, "SELECT count(*) FROM host_groups WHERE name <> ?", g.Name); err != nil {
			return 0, err
		}
		return t.put(revised{"host group " + g.Name, "host_groups", []column{{"name", g.Name}}, []column{{"doc", doc}}, known})
	})
}

// DeleteHostGroup removes a group of hosts, see core.Instances.
func (s *Store) DeleteHostGroup(ctx context.Context, name string) error {
	_, err := commit(ctx, s.committer, name, 0, func(t *tx) (int, error) {
		if is, err := t.any("SELECT 1 FROM instances WHERE family = ? AND state <> ?", name, core.InstanceTerminated); err != nil || is {
			return 0, cmp.Or(err, core.GroupInUse(name))
		}
		n, err := t.exec("DELETE FROM host_groups WHERE name = ?", name)
		if err == nil && n == 0 {
			err = core.NoHostGroup(name)
		}
		return n, err
	})
	return err
}

// HostGroups lists all groups of hosts, see core.Instances.
func (s *Store) HostGroups(ctx context.Context) ([]core.HostGroup, error) {
	return documents[core.HostGroup](ctx, s, "SELECT doc FROM host_groups ORDER BY name")
}

// PutInstance makes or moves an instance, see core.Instances.
func (s *Store) PutInstance(ctx context.Context, i core.Instance) (int64, error) {
	if err := cmp.Or(core.CheckNames("instance", i.ID, "host group", i.Group), core.CheckRevision(i.ID, i.Revision)); err != nil {
		return 0, err
	}
	known := i.Revision
	i.Revision++
	doc, err := encode(i, i.ID)
	if err != nil {
		return 0, err
	}
	ended := int64(0)
	if i.State == core.InstanceTerminated {
		ended = i.Since
	}
	return commit(ctx, s.committer, i.ID, len(doc), func(t *tx) (int64, error) {
		if err := t.moveInstance(&i, known); err != nil {
			return 0, err
		}
		columns := []column{{"family", i.Group}, {"state", i.State}, {"ended", ended}, {"doc", doc}}
		return t.put(revised{"instance " + i.ID, "instances", []column{{"id", i.ID}}, columns, known})
	})
}

// moveInstance checks what an instance is to become, unless it is not of the known revision, which putting it refuses.
func (t *tx) moveInstance(i *core.Instance, known int64) error {
	if known == 0 {
		is, err := t.any("SELECT 1 FROM host_groups WHERE name = ?", i.Group)
		if err == nil && !is {
			err = core.NoHostGroup(i.Group)
		}
		return cmp.Or(err, i.CheckMove(nil))
	}
	var doc []byte
	err := t.one("SELECT doc FROM instances WHERE id = ? AND revision = ?", []any{i.ID, known}, &doc)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	var was core.Instance
	if err == nil {
		err = decode(doc, &was, i.ID)
	}
	if err != nil {
		return err
	}
	return i.CheckMove(&was)
}

// GetInstance returns an instance, see core.Instances.
func (s *Store) GetInstance(ctx context.Context, id string) (core.Instance, error) {
	return single[core.Instance](ctx, s, core.NoInstance(id), "SELECT doc FROM instances WHERE id = ?", id)
}

// ListInstances lists instances, see core.Instances.
func (s *Store) ListInstances(ctx context.Context, f core.InstanceFilter) ([]core.Instance, error) {
	limit, err := bounds.Instances(f)
	if err != nil {
		return nil, err
	}
	where, args := []string{"1"}, []any{}
	if f.Group != "" {
		where, args = append(where, "family = ?"), append(args, f.Group)
	}
	if len(f.States) > 0 {
		where, args = append(where, oneOf("state", len(f.States))), appendAll(args, f.States)
	}
	if f.Before != "" {
		where, args = append(where, "id < ?"), append(args, f.Before)
	}
	return documents[core.Instance](ctx, s, "SELECT doc FROM instances WHERE "+strings.Join(where, " AND ")+" ORDER BY id DESC LIMIT ?", append(args, limit)...)
}
