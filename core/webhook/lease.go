package webhook

import (
	"slices"
	"time"

	"drover/core"
)

// lease is the part of a payload about a lease: as it is when the payload is made, which may be later than what
// happened to it.
type lease struct {
	ID           string          `json:"id"`
	Name         string          `json:"name"`
	Class        string          `json:"class"`
	State        core.LeaseState `json:"state"`
	Degraded     bool            `json:"degraded"`
	Start        time.Time       `json:"start"`
	End          time.Time       `json:"end"`
	Reservations []reservation   `json:"reservations"`
	Events       []leaseEvent    `json:"events"`
	Number       int             `json:"number"` // of what happened: grows by one with each
	Note         string          `json:"note"`   // what happened
	User         string          `json:"user"`   // who did it
}

type reservation struct {
	Pools            []string              `json:"pools"`
	WholeHosts       bool                  `json:"whole_hosts"`
	Needed           int                   `json:"needed"` // units, or hosts at least
	Held             int                   `json:"held"`
	State            core.ReservationState `json:"state"`
	MissingResources bool                  `json:"missing_resources"`
	ResourcesChanged bool                  `json:"resources_changed"`
}

type leaseEvent struct {
	Kind  core.LeaseEventKind  `json:"kind"`
	At    time.Time            `json:"at"`
	State core.LeaseEventState `json:"state"`
}

// NoteOf returns the note of a lease that a notice is of. Returns NOTFOUND if it is not kept any more.
func NoteOf(l *core.Lease, event string, number int) (core.LeaseNote, error) {
	i := slices.IndexFunc(l.Log, func(n core.LeaseNote) bool { return n.Number == number && n.Event == event })
	if i < 0 {
		return core.LeaseNote{}, core.Errorf(core.CodeNotFound, l.ID, "lease %s has no note %d of %s any more", l.ID, number, event)
	}
	return l.Log[i], nil
}

// LeaseNoted is the payload of the events of leases.
func LeaseNoted(delivery string, l *core.Lease, note core.LeaseNote) ([]byte, error) {
	told := lease{
		ID: l.ID, Name: clip(l.Name, core.MaxLeaseName), Class: l.Class, State: l.State, Degraded: l.Degraded(), Start: at(l.Start), End: at(l.End),
		Reservations: []reservation{}, Events: []leaseEvent{}, Number: note.Number, Note: clip(note.Text, maxText), User: note.By,
	}
	for i := range l.Reservations {
		r := &l.Reservations[i]
		told.Reservations = append(told.Reservations, reservation{
			Pools: r.Pools, WholeHosts: r.WholeHosts(), Needed: r.Needs(), Held: r.Held(), State: r.State,
			MissingResources: r.MissingResources, ResourcesChanged: r.ResourcesChanged,
		})
	}
	for i := range l.Events {
		e := &l.Events[i]
		told.Events = append(told.Events, leaseEvent{e.Kind, at(e.At), e.State})
	}
	return payload(delivery, note.Event, time.UnixMilli(note.At), told)
}

func at(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
