package lease

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"drover/core"
	"drover/core/account/auditlog"
)

// Service is what users do with leases. The fields are set once; all methods are safe for concurrent use.
type Service struct {
	Store   Store
	Cluster Cluster
	Now     func() time.Time // by the server's clock
	NewID   func() string    // nil: lower-case ULIDs
	Rules   Rules

	// Webhooks returns the webhooks of a class that ask for events of leases, and NOTFOUND for an unknown class; nil:
	// no class is known.
	Webhooks func(ctx context.Context, class string) ([]string, error)
	// Due returns what is due in a time and the actor may see; nil: nothing.
	Due func(ctx context.Context, a core.Actor, from, to int64) ([]Due, error)
}

// Store is what leases need of the result store.
type Store interface {
	core.Leases
	AddAuditEntry(ctx context.Context, d core.AuditEntry) error
	GetWebhook(ctx context.Context, id string) (core.Webhook, error)
}

// Cluster is what leases are decided by.
type Cluster interface {
	ListHosts(ctx context.Context) ([]core.HostInfo, error)
	ListPools(ctx context.Context) ([]core.Pool, error)
}

// Rules are settings about leases, the same in the whole cluster.
type Rules struct {
	Lead     time.Duration // so long before a lease starts its VMs are made
	Healing  time.Duration // leases that start within it are healed at once; 0: all
	Cleaning time.Duration // between two leases of the same room
	Longest  time.Duration // of leases of those who are no administrators; 0: core.MaxLeaseTime
}

// DefaultRules are those that nobody has set.
func DefaultRules() Rules { return Rules{Lead: 15 * time.Minute, Healing: time.Hour} }

// tries bounds how often a change is decided anew because another one was faster.
const tries = 8

// Preview returns the lease that Create would make. Returns INVALID, FORBIDDEN, and FULL with what is free when.
func (s *Service) Preview(ctx context.Context, a core.Actor, d Draft) (core.Lease, error) {
	l, err := s.draft(ctx, a, d)
	if err != nil {
		return core.Lease{}, err
	}
	g, _, err := s.ground(ctx)
	if err != nil {
		return core.Lease{}, err
	}
	return g.Allocate(l)
}

// Create makes a lease. Returns the errors of Preview, and LIMIT if there are too many.
func (s *Service) Create(ctx context.Context, a core.Actor, d Draft) (core.Lease, error) {
	l, err := s.draft(ctx, a, d)
	if err != nil {
		return core.Lease{}, err
	}
	text := fmt.Sprintf("reserves %s for %s from %s to %s", describe(l.Reservations), holders(l), moment(l.Start), moment(l.End))
	err = s.change(ctx, a, &l, text, func(g Ground) (core.Lease, error) {
		made := l.Clone()
		Note(&made, g.Now, core.EventLeaseCreated, a.Handle+" "+text, a.Handle)
		return g.Allocate(made)
	})
	return l, err
}

// Delete removes a lease; one that is active ends first. Returns FORBIDDEN, NOTFOUND, and CONFLICT while it starts or
// ends.
func (s *Service) Delete(ctx context.Context, a core.Actor, id string) error {
	l, err := s.managed(ctx, a, id)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("deletes lease %s (%s)", id, l.Name)
	return s.log(ctx, a, id, text, func() error {
		return s.decide(ctx, func(g Ground, revision int64) error {
			l, err := s.Store.GetLease(ctx, id)
			if err != nil {
				return err
			}
			switch l.State {
			case core.LeaseDeleting:
				return nil
			case core.LeaseStarting, core.LeaseTerminating:
				return core.Errorf(core.CodeConflict, id, "lease %s is %s just now: try again once that is done", id, l.State)
			case core.LeaseActive:
				l.State = core.LeaseDeleting
				Note(&l, g.Now, core.EventLeaseUpdated, a.Handle+" deletes it: it ends now", a.Handle)
				_, err = s.Store.PutLease(ctx, revision, l)
			default:
				_, err = s.Store.DeleteLease(ctx, revision, id, LastNote(l, g.Now, a.Handle+" deleted it", a.Handle))
			}
			return err
		})
	})
}

// Get returns NOTFOUND for an unknown id, and for one that the actor may not see.
func (s *Service) Get(ctx context.Context, a core.Actor, id string) (core.Lease, error) {
	if err := core.CheckName("lease", id); err != nil {
		return core.Lease{}, err
	}
	l, err := s.Store.GetLease(ctx, id)
	if err == nil && !sees(a, &l) {
		err = noLease(id)
	}
	if err != nil {
		return core.Lease{}, err
	}
	return l, nil
}

// managed returns a lease that the actor may change.
func (s *Service) managed(ctx context.Context, a core.Actor, id string) (core.Lease, error) {
	l, err := s.Get(ctx, a, id)
	if err == nil {
		err = core.Allow(a, core.ActLeaseManage, object(&l))
	}
	return l, err
}

// List lists the leases that the actor may see, newest first.
func (s *Service) List(ctx context.Context, a core.Actor, f core.LeaseFilter) ([]core.Lease, error) {
	limit := cmp.Or(f.Limit, 50)
	if limit < 1 || limit > 1000 {
		return nil, core.Errorf(core.CodeInvalid, "limit", "limit %d must be between 1 and 1000", f.Limit)
	}
	var seen []core.Lease
	for f.Limit = 1000; len(seen) < limit; {
		some, err := s.Store.ListLeases(ctx, f)
		if err != nil {
			return nil, err
		}
		for i := range some {
			f.Before = some[i].ID
			if sees(a, &some[i]) && len(seen) < limit {
				seen = append(seen, some[i])
			}
		}
		if len(some) < f.Limit {
			break
		}
	}
	return seen, nil
}

// sees reports whether the actor may look at a lease: who watches the cluster, the staff of its class, and its holders.
func sees(a core.Actor, l *core.Lease) bool {
	return core.Allow(a, core.ActLeaseView, object(l)) == nil || l.Holder(a.Handle, "")
}

func object(l *core.Lease) core.Object { return core.Object{Class: l.Class, Owner: l.By} }

// ground reads what a lease is decided by, and the calendar's revision.
func (s *Service) ground(ctx context.Context) (Ground, int64, error) {
	cal, err := s.Store.Calendar(ctx, 0)
	if err != nil {
		return Ground{}, 0, err
	}
	hosts, err := s.Cluster.ListHosts(ctx)
	if err != nil {
		return Ground{}, 0, err
	}
	pools, err := s.Cluster.ListPools(ctx)
	if err != nil {
		return Ground{}, 0, err
	}
	return NewGround(s.Now().UnixMilli(), hosts, pools, cal.Leases, s.Rules), cal.Revision, nil
}

// decide has a change decided by the calendar as it is, and anew if another one was written meanwhile.
func (s *Service) decide(ctx context.Context, decided func(g Ground, revision int64) error) error {
	for try := 1; ; try++ {
		g, revision, err := s.ground(ctx)
		if err != nil {
			return err
		}
		err = decided(g, revision)
		if !core.Is(err, core.CodeConflict) || try == tries {
			return err
		}
		if cal, failed := s.Store.Calendar(ctx, revision); failed != nil || cal.Revision == revision {
			return err // it was not the calendar
		}
	}
}

// change has a lease decided, written and recorded.
func (s *Service) change(ctx context.Context, a core.Actor, l *core.Lease, text string, decided func(g Ground) (core.Lease, error)) error {
	return s.log(ctx, a, l.ID, text, func() error {
		return s.decide(ctx, func(g Ground, revision int64) error {
			next, err := decided(g)
			if err != nil {
				return err
			}
			if err := next.Check(); err != nil {
				return err
			}
			if _, err := s.Store.PutLease(ctx, revision, next); err != nil {
				return err
			}
			*l = next
			return nil
		})
	})
}

func (s *Service) log(ctx context.Context, a core.Actor, id, text string, do func() error) error {
	book := auditlog.Log{Store: s.Store, Now: s.Now, NewID: s.NewID}
	return book.Do(ctx, a, core.AuditEntry{Action: core.ActLeaseManage, Subject: id, Text: text}, do)
}

// draft checks a draft and makes the lease, without allocations. Returns INVALID, FORBIDDEN, NOTFOUND.
func (s *Service) draft(ctx context.Context, a core.Actor, d Draft) (core.Lease, error) {
	if err := core.Allow(a, core.ActLeaseManage, core.Object{Class: d.Class}); err != nil {
		return core.Lease{}, err
	}
	now := s.Now()
	l := core.Lease{
		ID: s.newID(), Name: strings.TrimSpace(d.Name), Class: d.Class, Submitters: slices.Clone(d.Submitters), By: a.Handle,
		Start: d.Start, End: d.End, BeforeEnd: d.BeforeEnd, Grace: d.Grace, State: core.LeasePending, Created: now.UnixMilli(),
	}
	var err error
	if l.Start, err = startOf(l.Start, now); err != nil {
		return core.Lease{}, err
	}
	for _, w := range d.Reservations {
		l.Reservations = append(l.Reservations, w.reservation())
	}
	if l.Notify, err = s.notified(ctx, d.Class, d.Notify); err != nil {
		return core.Lease{}, err
	}
	if err := s.Rules.check(a, &l); err != nil {
		return core.Lease{}, err
	}
	l.Events = NewEvents(l)
	return l, l.Check()
}

func (s *Service) newID() string {
	if s.NewID != nil {
		return s.NewID()
	}
	return strings.ToLower(ulid.Make().String())
}

// late is how long before now a start may be and still mean now: forms and clocks have minutes.
const late = time.Minute

// startOf returns when a lease starts: at the time that was asked for, or now.
func startOf(start int64, now time.Time) (int64, error) {
	switch ms := now.UnixMilli(); {
	case start == 0:
		return ms, nil
	case start < now.Add(-late).UnixMilli():
		return 0, core.Errorf(core.CodeInvalid, "start", "a lease cannot start in the past, at %s: it is %s by the server's clock", moment(start), moment(ms))
	default:
		return max(start, ms), nil
	}
}

// check returns INVALID for a lease that is too long.
func (r Rules) check(a core.Actor, l *core.Lease) error {
	if long := time.Duration(l.End-l.Start) * time.Millisecond; r.Longest > 0 && long > r.Longest && !a.Has(core.RoleAdmin) {
		return core.Errorf(core.CodeInvalid, "end", "the lease lasts %s, and the longest that an administrator need not make is %s", long, r.Longest)
	}
	return nil
}

// notified returns the webhooks that are told of a lease: those that are named, and the class's.
func (s *Service) notified(ctx context.Context, class string, named []string) ([]string, error) {
	all := slices.Clone(named)
	for _, id := range named {
		if err := core.CheckName("webhook", id); err != nil {
			return nil, err
		}
		w, err := s.Store.GetWebhook(ctx, id)
		if err != nil {
			return nil, err
		}
		if w.Class != "" && w.Class != class {
			return nil, core.Errorf(core.CodeInvalid, id, "webhook %s is told of what happens in class %s only", id, w.Class)
		}
	}
	if class != "" && s.Webhooks != nil {
		its, err := s.Webhooks(ctx, class)
		if err != nil {
			return nil, err
		}
		for _, id := range its {
			if !slices.Contains(all, id) && len(all) < core.MaxNotify {
				all = append(all, id)
			}
		}
	}
	return all, nil
}

func (w Want) reservation() core.Reservation {
	r := core.Reservation{
		Pools: slices.Clone(w.Pools), Units: w.Units, Affinity: w.Affinity, MinHosts: w.MinHosts, MaxHosts: w.MaxHosts, Requires: w.Requires,
		State: core.ReservationPending,
	}
	if r.WholeHosts() {
		r.MaxHosts = cmp.Or(r.MaxHosts, r.MinHosts)
	}
	return r
}

func noLease(id string) error {
	return core.Errorf(core.CodeNotFound, id, "there is no lease %.80q", id)
}
