package api

import (
	"context"
	"errors"
	"net/http"

	"drover/core"
	"drover/core/cluster/lease"
	"drover/core/school"
)

func leaseTable() []entry {
	return []entry{
		is(Operation{"listLeases", get, "/leases", "", school.ScopeRead, 0, "List the leases that the caller may see, newest first"}, (*server).listLeases),
		is(Operation{"createLease", post, "/leases", core.ActLeaseManage, school.ScopeCluster, 201, "Reserve units of pools, or whole hosts, for a time"}, (*server).createLease),
		is(Operation{"previewLease", post, "/leases/preview", core.ActLeaseManage, school.ScopeCluster, 0, "Return the lease that would be created, with the hosts that it would get, or what is free when; nothing is reserved"}, (*server).previewLease),
		is(Operation{"viewLease", get, "/leases/{id}", core.ActLeaseView, school.ScopeRead, 0, "Return a lease: its state, reservations, allocations, events and log"}, (*server).viewLease),
		is(Operation{"changeLease", patch, "/leases/{id}", core.ActLeaseManage, school.ScopeCluster, 0, "Change the given fields of a lease"}, (*server).changeLease),
		is(Operation{"deleteLease", remove, "/leases/{id}", core.ActLeaseManage, school.ScopeCluster, 0, "Delete a lease; an active one ends first, and stays in state deleting until nothing of it is left"}, (*server).deleteLease),
		is(Operation{"viewCalendar", get, "/calendar", core.ActClusterView, school.ScopeRead, 0, "Return what leases hold on which host when, what is free, and what is due"}, (*server).viewCalendar),
	}
}

// day and calendarDays are of the calendar that is shown if none is asked for.
const (
	day          = int64(24 * 3600_000) // ms
	calendarDays = 7
)

// taken makes FULL a conflict: with the same leases the same call is refused again, so no program should repeat it as it
// does where a site is busy.
func taken(err error) error {
	var full *core.Error
	if !errors.As(err, &full) || full.Code != core.CodeFull {
		return err
	}
	return newProblem(http.StatusConflict, &core.Error{Code: full.Code, ID: full.ID, Text: err.Error()})
}

func (s *server) listLeases(ctx context.Context, a core.Actor, in *struct {
	Cursor
	Class  string            `query:"class" maxLength:"64" doc:"only those of this class"`
	States []core.LeaseState `query:"state" maxItems:"7" enum:"pending,starting,active,terminating,terminated,deleting,error" doc:"only those in these states, separated by commas"`
	From   int64             `query:"from_ms" minimum:"0" doc:"only those that end after it, ms since 1970"`
	To     int64             `query:"to_ms" minimum:"0" doc:"only those that start before it, ms since 1970"`
},
) (*listed[core.Lease], error) {
	of, err := s.LeaseService()
	if err != nil {
		return nil, err
	}
	found, err := of.List(ctx, a, core.LeaseFilter{Class: in.Class, States: in.States, From: in.From, To: in.To, Before: in.Cursor.Cursor, Limit: in.more()})
	if err != nil {
		return nil, err
	}
	return paged(ctx, in.Cursor, found, func(l *core.Lease) string { return l.ID }), nil
}

// leased is the answer with a new lease.
type leased struct {
	Location string `header:"Location"`
	Body     core.Lease
}

func (s *server) createLease(ctx context.Context, a core.Actor, in *struct{ Body lease.Draft }) (*leased, error) {
	of, err := s.LeaseService()
	if err != nil {
		return nil, err
	}
	l, err := of.Create(ctx, a, in.Body)
	if err != nil {
		return nil, taken(err)
	}
	return &leased{at("leases", l.ID), l}, nil
}

func (s *server) previewLease(ctx context.Context, a core.Actor, in *struct{ Body lease.Draft }) (*answer[core.Lease], error) {
	of, err := s.LeaseService()
	if err != nil {
		return nil, err
	}
	l, err := of.Preview(ctx, a, in.Body)
	return answered(l, taken(err))
}

func (s *server) viewLease(ctx context.Context, a core.Actor, in *One) (*answer[core.Lease], error) {
	of, err := s.LeaseService()
	if err != nil {
		return nil, err
	}
	return answered(of.Get(ctx, a, in.ID))
}

func (s *server) changeLease(ctx context.Context, a core.Actor, in *struct {
	One
	Body lease.Change
},
) (*answer[core.Lease], error) {
	of, err := s.LeaseService()
	if err != nil {
		return nil, err
	}
	l, err := of.Update(ctx, a, in.ID, in.Body)
	return answered(l, taken(err))
}

func (s *server) deleteLease(ctx context.Context, a core.Actor, in *One) (*done, error) {
	of, err := s.LeaseService()
	if err != nil {
		return nil, err
	}
	return &done{}, of.Delete(ctx, a, in.ID)
}

func (s *server) viewCalendar(ctx context.Context, a core.Actor, in *struct {
	From int64  `query:"from_ms" minimum:"0" doc:"begin, ms since 1970; omit for now"`
	To   int64  `query:"to_ms" minimum:"0" doc:"end, ms since 1970; omit for a week after the begin"`
	Pool string `query:"pool" maxLength:"63" doc:"also how many units of this pool are free when"`
},
) (*answer[lease.View], error) {
	of, err := s.LeaseService()
	if err != nil {
		return nil, err
	}
	from, to := in.From, in.To
	if from == 0 {
		from = s.Now().UnixMilli()
	}
	if to == 0 {
		to = from + calendarDays*day
	}
	return answered(of.View(ctx, a, from, to, in.Pool))
}
