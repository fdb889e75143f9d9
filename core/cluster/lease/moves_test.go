package lease_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cluster/lease"
)

func TestEventsOfALease(t *testing.T) {
	t.Parallel()
	l := core.Lease{ID: "l", State: core.LeasePending, Start: at(10), End: at(20)}
	require.Equal(t, []core.LeaseEvent{
		{Kind: core.EventStart, At: at(10), State: core.EventUndone}, {Kind: core.EventEnd, At: at(20), State: core.EventUndone},
	}, lease.NewEvents(l))
	l.BeforeEnd = 3 * time.Minute
	require.Equal(t, core.LeaseEvent{Kind: core.EventBeforeEnd, At: at(17), State: core.EventUndone}, lease.NewEvents(l)[1])
	l.BeforeEnd = time.Hour
	require.Equal(t, at(10), lease.NewEvents(l)[1].At, "not before its start")
}

func TestLifeOfALease(t *testing.T) {
	t.Parallel()
	l := held(lasting("l", 0, 2, units(2), units(1)), 1, "h1")
	l.BeforeEnd = time.Hour
	l.Reservations[1].State = core.ReservationDeleted
	l.Events = lease.NewEvents(l)
	step := func(do func(core.Lease, core.LeaseEventKind, int64) (core.Lease, error), kind core.LeaseEventKind, now int64) {
		t.Helper()
		was := clone(l)
		events := slices.Clone(l.Events)
		next, err := do(l, kind, now)
		require.NoError(t, err)
		require.Equal(t, was, clone(l), "the argument stays as it was")
		require.Equal(t, events, l.Events)
		l = next
	}
	step(lease.Begin, core.EventStart, 5)
	require.Equal(t, core.LeaseStarting, l.State)
	require.Equal(t, core.LeaseEvent{Kind: core.EventStart, At: noon, State: core.EventInProgress, Begun: 5}, *l.Event(core.EventStart))

	failed, err := lease.Fail(l, core.EventStart, 6, "no Redis")
	require.NoError(t, err)
	require.Equal(t, core.LeaseError, failed.State)
	require.Equal(t, core.ReservationError, failed.Reservations[0].State)
	require.Equal(t, core.ReservationDeleted, failed.Reservations[1].State)
	require.Equal(t, []core.Allocation{{Host: "h1", Units: 2, State: core.AllocationFreed, Since: 1, Until: 6, Why: "its lease could not start"}}, failed.Reservations[0].Allocations)
	require.Equal(t, core.LeaseEvent{Kind: core.EventStart, At: noon, State: core.EventError, Begun: 5, Done: 6, Why: "no Redis"}, *failed.Event(core.EventStart))
	require.Equal(t, []core.LeaseNote{{Number: 1, At: 6, Event: core.EventLeaseFailed, Text: "could not start: no Redis"}}, failed.Log)
	require.Equal(t, int64(6), failed.Ended)

	step(lease.Done, core.EventStart, 7)
	require.Equal(t, core.LeaseActive, l.State)
	require.Equal(t, core.ReservationActive, l.Reservations[0].State)
	require.Equal(t, core.ReservationDeleted, l.Reservations[1].State)
	step(lease.Begin, core.EventBeforeEnd, 8)
	require.Equal(t, core.LeaseActive, l.State)
	failed, err = lease.Fail(l, core.EventBeforeEnd, 9, "why")
	require.NoError(t, err)
	require.Equal(t, core.LeaseActive, failed.State)
	require.Equal(t, 2, failed.Reservations[0].Held(), "it goes on")
	step(lease.Done, core.EventBeforeEnd, 9)
	l.Reservations[0].MissingResources = true
	step(lease.Begin, core.EventEnd, 10)
	require.Equal(t, core.LeaseTerminating, l.State)
	require.Equal(t, 2, l.Reservations[0].Held(), "what runs may go on")
	_, err = lease.Fail(l, core.EventEnd, 10, "why")
	require.Equal(t, core.CodeConflict, core.CodeOf(err))
	step(lease.Done, core.EventEnd, 11)
	require.Equal(t, core.LeaseTerminated, l.State)
	require.Equal(t, core.ReservationDeleted, l.Reservations[0].State)
	require.Equal(t, 0, l.Reservations[0].Held())
	require.False(t, l.Degraded())
	require.Equal(t, int64(11), l.Ended)
	require.Equal(t, []core.LeaseNote{
		{Number: 1, At: 7, Event: core.EventLeaseStarted, Text: "started"},
		{Number: 2, At: 9, Event: core.EventLeaseEnding, Text: "ends at 2026-12-01 14:00 UTC"},
		{Number: 3, At: 11, Event: core.EventLeaseEnded, Text: "ended"},
	}, l.Log)
}

// Every move that is made is in the table of transitions, from whatever state; all others are refused.
func TestMovesAreThoseOfTheTable(t *testing.T) {
	t.Parallel()
	legal := func(entity core.Entity, from, to string) bool {
		return from == to || slices.ContainsFunc(core.LeaseTransitions(), func(x core.Transition) bool {
			return x.Entity == entity && x.From == from && x.To == to
		})
	}
	made := map[string]bool{}
	for _, state := range []core.LeaseState{
		core.LeasePending, core.LeaseStarting, core.LeaseActive, core.LeaseTerminating, core.LeaseTerminated, core.LeaseDeleting, core.LeaseError,
	} {
		for _, kind := range []core.LeaseEventKind{core.EventStart, core.EventBeforeEnd, core.EventEnd} {
			for _, event := range []core.LeaseEventState{core.EventUndone, core.EventInProgress, core.EventDone, core.EventError} {
				for name, do := range map[string]func(core.Lease) (core.Lease, error){
					"begin": func(l core.Lease) (core.Lease, error) { return lease.Begin(l, kind, 1) },
					"done":  func(l core.Lease) (core.Lease, error) { return lease.Done(l, kind, 1) },
					"fail":  func(l core.Lease) (core.Lease, error) { return lease.Fail(l, kind, 1, "why") },
				} {
					l := lasting("l", 0, 2, units(1))
					l.BeforeEnd = time.Minute
					l.Events, l.State = lease.NewEvents(l), state
					l.Event(kind).State = event
					out, err := do(l)
					if err != nil {
						require.Equal(t, core.CodeConflict, core.CodeOf(err))
						require.Equal(t, l, out)
						continue
					}
					made[fmt.Sprint(name, " ", kind, " ", state)] = true
					require.True(t, legal(core.EntityLease, string(state), string(out.State)))
					require.True(t, legal(core.EntityLeaseEvent, string(event), string(out.Event(kind).State)))
					require.NotEqual(t, event, out.Event(kind).State)
				}
			}
		}
	}
	for _, not := range []string{"begin start active", "begin start deleting", "begin end pending", "begin end terminated", "begin before_end pending", "done start active", "fail end terminating"} {
		require.False(t, made[not], not)
	}
	for _, is := range []string{"begin start pending", "begin end active", "begin before_end active", "done start starting", "fail start starting", "done end terminating"} {
		require.True(t, made[is], is)
	}
	_, err := lease.Begin(lasting("l", 0, 1, units(1)), core.EventBeforeEnd, 1)
	require.Equal(t, core.CodeConflict, core.CodeOf(err), "it has none")
}

func TestNextEvents(t *testing.T) {
	t.Parallel()
	make := func(id string, state core.LeaseState, start, end int, before time.Duration) core.Lease {
		l := core.Lease{ID: id, State: state, Start: at(start), End: at(end), BeforeEnd: before}
		l.Events = lease.NewEvents(l)
		if state != core.LeasePending {
			l.Events[0].State = core.EventDone
		}
		return l
	}
	resumed := make("r", core.LeaseStarting, 9, 30, 0)
	resumed.Events[0].State = core.EventInProgress
	over := make("o", core.LeaseError, 9, 30, 0)
	over.Events[0].State = core.EventInProgress
	got := lease.NextEvents([]core.Lease{
		make("a", core.LeasePending, 10, 20, 0),           // starts where b ends
		make("b", core.LeaseActive, 0, 10, 2*time.Minute), // before_end and end are due
		make("c", core.LeaseActive, 0, 9, 0),
		make("d", core.LeasePending, 5, 8, time.Minute), // all of it is over: its start first, the rest after it
		make("e", core.LeasePending, 11, 20, 0),         // not yet
		make("f", core.LeaseTerminating, 0, 9, 0),
		resumed, over,
	}, at(10))
	require.Equal(t, []lease.DueEvent{
		{"r", core.EventStart, at(9), true},
		{"b", core.EventBeforeEnd, at(8), false},
		{"c", core.EventEnd, at(9), false},
		{"b", core.EventEnd, at(10), false},
		{"d", core.EventStart, at(5), false},
		{"a", core.EventStart, at(10), false},
	}, got)
	d := make("d", core.LeaseActive, 5, 8, time.Minute)
	require.Equal(t, []lease.DueEvent{{"d", core.EventBeforeEnd, at(7), false}, {"d", core.EventEnd, at(8), false}}, lease.NextEvents([]core.Lease{d}, at(10)))
}

func TestNotesAreBounded(t *testing.T) {
	t.Parallel()
	var l core.Lease
	for i := range core.MaxLeaseNotes {
		lease.Note(&l, int64(i), core.EventLeaseUpdated, "text", "ann")
	}
	require.Len(t, l.Log, core.MaxLeaseNotes)
	other := l
	lease.Note(&l, 7, core.EventLeaseUpdated, "last", "ann")
	lease.Note(&other, 7, core.EventLeaseUpdated, "other", "ann")
	require.Len(t, l.Log, core.MaxLeaseNotes)
	require.Equal(t, 2, l.Log[0].Number)
	require.Equal(t, core.LeaseNote{Number: core.MaxLeaseNotes + 1, At: 7, Event: core.EventLeaseUpdated, Text: "last", By: "ann"}, l.Log[core.MaxLeaseNotes-1])
}
