package storetest

import (
	"context"
	"slices"
	"testing"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

// leaseTests are those of leases.
func leaseTests() []test {
	return []test{
		{"Leases", leases},
		{"LeasesRefuse", leasesRefuse},
		{"LeasesList", leasesList},
		{"LeasesDelete", leasesDelete},
		{"LeasesOutbox", leasesOutbox},
		{"LeasesPurge", leasesPurge},
		{"LeasesPools", leasesPools},
		{"RaceLeases", raceLeases},
		{"LeasesUnanswered", leasesUnanswered},
	}
}

const hour = int64(3_600_000)

// Lease makes a pending lease of a class.
func Lease(class string) core.Lease {
	return core.Lease{
		ID: NewID(), Name: "Übung", Class: class, By: "tom", Start: 10 * hour, End: 12 * hour, State: core.LeasePending, Created: 5,
		Reservations: []core.Reservation{{
			Pools: []string{"p"}, Units: 2, Affinity: core.AffinityFalse, Requires: "zone=a", State: core.ReservationPending,
			Allocations: []core.Allocation{{Host: "h1", Units: 2, State: core.AllocationHeld, Since: 5}},
		}},
		Events: []core.LeaseEvent{
			{Kind: core.EventStart, At: 10 * hour, State: core.EventUndone}, {Kind: core.EventEnd, At: 12 * hour, State: core.EventUndone},
		},
		Log: []core.LeaseNote{{Number: 1, At: 5, Event: core.EventLeaseCreated, Text: "made", By: "tom"}},
	}
}

// noted adds a note.
func noted(l core.Lease, event string) core.Lease {
	l.Log = append(slices.Clone(l.Log), core.LeaseNote{Number: l.LastNote() + 1, At: 6, Event: event})
	return l
}

// moved returns a lease in one of its next states, with what goes with it.
func moved(l core.Lease, to core.LeaseState) core.Lease {
	l.State, l.Events, l.Reservations = to, slices.Clone(l.Events), slices.Clone(l.Reservations)
	r, start, end := &l.Reservations[0], l.Event(core.EventStart), l.Event(core.EventEnd)
	switch to {
	case core.LeasePending, core.LeaseDeleting: // nothing else moves
	case core.LeaseStarting:
		start.State = core.EventInProgress
	case core.LeaseActive:
		start.State, r.State = core.EventDone, core.ReservationActive
	case core.LeaseTerminating:
		end.State = core.EventInProgress
	case core.LeaseTerminated:
		end.State, r.State, r.Allocations, l.Ended = core.EventDone, core.ReservationDeleted, nil, 13*hour
	case core.LeaseError:
		start.State, r.State, r.Allocations, l.Ended = core.EventError, core.ReservationError, nil, 13*hour
	}
	return l
}

// mustLease writes a lease on top of whatever the calendar is.
func mustLease(t *testing.T, s school.ResultStore, l core.Lease) core.Lease {
	t.Helper()
	now := calendarOf(t, s, 0).Revision
	next, err := s.PutLease(t.Context(), now, l)
	require.NoError(t, err)
	require.Equal(t, now+1, next)
	return l
}

// run moves a lease through states.
func run(t *testing.T, s school.ResultStore, l core.Lease, states ...core.LeaseState) core.Lease {
	t.Helper()
	for _, to := range states {
		l = mustLease(t, s, moved(l, to))
	}
	return l
}

func mustDeleteLease(t *testing.T, s school.ResultStore, id string) {
	t.Helper()
	_, err := s.DeleteLease(t.Context(), calendarOf(t, s, 0).Revision, id, core.LeaseNote{At: 9, Event: core.EventLeaseDeleted, By: "tom"})
	require.NoError(t, err)
}

func calendarOf(t *testing.T, s school.ResultStore, known int64) core.Calendar {
	t.Helper()
	c, err := s.Calendar(t.Context(), known)
	require.NoError(t, err)
	return c
}

func leasesOf(t *testing.T, s school.ResultStore, f core.LeaseFilter) []string {
	t.Helper()
	all, err := s.ListLeases(t.Context(), f)
	require.NoError(t, err)
	return leaseIDs(all)
}

func leaseIDs(all []core.Lease) []string {
	names := []string{}
	for i := range all {
		names = append(names, all[i].ID)
	}
	return names
}

func leases(t *testing.T, s school.ResultStore) {
	ctx := t.Context()
	empty := calendarOf(t, s, 0)
	require.Positive(t, empty.Revision)
	require.NotNil(t, empty.Leases)
	require.Empty(t, empty.Leases)
	require.Equal(t, core.Calendar{Revision: empty.Revision}, calendarOf(t, s, empty.Revision), "nothing changed")

	late, early := Lease("cs101"), Lease("cs102")
	early.Start, early.Events = 9*hour, []core.LeaseEvent{{Kind: core.EventStart, At: 9 * hour, State: core.EventUndone}, early.Events[1]}
	one, err := s.PutLease(ctx, empty.Revision, late)
	require.NoError(t, err)
	require.Equal(t, empty.Revision+1, one)
	_, err = s.PutLease(ctx, empty.Revision, early)
	requireCode(t, core.CodeConflict, err)
	two, err := s.PutLease(ctx, one, early)
	require.NoError(t, err)
	twin := Lease("cs103") // of the same start: in order of id
	three, err := s.PutLease(ctx, two, twin)
	require.NoError(t, err)
	for _, known := range []int64{0, one, three + 1} {
		require.Equal(t, core.Calendar{Revision: three, Leases: []core.Lease{early, late, twin}}, calendarOf(t, s, known))
	}
	require.Equal(t, core.Calendar{Revision: three}, calendarOf(t, s, three))

	got, err := s.GetLease(ctx, early.ID)
	require.NoError(t, err)
	require.Equal(t, early, got)
	got, err = s.ToldLease(ctx, early.ID)
	require.NoError(t, err)
	require.Equal(t, early, got)
	for _, get := range []func(context.Context, string) (core.Lease, error){s.GetLease, s.ToldLease} {
		_, err = get(ctx, NewID())
		requireCode(t, core.CodeNotFound, err)
	}

	early.Name = "another"
	early = run(t, s, early, core.LeaseStarting, core.LeaseActive, core.LeaseTerminating)
	got, err = s.GetLease(ctx, early.ID)
	require.NoError(t, err)
	require.Equal(t, early, got)
	require.Equal(t, []core.Lease{early, late, twin}, calendarOf(t, s, three).Leases)
	early = run(t, s, early, core.LeaseTerminated)
	late = run(t, s, late, core.LeaseStarting, core.LeaseError)
	require.Equal(t, core.Calendar{Revision: three + 6, Leases: []core.Lease{twin}}, calendarOf(t, s, three))
	early.Name = "what it was for"
	mustLease(t, s, early)
	got, err = s.GetLease(ctx, early.ID)
	require.NoError(t, err)
	require.Equal(t, early, got)
	require.Equal(t, []string{twin.ID, early.ID, late.ID}, leasesOf(t, s, core.LeaseFilter{}))
}

func leasesRefuse(t *testing.T, s school.ResultStore) {
	ctx := t.Context()
	l := mustLease(t, s, Lease("cs101"))
	now := calendarOf(t, s, 0)
	for name, bad := range map[string]func() (core.Code, core.Lease){
		"id": func() (core.Code, core.Lease) { b := l; b.ID = "A"; return core.CodeInvalid, b },
		"state": func() (core.Code, core.Lease) {
			return core.CodeConflict, moved(moved(l, core.LeaseStarting), core.LeaseActive)
		},
		"new and active": func() (core.Code, core.Lease) {
			b := moved(moved(l, core.LeaseStarting), core.LeaseActive)
			b.ID = NewID()
			return core.CodeConflict, b
		},
		"states together":  func() (core.Code, core.Lease) { b := l; b.Ended = 5; return core.CodeConflict, b },
		"notes before":     func() (core.Code, core.Lease) { b := l; b.Log = nil; return core.CodeConflict, b },
		"of somebody else": func() (core.Code, core.Lease) { b := l; b.By = "bob"; return core.CodeConflict, b },
		"large": func() (core.Code, core.Lease) {
			b := Lease("cs101")
			b.Name = string(make([]byte, core.MaxLeaseBytes/6)) // each is escaped
			return core.CodeLimit, b
		},
	} {
		code, b := bad()
		_, err := s.PutLease(ctx, now.Revision, b)
		require.Equal(t, code, core.CodeOf(err), "%s: %v", name, err)
	}
	for _, revision := range []int64{0, -1, now.Revision - 1, now.Revision + 1} {
		_, err := s.PutLease(ctx, revision, noted(l, core.EventLeaseUpdated))
		requireCode(t, core.CodeConflict, err)
		_, err = s.DeleteLease(ctx, revision, l.ID, core.LeaseNote{})
		requireCode(t, core.CodeConflict, err)
	}
	_, err := s.DeleteLease(ctx, now.Revision, NewID(), core.LeaseNote{})
	requireCode(t, core.CodeNotFound, err)
	require.Equal(t, now, calendarOf(t, s, 0), "nothing was written")
	_, err = s.ListLeases(ctx, core.LeaseFilter{Limit: 1001})
	requireCode(t, core.CodeInvalid, err)
	_, err = s.ListLeases(ctx, core.LeaseFilter{States: make([]core.LeaseState, 17)})
	requireCode(t, core.CodeInvalid, err)
}

func leasesList(t *testing.T, s school.ResultStore) {
	var all []core.Lease
	for i := range 6 {
		l := Lease([]string{"cs101", "cs102", ""}[i%3])
		l.Start, l.End = int64(i+1)*hour, int64(i+3)*hour
		l.Events = []core.LeaseEvent{{Kind: core.EventStart, At: l.Start, State: core.EventUndone}, {Kind: core.EventEnd, At: l.End, State: core.EventUndone}}
		all = append(all, mustLease(t, s, l))
	}
	all[1] = run(t, s, all[1], core.LeaseStarting, core.LeaseActive)
	all[4] = run(t, s, all[4], core.LeaseStarting, core.LeaseError)
	ids := leaseIDs(all)
	pick := func(places ...int) []string {
		picked := []string{}
		for _, i := range places {
			picked = append(picked, ids[i])
		}
		return picked
	}
	require.Equal(t, pick(5, 4, 3, 2, 1, 0), leasesOf(t, s, core.LeaseFilter{}))
	require.Equal(t, pick(4, 1), leasesOf(t, s, core.LeaseFilter{Class: "cs102"}))
	require.Equal(t, pick(4, 1), leasesOf(t, s, core.LeaseFilter{States: []core.LeaseState{core.LeaseActive, core.LeaseError}}))
	require.Equal(t, pick(1), leasesOf(t, s, core.LeaseFilter{Class: "cs102", States: []core.LeaseState{core.LeaseActive}}))
	require.Equal(t, pick(3, 2, 1), leasesOf(t, s, core.LeaseFilter{From: 3 * hour, To: 5 * hour}), "what ends or starts just then is not in it")
	require.Equal(t, pick(5, 4), leasesOf(t, s, core.LeaseFilter{From: 6 * hour}))
	require.Equal(t, pick(0), leasesOf(t, s, core.LeaseFilter{To: 2 * hour}))
	require.Equal(t, pick(3, 2), leasesOf(t, s, core.LeaseFilter{Before: ids[4], Limit: 2}))
	require.Empty(t, leasesOf(t, s, core.LeaseFilter{Class: "cs103"}))
}

func leasesDelete(t *testing.T, s school.ResultStore) {
	ctx := t.Context()
	l := mustLease(t, s, Lease("cs101"))
	other := mustLease(t, s, Lease("cs102"))
	refused := func() {
		t.Helper()
		_, err := s.DeleteLease(ctx, calendarOf(t, s, 0).Revision, l.ID, core.LeaseNote{Event: core.EventLeaseDeleted})
		requireCode(t, core.CodeConflict, err)
	}
	for _, to := range []core.LeaseState{core.LeaseStarting, core.LeaseActive} {
		l = run(t, s, l, to)
		refused()
	}
	l = run(t, s, l, core.LeaseDeleting)
	before := calendarOf(t, s, 0).Revision
	mustDeleteLease(t, s, l.ID)
	require.Equal(t, core.Calendar{Revision: before + 1, Leases: []core.Lease{other}}, calendarOf(t, s, before))
	_, err := s.GetLease(ctx, l.ID)
	requireCode(t, core.CodeNotFound, err)
	require.Equal(t, []string{other.ID}, leasesOf(t, s, core.LeaseFilter{}))
	_, err = s.DeleteLease(ctx, before+1, l.ID, core.LeaseNote{})
	requireCode(t, core.CodeNotFound, err)
	_, err = s.PutLease(ctx, before+1, l)
	requireCode(t, core.CodeConflict, err)

	last, err := s.ToldLease(ctx, l.ID)
	require.NoError(t, err)
	require.Equal(t, core.LeaseNote{Number: 2, At: 9, Event: core.EventLeaseDeleted, By: "tom"}, last.Log[1])
	last.Log = last.Log[:1]
	require.Equal(t, l, last)
	holds(t, s) // it named no webhooks
}

// leasesOutbox shows that each note of a lease that names webhooks is told once.
func leasesOutbox(t *testing.T, s school.ResultStore) {
	ctx := t.Context()
	notice := func(l core.Lease, number int, event string) core.Notice {
		return core.Notice{Event: event, Key: core.Key(l.ID, number)}
	}
	l := Lease("cs101")
	quiet := mustLease(t, s, l)
	holds(t, s)
	quiet.Notify = []string{"w1"} // from now on
	quiet = mustLease(t, s, noted(quiet, core.EventLeaseUpdated))
	loud := Lease("cs101")
	loud.Notify = []string{"w1", "w2"}
	loud = noted(mustLease(t, s, loud), core.EventLeaseUpdated)
	holds(t, s, notice(quiet, 2, core.EventLeaseUpdated), notice(loud, 1, core.EventLeaseCreated))
	_, err := s.PutLease(ctx, 1, noted(loud, core.EventLeaseWhole))
	requireCode(t, core.CodeConflict, err)
	loud = mustLease(t, s, noted(loud, core.EventLeaseDegraded)) // two at once
	mustLease(t, s, loud)                                        // none
	holds(t, s, notice(quiet, 2, core.EventLeaseUpdated), notice(loud, 1, core.EventLeaseCreated), notice(loud, 2, core.EventLeaseUpdated), notice(loud, 3, core.EventLeaseDegraded))

	for range 2 {
		require.NoError(t, s.Sent(ctx, []core.Notice{notice(quiet, 2, core.EventLeaseUpdated), notice(loud, 2, core.EventLeaseUpdated), notice(loud, 9, core.EventLeaseWhole)}))
		holds(t, s, notice(loud, 1, core.EventLeaseCreated), notice(loud, 3, core.EventLeaseDegraded))
	}
	mustDeleteLease(t, s, loud.ID)
	holds(t, s, notice(loud, 1, core.EventLeaseCreated), notice(loud, 3, core.EventLeaseDegraded), notice(loud, 4, core.EventLeaseDeleted))
	last, err := s.ToldLease(ctx, loud.ID)
	require.NoError(t, err)
	require.Equal(t, 4, last.LastNote())
	require.NoError(t, s.Sent(ctx, []core.Notice{notice(loud, 1, core.EventLeaseCreated), notice(loud, 3, core.EventLeaseDegraded), notice(loud, 4, core.EventLeaseDeleted)}))
	holds(t, s)
	page, err := s.Outbox(ctx, 1)
	require.NoError(t, err)
	require.Empty(t, page)
}

func leasesPurge(t *testing.T, s school.ResultStore) {
	ctx := t.Context()
	open := mustLease(t, s, Lease("cs101"))
	ended := run(t, s, mustLease(t, s, Lease("cs101")), core.LeaseStarting, core.LeaseActive, core.LeaseTerminating, core.LeaseTerminated)
	failed := run(t, s, mustLease(t, s, Lease("cs101")), core.LeaseStarting, core.LeaseError)
	told := Lease("cs101")
	told.Notify = []string{"w"}
	mustLease(t, s, told)
	mustDeleteLease(t, s, told.ID)
	revision := calendarOf(t, s, 0).Revision
	purged := func(want, limit int) {
		t.Helper()
		n, err := s.Purge(ctx, soon(), limit)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	purged(1, 1)
	purged(1, 10)
	for _, id := range []string{ended.ID, failed.ID} {
		_, err := s.ToldLease(ctx, id)
		requireCode(t, core.CodeNotFound, err)
	}
	_, err := s.ToldLease(ctx, told.ID)
	require.NoError(t, err, "somebody is still to be told of it")
	all, err := s.Outbox(ctx, 10)
	require.NoError(t, err)
	require.NoError(t, s.Sent(ctx, all))
	purged(1, 10)
	require.Equal(t, core.Calendar{Revision: revision, Leases: []core.Lease{open}}, calendarOf(t, s, 0))
}

// LeasesLimit shows that there are at most so many open leases, and that those that ended do not count. Fill writes
// leases, perhaps in a shorter way than a call for each.
func LeasesLimit(t *testing.T, s school.ResultStore, fill func(all []core.Lease)) {
	t.Helper()
	l := run(t, s, mustLease(t, s, Lease("cs101")), core.LeaseStarting)
	others := make([]core.Lease, core.MaxOpenLeases-1)
	for i := range others {
		others[i] = Lease("cs102")
	}
	fill(others)
	c := calendarOf(t, s, 0)
	require.Len(t, c.Leases, core.MaxOpenLeases)
	_, err := s.PutLease(t.Context(), c.Revision, Lease("cs101"))
	requireCode(t, core.CodeLimit, err)
	run(t, s, l, core.LeaseError)
	mustLease(t, s, Lease("cs101"))
}

// leasesPools shows that a pool stays as long as an open lease reserves something of it.
func leasesPools(t *testing.T, s school.ResultStore) {
	ctx := t.Context()
	l := Lease("cs101")
	other := core.Reservation{Pools: []string{"q", "r"}, MinHosts: 1, MaxHosts: 1, State: core.ReservationPending}
	l.Reservations = append(l.Reservations, other)
	mustLease(t, s, l)
	for _, pool := range []string{"p", "q", "r"} {
		require.NoError(t, s.PutPool(ctx, core.DefaultPool(pool)))
		requireCode(t, core.CodeConflict, s.RemovePool(ctx, pool))
	}
	l.Reservations[1].State = core.ReservationDeleted
	mustLease(t, s, l)
	require.NoError(t, s.RemovePool(ctx, "q"))
	err := s.RemovePool(ctx, "p")
	requireCode(t, core.CodeConflict, err)
	require.ErrorContains(t, err, l.ID)
	mustDeleteLease(t, s, l.ID)
	require.NoError(t, s.RemovePool(ctx, "p"))
}

func raceLeases(t *testing.T, s school.ResultStore) { RaceLeases(t, s, s) }

// RaceLeases has many admit leases at once, in turn through both handles of one store, each as long as there is room
// for one more in the calendar that it read: no room is sold twice.
func RaceLeases(t *testing.T, a, b school.ResultStore) {
	t.Helper()
	const room = 10
	first := calendarOf(t, a, 0).Revision
	race(t, func(i int) error {
		s := []school.ResultStore{a, b}[i%2]
		l := Lease("cs101")
		l.Notify = []string{"w"}
		for {
			c, err := s.Calendar(t.Context(), 0)
			if err != nil || len(c.Leases) == room {
				return err
			}
			if _, err = s.PutLease(t.Context(), c.Revision, l); !core.Is(err, core.CodeConflict) {
				return err
			}
		}
	})
	c := calendarOf(t, b, 0)
	require.Len(t, c.Leases, room)
	require.Equal(t, first+room, c.Revision, "one write each")
	var want []core.Notice
	for i := range c.Leases {
		want = append(want, core.Notice{Event: core.EventLeaseCreated, Key: core.Key(c.Leases[i].ID, 1)})
	}
	holds(t, a, want...)
}

// leasesUnanswered writes leases whose callers stop waiting at any moment, and asks the calendar what became of them.
func leasesUnanswered(t *testing.T, s school.ResultStore) {
	l := Lease("cs101")
	l.Notify = []string{"w"}
	l = mustLease(t, s, l)
	want := []core.Notice{{Event: core.EventLeaseCreated, Key: core.Key(l.ID, 1)}}
	for range 30 {
		was := calendarOf(t, s, 0)
		next := noted(l, core.EventLeaseUpdated)
		next.Log = next.Log[max(0, len(next.Log)-5):]
		ctx, cancel := context.WithCancel(t.Context())
		together(t, 2, func(part int) error {
			if part == 0 {
				cancel()
				return nil
			}
			_, _ = s.PutLease(ctx, was.Revision, next) // nobody heard the answer
			return nil
		})
		if _, err := s.PutLease(t.Context(), was.Revision, next); err != nil {
			requireCode(t, core.CodeConflict, err)
		}
		l = next
		require.Equal(t, core.Calendar{Revision: was.Revision + 1, Leases: []core.Lease{l}}, calendarOf(t, s, was.Revision))
		want = append(want, core.Notice{Event: core.EventLeaseUpdated, Key: core.Key(l.ID, l.LastNote())})
	}
	holds(t, s, want...)
}

// leaseCalls are those about leases.
func leaseCalls() map[string]Call {
	return map[string]Call{
		"Calendar": func(ctx context.Context, s school.ResultStore) error { _, err := s.Calendar(ctx, 0); return err },
		"PutLease": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.PutLease(ctx, 1, Lease("cs101"))
			return err
		},
		"DeleteLease": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.DeleteLease(ctx, 1, NewID(), core.LeaseNote{})
			return err
		},
		"GetLease":  func(ctx context.Context, s school.ResultStore) error { _, err := s.GetLease(ctx, NewID()); return err },
		"ToldLease": func(ctx context.Context, s school.ResultStore) error { _, err := s.ToldLease(ctx, NewID()); return err },
		"ListLeases": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.ListLeases(ctx, core.LeaseFilter{})
			return err
		},
	}
}
