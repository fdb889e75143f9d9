package core_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"drover/core"
)

const hour = int64(time.Hour / time.Millisecond)

// aLease makes a good lease in a state.
func aLease(state core.LeaseState) core.Lease {
	l := core.Lease{
		ID: strings.Repeat("l", 55), Name: "Übung 1", Class: "cs101", Submitters: []string{"ann", "bob"}, By: "tom",
		Start: hour, End: 3 * hour, BeforeEnd: time.Hour, Grace: time.Minute, State: state, Notify: []string{"w"}, Created: 5,
		Reservations: []core.Reservation{
			{Pools: []string{"p"}, Units: 3, Affinity: core.AffinityFalse, Requires: "zone=a", Allocations: []core.Allocation{
				{Host: "h1", Units: 2, State: core.AllocationHeld, Since: 5}, {Host: "h2", Units: 1, State: core.AllocationMoved, Since: 5, Until: 6, Why: "down"},
			}},
			{Pools: []string{"p", "q"}, MinHosts: 1, MaxHosts: 2, Allocations: []core.Allocation{{Host: "h3", Units: 1, State: core.AllocationHeld}}},
		},
		Events: []core.LeaseEvent{{Kind: core.EventStart, At: hour}, {Kind: core.EventEnd, At: 3 * hour}, {Kind: core.EventBeforeEnd, At: 2 * hour}},
		Log:    []core.LeaseNote{{Number: 4, At: 5, Event: core.EventLeaseCreated, Text: "made", By: "tom"}, {Number: 5, Event: core.EventLeaseUpdated}},
	}
	put := func(r core.ReservationState, start, end core.LeaseEventState) {
		for i := range l.Reservations {
			l.Reservations[i].State = r
			if r == core.ReservationDeleted || r == core.ReservationError {
				l.Reservations[i].Allocations, l.Ended = nil, 4*hour
			}
		}
		l.Event(core.EventStart).State, l.Event(core.EventEnd).State, l.Event(core.EventBeforeEnd).State = start, end, core.EventUndone
	}
	switch state {
	case core.LeasePending:
		put(core.ReservationPending, core.EventUndone, core.EventUndone)
	case core.LeaseStarting:
		put(core.ReservationPending, core.EventInProgress, core.EventUndone)
	case core.LeaseActive, core.LeaseDeleting:
		put(core.ReservationActive, core.EventDone, core.EventUndone)
	case core.LeaseTerminating:
		put(core.ReservationActive, core.EventDone, core.EventInProgress)
	case core.LeaseTerminated:
		put(core.ReservationDeleted, core.EventDone, core.EventDone)
	case core.LeaseError:
		put(core.ReservationError, core.EventError, core.EventUndone)
	}
	return l
}

var leaseStates = []core.LeaseState{
	core.LeasePending, core.LeaseStarting, core.LeaseActive, core.LeaseTerminating, core.LeaseTerminated, core.LeaseDeleting, core.LeaseError,
}

func TestLeaseCheck(t *testing.T) {
	t.Parallel()
	for _, state := range leaseStates {
		l := aLease(state)
		require.NoError(t, l.Check(), state)
	}
	type lease = core.Lease
	many := func(n int) []string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprintf("x%d", i)
		}
		return all
	}
	refuses(t, func() core.Lease { return aLease(core.LeasePending) }, func(l core.Lease) error { return l.Check() }, map[string]refusal[core.Lease]{
		"id":                  {func(l *lease) { l.ID = "L" }, core.CodeInvalid},
		"long id":             {func(l *lease) { l.ID += "x" }, core.CodeInvalid},
		"name":                {func(l *lease) { l.Name = " " }, core.CodeInvalid},
		"long name":           {func(l *lease) { l.Name = strings.Repeat("x", core.MaxLeaseName+1) }, core.CodeLimit},
		"by":                  {func(l *lease) { l.By = "" }, core.CodeInvalid},
		"nobody's":            {func(l *lease) { l.Class, l.Submitters = "", nil }, core.CodeInvalid},
		"class":               {func(l *lease) { l.Class = "CS 101" }, core.CodeInvalid},
		"submitter":           {func(l *lease) { l.Submitters[0] = "" }, core.CodeInvalid},
		"submitter twice":     {func(l *lease) { l.Submitters[0] = "bob" }, core.CodeInvalid},
		"many submitters":     {func(l *lease) { l.Submitters = many(core.MaxLeaseSubmitters + 1) }, core.CodeLimit},
		"created":             {func(l *lease) { l.Created = -1 }, core.CodeInvalid},
		"no start":            {func(l *lease) { l.Start = 0 }, core.CodeInvalid},
		"no time":             {func(l *lease) { l.End = l.Start }, core.CodeInvalid},
		"long":                {func(l *lease) { l.End = l.Start + core.MaxLeaseTime.Milliseconds() + 1 }, core.CodeLimit},
		"far too long":        {func(l *lease) { l.End = 1 << 62 }, core.CodeLimit},
		"before end":          {func(l *lease) { l.BeforeEnd = 2*time.Hour + 1 }, core.CodeInvalid},
		"after the end":       {func(l *lease) { l.BeforeEnd = -1 }, core.CodeInvalid},
		"grace":               {func(l *lease) { l.Grace = -1 }, core.CodeInvalid},
		"much grace":          {func(l *lease) { l.Grace = core.MaxLeaseGrace + 1 }, core.CodeLimit},
		"nothing":             {func(l *lease) { l.Reservations = nil }, core.CodeInvalid},
		"many reservations":   {func(l *lease) { l.Reservations = make([]core.Reservation, core.MaxLeaseReservations+1) }, core.CodeLimit},
		"units and hosts":     {func(l *lease) { l.Reservations[0].MinHosts, l.Reservations[0].MaxHosts = 1, 1 }, core.CodeInvalid},
		"neither":             {func(l *lease) { l.Reservations[1].MinHosts = 0 }, core.CodeInvalid},
		"negative units":      {func(l *lease) { l.Reservations[0].Units = -1 }, core.CodeInvalid},
		"many units":          {func(l *lease) { l.Reservations[0].Units = core.MaxLeaseUnits + 1 }, core.CodeLimit},
		"hosts":               {func(l *lease) { l.Reservations[1].MinHosts = 3 }, core.CodeInvalid},
		"many hosts":          {func(l *lease) { l.Reservations[1].MaxHosts = core.MaxLeaseUnits + 1 }, core.CodeLimit},
		"units of two pools":  {func(l *lease) { l.Reservations[0].Pools = []string{"p", "q"} }, core.CodeInvalid},
		"units of no pool":    {func(l *lease) { l.Reservations[0].Pools = nil }, core.CodeInvalid},
		"hosts for no pool":   {func(l *lease) { l.Reservations[1].Pools = nil }, core.CodeInvalid},
		"pool":                {func(l *lease) { l.Reservations[0].Pools[0] = "P" }, core.CodeInvalid},
		"pool twice":          {func(l *lease) { l.Reservations[1].Pools[0] = "q" }, core.CodeInvalid},
		"all pools":           {func(l *lease) { l.Reservations[0].Pools[0] = core.AllPools }, core.CodeInvalid},
		"pool of a lease":     {func(l *lease) { l.Reservations[0].Pools[0] = core.LeasedPool("x", 1) }, core.CodeInvalid},
		"many pools":          {func(l *lease) { l.Reservations[1].Pools = many(core.MaxLeasePools) }, core.CodeLimit},
		"affinity":            {func(l *lease) { l.Reservations[0].Affinity = "yes" }, core.CodeInvalid},
		"affinity of hosts":   {func(l *lease) { l.Reservations[1].Affinity = core.AffinityTrue }, core.CodeInvalid},
		"requires":            {func(l *lease) { l.Reservations[0].Requires = "zone" }, core.CodeInvalid},
		"allocation's host":   {func(l *lease) { l.Reservations[0].Allocations[0].Host = "" }, core.CodeInvalid},
		"allocation's units":  {func(l *lease) { l.Reservations[0].Allocations[1].Units = 0 }, core.CodeInvalid},
		"two of a host":       {func(l *lease) { l.Reservations[1].Allocations[0].Units = 2 }, core.CodeInvalid},
		"allocation's state":  {func(l *lease) { l.Reservations[0].Allocations[1].State = "" }, core.CodeInvalid},
		"holds too much":      {func(l *lease) { l.Reservations[0].Allocations[0].Units = 4 }, core.CodeInvalid},
		"many past":           {func(l *lease) { l.Reservations[0].Allocations = past(core.MaxPastAllocations + 1) }, core.CodeLimit},
		"no start event":      {func(l *lease) { l.Events = l.Events[1:] }, core.CodeInvalid},
		"an event twice":      {func(l *lease) { l.Events[1].Kind = core.EventStart }, core.CodeInvalid},
		"event of no kind":    {func(l *lease) { l.Events = append(l.Events, core.LeaseEvent{Kind: "x", State: core.EventUndone}) }, core.CodeInvalid},
		"due at another time": {func(l *lease) { l.Events[1].At++ }, core.CodeInvalid},
		"notice without need": {func(l *lease) { l.BeforeEnd = 0 }, core.CodeInvalid},
		"note's event":        {func(l *lease) { l.Log[0].Event = core.EventTaskEnded }, core.CodeInvalid},
		"note's number":       {func(l *lease) { l.Log[1].Number = 6 }, core.CodeInvalid},
		"note's text":         {func(l *lease) { l.Log[0].Text = strings.Repeat("x", core.MaxReason+1) }, core.CodeLimit},
		"many notes":          {func(l *lease) { l.Log = make([]core.LeaseNote, core.MaxLeaseNotes+1) }, core.CodeLimit},
		"webhook":             {func(l *lease) { l.Notify = []string{""} }, core.CodeInvalid},
		"many webhooks":       {func(l *lease) { l.Notify = make([]string, core.MaxNotify+1) }, core.CodeLimit},
		"state":               {func(l *lease) { l.State = "" }, core.CodeInvalid},
		"ended":               {func(l *lease) { l.Ended = 5 }, core.CodeConflict},
	})
}

func past(n int) []core.Allocation {
	all := make([]core.Allocation, n)
	for i := range all {
		all[i] = core.Allocation{Host: "h", Units: 1, State: core.AllocationLost}
	}
	return all
}

// States of a lease and of what it has go together in no other way than the table's.
func TestLeaseStates(t *testing.T) {
	t.Parallel()
	const und, beg, don, bad = core.EventUndone, core.EventInProgress, core.EventDone, core.EventError
	clash := func(state core.LeaseState, how string, change func(l *core.Lease)) {
		t.Helper()
		l := aLease(state)
		change(&l)
		require.Equal(t, core.CodeConflict, core.CodeOf(l.Check()), "%s: %s", state, how)
	}
	event := func(kind core.LeaseEventKind, states ...core.LeaseEventState) func(state core.LeaseState) {
		return func(state core.LeaseState) {
			for _, s := range states {
				clash(state, string(kind)+" "+string(s), func(l *core.Lease) { l.Event(kind).State = s })
			}
		}
	}
	reservation := func(states ...core.ReservationState) func(state core.LeaseState) {
		return func(state core.LeaseState) {
			for _, s := range states {
				clash(state, string(s), func(l *core.Lease) { l.Reservations[1].State, l.Reservations[1].Allocations = s, nil })
			}
		}
	}
	for state, never := range map[core.LeaseState][]func(core.LeaseState){
		core.LeasePending: {
			reservation(core.ReservationActive, core.ReservationError),
			event(core.EventStart, beg, don, bad), event(core.EventBeforeEnd, beg, don, bad), event(core.EventEnd, beg, don, bad),
		},
		core.LeaseStarting: {
			reservation(core.ReservationActive, core.ReservationError),
			event(core.EventStart, und, don, bad), event(core.EventBeforeEnd, beg, don, bad), event(core.EventEnd, beg, don, bad),
		},
		core.LeaseActive:      {reservation(core.ReservationError), event(core.EventStart, und, beg, bad), event(core.EventEnd, beg, don, bad)},
		core.LeaseDeleting:    {reservation(core.ReservationError), event(core.EventStart, und, beg, bad), event(core.EventEnd, beg, don, bad)},
		core.LeaseTerminating: {reservation(core.ReservationError), event(core.EventStart, und, beg, bad), event(core.EventEnd, und, don, bad)},
		core.LeaseTerminated: {
			reservation(core.ReservationPending, core.ReservationActive, core.ReservationError),
			event(core.EventStart, und, beg, bad), event(core.EventEnd, und, beg, bad),
		},
		core.LeaseError: {
			reservation(core.ReservationPending, core.ReservationActive),
			event(core.EventStart, und, beg, don), event(core.EventBeforeEnd, beg, don, bad), event(core.EventEnd, beg, don, bad),
		},
	} {
		for _, one := range never {
			one(state)
		}
	}
	for _, state := range []core.LeaseState{core.LeaseTerminated, core.LeaseError} {
		clash(state, "holds", func(l *core.Lease) {
			l.Reservations[0].Allocations = []core.Allocation{{Host: "h", Units: 1, State: core.AllocationHeld}}
		})
		clash(state, "not ended", func(l *core.Lease) { l.Ended = 0 })
	}
}

// A lease makes exactly the moves of the table, and so does all that it has.
func TestLeaseMoves(t *testing.T) {
	t.Parallel()
	for _, from := range leaseStates {
		for _, to := range leaseStates {
			was, now := aLease(from), aLease(to)
			require.Equal(t, from != to && !from.MayBecome(to), core.Is(now.CheckMove(&was), core.CodeConflict), "%s → %s", from, to)
		}
		now := aLease(from)
		now.Log = nil
		require.Equal(t, from != core.LeasePending, core.Is(now.CheckMove(nil), core.CodeConflict), "a new one that is %s", from)
	}
	for name, change := range map[string]func(was, now *core.Lease){
		"origin":                 func(_, now *core.Lease) { now.By = "bob" },
		"id":                     func(_, now *core.Lease) { now.ID = "x" },
		"created":                func(_, now *core.Lease) { now.Created++ },
		"reservation removed":    func(_, now *core.Lease) { now.Reservations = now.Reservations[:1] },
		"reservation back":       func(was, _ *core.Lease) { was.Reservations[0].State = core.ReservationDeleted },
		"reservation from error": func(was, _ *core.Lease) { was.Reservations[0].State = core.ReservationError },
		"new failed reservation": func(_, now *core.Lease) {
			now.Reservations = append(now.Reservations, now.Reservations[0])
			now.Reservations[len(now.Reservations)-1].State = core.ReservationError
		},
		"time of a done event": func(_, now *core.Lease) { now.Event(core.EventStart).At++ },
		"begun event left out": func(was, now *core.Lease) {
			was.Event(core.EventBeforeEnd).State, now.Events = core.EventDone, now.Events[:2]
		},
		"event undone again": func(was, _ *core.Lease) { was.Event(core.EventBeforeEnd).State = core.EventInProgress },
		"event skipped":      func(_, now *core.Lease) { now.Event(core.EventBeforeEnd).State = core.EventDone },
		"notes lost":         func(_, now *core.Lease) { now.Log = now.Log[:1] },
		"notes left out":     func(_, now *core.Lease) { now.Log[0].Number, now.Log[1].Number = 7, 8 },
	} {
		was, now := aLease(core.LeaseActive), aLease(core.LeaseActive)
		change(&was, &now)
		require.Equal(t, core.CodeConflict, core.CodeOf(now.CheckMove(&was)), name)
	}
	was, now := aLease(core.LeaseActive), aLease(core.LeaseActive)
	now.Name, now.Class, now.End = "other", "", 9*hour
	now.Event(core.EventEnd).At, now.Events = 9*hour, now.Events[:2]
	added := now.Reservations[0]
	added.State = core.ReservationPending
	now.Reservations = append(now.Reservations, added)
	now.Log = append(now.Log[1:], core.LeaseNote{Number: 6, Event: core.EventLeaseUpdated})
	require.NoError(t, now.CheckMove(&was), "all that may change")
	require.Equal(t, now.Log[1:], now.NotesAfter(was.LastNote()))
	require.Empty(t, was.NotesAfter(5))
	require.Equal(t, was.Log, was.NotesAfter(0))
}

// Whatever moves a lease makes by its table, its end is reached, and it is legal all the way.
func TestLeaseWalks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		was := aLease(core.LeasePending)
		for steps := 0; ; steps++ {
			var next []core.LeaseState
			for _, to := range leaseStates {
				if was.State.MayBecome(to) {
					next = append(next, to)
				}
			}
			if len(next) == 0 {
				break
			}
			now := aLease(rapid.SampledFrom(next).Draw(t, "next"))
			require.NoError(t, now.Check())
			require.NoError(t, now.CheckMove(&was))
			was = now
			require.Less(t, steps, len(leaseStates), "there is no way back")
		}
		require.True(t, was.State.Deletable())
	})
}
