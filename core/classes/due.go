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
func DueBetween(ctx context.Context, store Expecting, a core.Actor, from, to int64) ([]school.Assignment, error) {
	watches := core.Allow(a, core.ActClusterView, core.Object{}) == nil
	var due []school.Assignment
	for after := ""; ; {
		some, err := store.ListClasses(ctx, after, page)
		if err != nil {
			return nil, err
		}
		for i := range some {
			after = some[i].Handle
			if !watches && !a.StaffOf(after) {
				continue
			}
			if due, err = dueIn(ctx, store, after, from, to, due); err != nil || len(due) >= MaxDue {
				return due, err
			}
		}
		if len(some) < page {
			return due, nil
		}
	}
}

// dueIn adds the assignments of a class that are due in a time.
func dueIn(ctx context.Context, store Expecting, class string, from, to int64, due []school.Assignment) ([]school.Assignment, error) {
	for after := ""; ; {
		some, err := store.ListAssignments(ctx, class, after, page)
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

// Hooking is what LeaseWebhooks needs of the result store.
type Hooking interface {
	GetClass(ctx context.Context, handle string) (school.Class, error)
	ListWebhooks(ctx context.Context, class, after string, limit int) ([]core.Webhook, error)
}

// LeaseWebhooks returns the webhooks of a class that ask for events of leases. Returns NOTFOUND for an unknown class.
func LeaseWebhooks(ctx context.Context, store Hooking, class string) ([]string, error) {
	if _, err := store.GetClass(ctx, class); err != nil {
		return nil, err
	}
	var ids []string
	for after := ""; ; {
		hooks, err := store.ListWebhooks(ctx, class, after, page)
		if err != nil {
			return nil, err
		}
		for i := range hooks {
			after = hooks[i].ID
			asks := slices.ContainsFunc(core.LeaseEvents(), func(event string) bool { return slices.Contains(hooks[i].Events, event) })
			if asks && !hooks[i].Disabled && len(ids) < core.MaxNotify {
				ids = append(ids, after)
			}
		}
		if len(hooks) < page {
			return ids, nil
		}
	}
}
