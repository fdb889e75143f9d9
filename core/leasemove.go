package core

import (
	"slices"
	"strings"
)

// leaseStates says in which states a lease's reservations and events may be while it is in one itself.
type leaseStates struct {
	reservations          []ReservationState
	start, beforeEnd, end []LeaseEventState
}

// legalStates is the table of states that go together. A notice before the end may be given, or come to nothing, at any
// time after the start.
func legalStates() map[LeaseState]leaseStates {
	undone, begun, done := []LeaseEventState{EventUndone}, []LeaseEventState{EventInProgress}, []LeaseEventState{EventDone}
	failed, ever := []LeaseEventState{EventError}, []LeaseEventState{EventUndone, EventInProgress, EventDone, EventError}
	waiting := []ReservationState{ReservationPending, ReservationDeleted}
	used := []ReservationState{ReservationPending, ReservationActive, ReservationDeleted} // pending: added to it while it is active
	return map[LeaseState]leaseStates{
		LeasePending:     {waiting, undone, undone, undone},
		LeaseStarting:    {waiting, begun, undone, undone},
		LeaseActive:      {used, done, ever, undone},
		LeaseTerminating: {used, done, ever, begun},
		LeaseTerminated:  {[]ReservationState{ReservationDeleted}, done, ever, done},
		LeaseDeleting:    {used, done, ever, undone},
		LeaseError:       {[]ReservationState{ReservationError, ReservationDeleted}, failed, undone, undone},
	}
}

// checkStates returns CONFLICT for a lease whose reservations, allocations or events are in states that do not go with
// its own.
func (l *Lease) checkStates() error {
	legal, is := legalStates()[l.State]
	if !is {
		return Errorf(CodeInvalid, l.ID, "lease %s cannot be %.40q", l.ID, l.State)
	}
	for i := range l.Reservations {
		r := &l.Reservations[i]
		if !slices.Contains(legal.reservations, r.State) {
			return l.clash("reservation", string(r.State))
		}
		if (r.State == ReservationDeleted || r.State == ReservationError) && r.Held() > 0 {
			return l.clash("reservation with allocations", string(r.State))
		}
	}
	for kind, states := range map[LeaseEventKind][]LeaseEventState{EventStart: legal.start, EventBeforeEnd: legal.beforeEnd, EventEnd: legal.end} {
		if e := l.Event(kind); e != nil && !slices.Contains(states, e.State) {
			return l.clash("event "+string(kind), string(e.State))
		}
	}
	if (l.Ended > 0) == l.State.Open() {
		return Errorf(CodeConflict, l.ID, "lease %s is %s, which does not agree with the time of its end", l.ID, l.State)
	}
	return nil
}

func (l *Lease) clash(what, state string) error {
	return Errorf(CodeConflict, l.ID, "lease %s is %s and cannot have a %s that is %s", l.ID, l.State, what, state)
}

// CheckMove returns CONFLICT unless a lease may become this one: it is new (was is nil), or all that has states stays
// in its own or makes a move of the table. It does not look at allocations, which have no identity of their own.
func (l *Lease) CheckMove(was *Lease) error {
	if err := l.checkStates(); err != nil {
		return err
	}
	if was == nil {
		was = &Lease{ID: l.ID, By: l.By, Created: l.Created}
	}
	if l.ID != was.ID || l.By != was.By || l.Created != was.Created {
		return Errorf(CodeConflict, l.ID, "lease %s was made by %s and has another origin now", was.ID, was.By)
	}
	if err := l.move(EntityLease, string(was.State), string(l.State)); err != nil {
		return err
	}
	if len(l.Reservations) < len(was.Reservations) {
		return Errorf(CodeConflict, l.ID, "lease %s had %d reservations and has %d: those removed from it stay in its list, as deleted", l.ID, len(was.Reservations), len(l.Reservations))
	}
	for i := range l.Reservations {
		from := ""
		if i < len(was.Reservations) {
			from = string(was.Reservations[i].State)
		}
		if err := l.move(EntityReservation, from, string(l.Reservations[i].State)); err != nil {
			return err
		}
	}
	if err := l.moveEvents(was); err != nil {
		return err
	}
	return l.moveLog(was)
}

// moveEvents checks what became of the events. One that is undone may go, or be due at another time.
func (l *Lease) moveEvents(was *Lease) error {
	for i := range l.Events {
		e, from := &l.Events[i], ""
		if old := was.Event(e.Kind); old != nil {
			from = string(old.State)
			if old.At != e.At && e.State != EventUndone {
				return Errorf(CodeConflict, l.ID, "event %s of lease %s was begun: it cannot be at another time any more", e.Kind, l.ID)
			}
		}
		if err := l.move(EntityLeaseEvent, from, string(e.State)); err != nil {
			return err
		}
	}
	for i := range was.Events {
		if e := &was.Events[i]; e.State != EventUndone && l.Event(e.Kind) == nil {
			return Errorf(CodeConflict, l.ID, "event %s of lease %s was begun: it cannot be left out any more", e.Kind, l.ID)
		}
	}
	return nil
}

// moveLog checks that no note was lost or made anew.
func (l *Lease) moveLog(was *Lease) error {
	before := was.LastNote()
	if l.LastNote() < before || l.LastNote() > before && l.Log[0].Number > before+1 {
		return Errorf(CodeConflict, l.ID, "lease %s had %d notes, which its new ones do not follow", l.ID, before)
	}
	return nil
}

// LastNote is the number of the newest note; 0 if there is none.
func (l *Lease) LastNote() int {
	if len(l.Log) == 0 {
		return 0
	}
	return l.Log[len(l.Log)-1].Number
}

// NotesAfter returns the notes of greater numbers.
func (l *Lease) NotesAfter(number int) []LeaseNote {
	for i := range l.Log {
		if l.Log[i].Number > number {
			return l.Log[i:]
		}
	}
	return nil
}

// move returns CONFLICT unless the table has a move, or nothing moves.
func (l *Lease) move(entity Entity, from, to string) error {
	if from == to || slices.ContainsFunc(LeaseTransitions(), func(t Transition) bool { return t.Entity == entity && t.From == from && t.To == to }) {
		return nil
	}
	if from == "" {
		return Errorf(CodeConflict, l.ID, "a new %s of lease %s cannot be %.40s", entity, l.ID, to)
	}
	return Errorf(CodeConflict, l.ID, "lease %s: a %s that is %s cannot become %.40s", l.ID, strings.TrimPrefix(string(entity), "lease "), from, to)
}
