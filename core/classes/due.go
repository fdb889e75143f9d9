package classes

import (
	"context"
	"slices"

	"drover/core"
	"drover/core/school"
)

// MaxDue bounds the deadlines that are listed.
const MaxDue = 500

// DueBetween returns the assignments that are due from one moment to another, ms since 1970: of all classes for who
// watches the cluster, else of those where the actor is on the staff. At most MaxDue.
func (r *Service) DueBetween(ctx context.Context, a core.Actor, from, to int64) ([]school.Assignment, error) {
	watches := core.Allow(a, core.ActClusterView, core.Object{}) == nil
	var due []school.Assignment
	for after := ""; ; {
		some, err := r.Store.ListClasses(ctx, after, page)
		if err != nil {
			return nil, err
		}
		for i := range some {
			after = some[i].Handle
			if !watches && !a.StaffOf(after) {
				continue
			}
			if due, err = r.dueIn(ctx, after, from, to, due); err != nil || len(due) >= MaxDue {
				return due, err
			}
		}
		if len(some) < page {
			return due, nil
		}
	}
}

// dueIn adds the assignments of a class that are due in a time.
func (r *Service) dueIn(ctx context.Context, class string, from, to int64, due []school.Assignment) ([]school.Assignment, error) {
	for after := ""; ; {
		some, err := r.Store.ListAssignments(ctx, class, after, page)
		if err != nil {
			return due, err
		}
		for i := range some {
			as := &some[i]
			after = as.Handle
			if as.Due >= from && as.Due < to && !as.Deleting && len(due) < MaxDue {
				due = append(due, *as)
			}
		}
		if len(some) < page {
			return due, nil
		}
	}
}

// LeaseWebhooks returns the webhooks of a class that ask for events of leases. Returns NOTFOUND for an unknown class.
func (r *Service) LeaseWebhooks(ctx context.Context, class string) ([]string, error) {
	if _, err := r.Store.GetClass(ctx, class); err != nil {
		return nil, err
	}
	var ids []string
	for _, event := range core.LeaseEvents() {
		some, err := r.notified(ctx, class, event)
		if err != nil {
			return nil, err
		}
		for _, id := range some {
			if !slices.Contains(ids, id) && len(ids) < core.MaxNotify {
				ids = append(ids, id)
			}
		}
	}
	return ids, nil
}
