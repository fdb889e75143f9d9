package lease

import (
	"cmp"
	"slices"

	"drover/core"
)

// NewEvents returns the events of a lease by its times.
func NewEvents(l core.Lease) []core.LeaseEvent {
	events := []core.LeaseEvent{{Kind: core.EventStart, At: l.Start, State: core.EventUndone}}
	if l.BeforeEnd > 0 {
		at := max(l.Start, l.End-l.BeforeEnd.Milliseconds())
		events = append(events, core.LeaseEvent{Kind: core.EventBeforeEnd, At: at, State: core.EventUndone})
	}
	return append(events, core.LeaseEvent{Kind: core.EventEnd, At: l.End, State: core.EventUndone})
}

// Note adds a line to the log of a lease, and drops the oldest ones beyond MaxLeaseNotes.
func Note(l *core.Lease, at int64, event, text, by string) {
	number := 1
	if n := len(l.Log); n > 0 {
		number = l.Log[n-1].Number + 1
	}
	kept := l.Log[max(0, len(l.Log)+1-core.MaxLeaseNotes):]
	l.Log = append(slices.Clip(kept), core.LeaseNote{Number: number, At: at, Event: event, Text: text, By: by})
}

// LastNote returns the next line of a lease's log, for one that is deleted.
func LastNote(l core.Lease, at int64, text, by string) core.LeaseNote {
	l = l.Clone()
	Note(&l, at, core.EventLeaseDeleted, text, by)
	return l.Log[len(l.Log)-1]
}

// Begin returns the lease with an event of it in progress: a start makes it starting, an end terminating. Returns
// CONFLICT for an event that is not undone, and for a lease in another state than that event is for.
func Begin(l core.Lease, kind core.LeaseEventKind, now int64) (core.Lease, error) {
	l, e, err := move(l, kind, core.EventUndone)
	if err != nil {
		return l, err
	}
	switch kind {
	case core.EventStart:
		err = become(&l, core.LeaseStarting)
	case core.EventEnd:
		err = become(&l, core.LeaseTerminating)
	case core.EventBeforeEnd:
		if l.State != core.LeaseActive {
			err = core.Errorf(core.CodeConflict, l.ID, "lease %s is %s: only one that is active has an end before it", l.ID, l.State)
		}
	}
	if err != nil {
		return l, err
	}
	e.State, e.Begun = core.EventInProgress, now
	return l, nil
}

// Done returns the lease with an event of it done: after its start it is active, after its end terminated, and its room
// is free. Returns CONFLICT for an event that is not in progress.
func Done(l core.Lease, kind core.LeaseEventKind, now int64) (core.Lease, error) {
	l, e, err := move(l, kind, core.EventInProgress)
	if err != nil {
		return l, err
	}
	switch kind {
	case core.EventStart:
		if err := become(&l, core.LeaseActive); err != nil {
			return l, err
		}
		for i := range l.Reservations {
			if r := &l.Reservations[i]; r.State == core.ReservationPending {
				r.State = core.ReservationActive
			}
		}
		Note(&l, now, core.EventLeaseStarted, "started", "")
	case core.EventEnd:
		if err := become(&l, core.LeaseTerminated); err != nil {
			return l, err
		}
		release(&l, core.ReservationDeleted, now, "its lease is over")
		l.Ended = now
		Note(&l, now, core.EventLeaseEnded, "ended", "")
	case core.EventBeforeEnd:
		Note(&l, now, core.EventLeaseEnding, "ends at "+moment(l.End), "")
	}
	e.State, e.Done = core.EventDone, now
	return l, nil
}

// Fail returns the lease with an event of it failed for good. One that could not start is in error, and its room is
// free; one whose notice could not be given goes on. Returns CONFLICT for an event that is not in progress, and for an
// end: it is tried again until nothing of the lease is left.
func Fail(l core.Lease, kind core.LeaseEventKind, now int64, why string) (core.Lease, error) {
	l, e, err := move(l, kind, core.EventInProgress)
	if err != nil {
		return l, err
	}
	switch kind {
	case core.EventStart:
		if err := become(&l, core.LeaseError); err != nil {
			return l, err
		}
		release(&l, core.ReservationError, now, "its lease could not start")
		l.Ended = now
		Note(&l, now, core.EventLeaseFailed, "could not start: "+why, "")
	case core.EventEnd:
		return l, core.Errorf(core.CodeConflict, l.ID, "the end of lease %s cannot fail: it is tried again until nothing of it is left", l.ID)
	case core.EventBeforeEnd:
		Note(&l, now, core.EventLeaseEnding, "ends at "+moment(l.End)+"; what is to happen before failed: "+why, "")
	}
	e.State, e.Done, e.Why = core.EventError, now, why
	return l, nil
}

// move returns a copy of a lease, and its event of a kind if that has the given state.
func move(l core.Lease, kind core.LeaseEventKind, state core.LeaseEventState) (core.Lease, *core.LeaseEvent, error) {
	out := l.Clone()
	e := out.Event(kind)
	switch {
	case e == nil:
		return l, nil, core.Errorf(core.CodeConflict, l.ID, "lease %s has no event %s", l.ID, kind)
	case e.State != state:
		return l, nil, core.Errorf(core.CodeConflict, l.ID, "the event %s of lease %s is %s, not %s: read the lease again", kind, l.ID, e.State, state)
	}
	return out, e, nil
}

// become changes the state of a lease.
func become(l *core.Lease, to core.LeaseState) error {
	if !l.State.MayBecome(to) {
		return core.Errorf(core.CodeConflict, l.ID, "lease %s is %s, and cannot become %s: read it again", l.ID, l.State, to)
	}
	l.State = to
	return nil
}

// release frees what the reservations of a lease hold. A lease that is over lacks nothing.
func release(l *core.Lease, to core.ReservationState, now int64, why string) {
	for i := range l.Reservations {
		r := &l.Reservations[i]
		if !open(r) {
			continue
		}
		r.State, r.MissingResources, r.ResourcesChanged = to, false, false
		free(r, now, why)
	}
}

// DueEvent is an event to be executed now.
type DueEvent struct {
	Lease   string
	Kind    core.LeaseEventKind
	At      int64 // when it was due, ms since 1970
	Resumed bool  // it is in progress: somebody began it and did not finish
}

// NextEvents returns the events to be executed now, in this order: those in progress; then before_end, end and start, so
// that a lease frees what the next one takes; of each kind the longest due first. What is due of a lease that has not
// started is left for after its start.
func NextEvents(leases []core.Lease, now int64) []DueEvent {
	var due []DueEvent
	for i := range leases {
		l := &leases[i]
		for _, e := range l.Events {
			if l.State.Open() && (e.State == core.EventInProgress || e.State == core.EventUndone && e.At <= now && l.State == before(e.Kind)) {
				due = append(due, DueEvent{l.ID, e.Kind, e.At, e.State == core.EventInProgress})
			}
		}
	}
	order := []core.LeaseEventKind{core.EventBeforeEnd, core.EventEnd, core.EventStart}
	slices.SortFunc(due, func(a, b DueEvent) int {
		if a.Resumed != b.Resumed {
			if a.Resumed {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind)), cmp.Compare(a.At, b.At), cmp.Compare(a.Lease, b.Lease))
	})
	return due
}

// before is the state that a lease has before an event.
func before(kind core.LeaseEventKind) core.LeaseState {
	if kind == core.EventStart {
		return core.LeasePending
	}
	return core.LeaseActive
}
