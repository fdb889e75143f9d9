package lease_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cluster/lease"
)

func ptr[T any](v T) *T { return &v }

// What may change in which state (B17). A refused change leaves all as it was.
func TestUpdate(t *testing.T) {
	t.Parallel()
	hour := time.Hour
	for name, one := range map[string]struct {
		change func(s *site) lease.Change
		codes  map[core.LeaseState]core.Code // absent: it works
	}{
		"name": {func(*site) lease.Change { return lease.Change{Name: ptr("final exam")} }, nil},
		"nothing": {func(*site) lease.Change { return lease.Change{} }, map[core.LeaseState]core.Code{
			core.LeasePending: core.CodeInvalid, core.LeaseStarting: core.CodeInvalid, core.LeaseActive: core.CodeInvalid, core.LeaseTerminating: core.CodeInvalid, core.LeaseTerminated: core.CodeInvalid,
		}},
		"start": {func(s *site) lease.Change { return lease.Change{Start: ptr(s.in(hour / 2))} }, passing(core.LeasePending)},
		"end":   {func(s *site) lease.Change { return lease.Change{End: ptr(s.in(5 * hour))} }, passing(core.LeasePending, core.LeaseActive)},
		"class": {func(*site) lease.Change { return lease.Change{Class: ptr("cs2")} }, passing(core.LeasePending, core.LeaseActive)},
		"grace": {func(*site) lease.Change { return lease.Change{Grace: ptr(time.Minute)} }, passing(core.LeasePending, core.LeaseActive)},
		"more": {func(*site) lease.Change {
			return lease.Change{Reservations: &[]lease.Want{{Pools: []string{"py"}, Units: 4}}}
		}, passing(core.LeasePending, core.LeaseActive)},
		"another reservation": {func(*site) lease.Change {
			return lease.Change{Reservations: &[]lease.Want{{Pools: []string{"py"}, Units: 1}, {Pools: []string{"py"}, MinHosts: 1}}}
		}, passing(core.LeasePending, core.LeaseActive)},
		"none left": {func(*site) lease.Change { return lease.Change{Reservations: &[]lease.Want{}} }, map[core.LeaseState]core.Code{
			core.LeasePending: core.CodeInvalid, core.LeaseStarting: core.CodeConflict, core.LeaseActive: core.CodeConflict, core.LeaseTerminating: core.CodeConflict, core.LeaseTerminated: core.CodeConflict,
		}},
		"other hosts": {func(*site) lease.Change {
			return lease.Change{Reservations: &[]lease.Want{{Pools: []string{"py"}, Units: 1, Requires: "zone=b"}}}
		}, passing(core.LeasePending)},
	} {
		for _, state := range []core.LeaseState{core.LeasePending, core.LeaseStarting, core.LeaseActive, core.LeaseTerminating, core.LeaseTerminated} {
			s := newSite(t)
			was := s.inState(t, state)
			l, err := s.Update(t.Context(), operator, was.ID, one.change(s))
			require.Equal(t, one.codes[state], core.CodeOf(err), "%s of a lease that is %s: %v", name, state, err)
			if err != nil {
				require.Equal(t, was, s.leases[was.ID], "%s %s", name, state)
				continue
			}
			require.Equal(t, l, s.leases[was.ID])
			require.NotEqual(t, was, l)
			for i := range l.Reservations {
				require.GreaterOrEqual(t, l.Reservations[i].Held(), l.Reservations[i].Needs()*len(open(l.Reservations[i])), "%s %s", name, state)
			}
			require.Equal(t, l.End, l.Event(core.EventEnd).At)
			require.Equal(t, core.EventLeaseUpdated, l.Log[len(l.Log)-1].Event)
		}
	}
}

// passing are the codes of a change that only leases in the given states take.
func passing(states ...core.LeaseState) map[core.LeaseState]core.Code {
	codes := map[core.LeaseState]core.Code{
		core.LeasePending: core.CodeConflict, core.LeaseStarting: core.CodeConflict, core.LeaseActive: core.CodeConflict,
		core.LeaseTerminating: core.CodeConflict, core.LeaseTerminated: core.CodeConflict,
	}
	for _, s := range states {
		delete(codes, s)
	}
	return codes
}

// open is one of a reservation that holds something, none of another.
func open(r core.Reservation) []struct{} {
	if r.State == core.ReservationDeleted {
		return nil
	}
	return make([]struct{}, 1)
}

func TestAnUpdateThatDoesNotFit(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	l := s.inState(t, core.LeaseActive)
	_, err := s.Create(t.Context(), operator, s.draft(12, 2, 3))
	require.NoError(t, err)
	s.now = s.now.Add(90 * time.Minute)
	for _, c := range []lease.Change{
		{End: ptr(s.in(time.Hour))},
		{Reservations: &[]lease.Want{{Pools: []string{"py"}, Units: 13}}},
		{Grace: ptr(time.Minute)},
	} {
		_, err := s.Update(t.Context(), operator, l.ID, c)
		require.Error(t, err)
		require.Contains(t, []core.Code{core.CodeFull, core.CodeInvalid}, core.CodeOf(err), "%v", err)
		require.Equal(t, l, s.leases[l.ID])
	}
	for _, c := range []lease.Change{
		{End: ptr(s.in(-time.Hour))},
		{Reservations: &[]lease.Want{{Pools: []string{"c"}, Units: 1}}},
	} {
		_, err := s.Update(t.Context(), operator, l.ID, c)
		requireCode(t, core.CodeInvalid, err)
	}
	l, err = s.Update(t.Context(), operator, l.ID, lease.Change{End: ptr(s.in(0))})
	require.NoError(t, err, "it may end now")
	require.Equal(t, []lease.DueEvent{{Lease: l.ID, Kind: core.EventEnd, At: l.End}}, lease.NextEvents([]core.Lease{l}, s.in(0)))
}

// A reservation that was removed has no place any more.
func TestReservationsComeAndGo(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	one, two := lease.Want{Pools: []string{"py"}, Units: 1}, lease.Want{Pools: []string{"py"}, Units: 2}
	d := s.draft(1, 1, 2)
	d.Reservations = []lease.Want{one, two}
	l, err := s.Create(t.Context(), operator, d)
	require.NoError(t, err)
	for _, wants := range [][]lease.Want{{one}, {one, two}, {two}, {one, one, one}} {
		l, err = s.Update(t.Context(), operator, l.ID, lease.Change{Reservations: &wants})
		require.NoError(t, err)
		var has []int
		for i := range l.Reservations {
			if l.Reservations[i].State == core.ReservationPending {
				require.Equal(t, l.Reservations[i].Units, l.Reservations[i].Held())
				has = append(has, l.Reservations[i].Units)
			}
		}
		var asked []int
		for _, w := range wants {
			asked = append(asked, w.Units)
		}
		require.Equal(t, asked, has)
	}
}
