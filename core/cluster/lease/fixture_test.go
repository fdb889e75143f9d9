package lease_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"drover/core"
	"drover/core/cluster/lease"
)

// memory is a store of leases.
type memory struct {
	revision int64
	leases   map[string]core.Lease
	entries  []core.AuditEntry
	before   func() // called before each write, once
}

func (s *memory) Calendar(_ context.Context, known int64) (core.Calendar, error) {
	c := core.Calendar{Revision: s.revision}
	if known == s.revision {
		return c, nil
	}
	for _, l := range s.leases {
		if l.State.Open() {
			c.Leases = append(c.Leases, l.Clone())
		}
	}
	slices.SortFunc(c.Leases, func(a, b core.Lease) int { return cmp.Or(cmp.Compare(a.Start, b.Start), strings.Compare(a.ID, b.ID)) })
	return c, nil
}

// write has a write done if nobody wrote since.
func (s *memory) write(revision int64, do func() error) (int64, error) {
	if before := s.before; before != nil {
		s.before = nil
		before()
	}
	if revision != s.revision {
		return 0, core.Errorf(core.CodeConflict, "", "the calendar was changed")
	}
	if err := do(); err != nil {
		return 0, err
	}
	s.revision++
	return s.revision, nil
}

func (s *memory) PutLease(_ context.Context, revision int64, l core.Lease) (int64, error) {
	return s.write(revision, func() error {
		var was *core.Lease
		if there, ok := s.leases[l.ID]; ok {
			was = &there
		}
		if err := cmp.Or(l.Check(), l.CheckMove(was)); err != nil {
			return err
		}
		s.leases[l.ID] = l.Clone()
		return nil
	})
}

func (s *memory) DeleteLease(_ context.Context, revision int64, id string, _ core.LeaseNote) (int64, error) {
	return s.write(revision, func() error {
		delete(s.leases, id)
		return nil
	})
}

func (s *memory) GetLease(_ context.Context, id string) (core.Lease, error) {
	l, ok := s.leases[id]
	if !ok {
		return core.Lease{}, core.Errorf(core.CodeNotFound, id, "there is no lease %s", id)
	}
	return l.Clone(), nil
}

func (s *memory) ListLeases(_ context.Context, f core.LeaseFilter) ([]core.Lease, error) {
	var all []core.Lease
	for _, l := range s.leases {
		inside := (f.To == 0 || l.Start < f.To) && l.End > f.From
		if inside && (f.Class == "" || f.Class == l.Class) && (f.Before == "" || l.ID < f.Before) && (len(f.States) == 0 || slices.Contains(f.States, l.State)) {
			all = append(all, l.Clone())
		}
	}
	slices.SortFunc(all, func(a, b core.Lease) int { return strings.Compare(b.ID, a.ID) })
	return all[:min(len(all), cmp.Or(f.Limit, 50))], nil
}

func (s *memory) AddAuditEntry(_ context.Context, d core.AuditEntry) error {
	s.entries = append(s.entries, d)
	return nil
}

func (s *memory) GetWebhook(_ context.Context, id string) (core.Webhook, error) {
	class, known := map[string]string{"hook": "", "its-hook": "cs1", "other-hook": "cs2"}[id]
	if !known {
		return core.Webhook{}, core.NoWebhook(id)
	}
	return core.Webhook{ID: id, Class: class}, nil
}

// site is a Service with its surroundings.
type site struct {
	lease.Service
	*memory

	hosts []core.HostInfo
	pools []core.Pool
	now   time.Time
}

func (s *site) ListHosts(context.Context) ([]core.HostInfo, error) { return s.hosts, nil }
func (s *site) ListPools(context.Context) ([]core.Pool, error)     { return s.pools, nil }

// newSite has three hosts with room for four VMs of pool py each.
func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{memory: &memory{leases: make(map[string]core.Lease)}, now: time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)}
	py := core.DefaultPool("py")
	for i := range 3 {
		s.hosts = append(s.hosts, core.HostInfo{
			Name: fmt.Sprintf("h%d", i+1), State: core.HostUp, Ready: true, CPU: 4, Memory: 4 * py.Limits.Memory, Disk: 1 << 40, Serves: []string{"py"},
			Settings: core.HostSettings{Reserve: &core.Size{}, Labels: map[string]string{"zone": []string{"a", "a", "b"}[i]}},
		})
	}
	s.pools = []core.Pool{py}
	ids := 0
	s.Service = lease.Service{
		Store: s.memory, Cluster: s, Now: func() time.Time { return s.now },
		NewID: func() string { ids++; return fmt.Sprintf("l%03d", ids) },
		Webhooks: func(_ context.Context, class string) ([]string, error) {
			if class != "cs1" && class != "cs2" {
				return nil, core.Errorf(core.CodeNotFound, class, "there is no class %s", class)
			}
			return map[string][]string{"cs1": {"its-hook"}}[class], nil
		},
	}
	return s
}

func (s *site) in(d time.Duration) int64 { return s.now.Add(d).UnixMilli() }

// draft reserves units of py for class cs1, from one hour from now to another one.
func (s *site) draft(units, from, to int) lease.Draft {
	return lease.Draft{
		Name: "exam", Class: "cs1", Start: s.in(time.Duration(from) * time.Hour), End: s.in(time.Duration(to) * time.Hour),
		Reservations: []lease.Want{{Pools: []string{"py"}, Units: units}},
	}
}

var (
	operator = core.Actor{Handle: "olga", Roles: []core.UserRole{core.RoleOperator}}
	admin    = core.Actor{Handle: "root", Roles: []core.UserRole{core.RoleAdmin}}
	teacher  = core.Actor{Handle: "tess", In: map[string]core.UserRole{"cs1": core.RoleTeacher}}
	student  = core.Actor{Handle: "stu", In: map[string]core.UserRole{"cs1": core.RoleStudent}}
	runner   = core.Actor{Handle: "bot", Roles: []core.UserRole{core.RoleRunner}}
)
