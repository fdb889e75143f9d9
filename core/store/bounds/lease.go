package bounds

import (
	"encoding/json"

	"drover/core"
)

// Lease returns the encoding of a lease. Returns INVALID or LIMIT.
func Lease(l *core.Lease) ([]byte, error) {
	if err := core.CheckName("lease id", l.ID); err != nil {
		return nil, err
	}
	doc, err := json.Marshal(l)
	if err != nil {
		return nil, core.Wrap(err, core.CodeInvalid, l.ID, "lease %s cannot be written as JSON", l.ID)
	}
	if len(doc) > core.MaxLeaseBytes {
		return nil, core.Errorf(core.CodeLimit, l.ID, "lease %s has %d bytes, at most %d are allowed: make several leases", l.ID, len(doc), core.MaxLeaseBytes)
	}
	return doc, nil
}

// Deleted returns a lease as it is kept after its deletion, and its encoding. Returns CONFLICT, LIMIT.
func Deleted(l core.Lease, note core.LeaseNote) (core.Lease, []byte, error) {
	if !l.State.Deletable() {
		return l, nil, core.LeaseInUse(l.ID, l.State)
	}
	note.Number = l.LastNote() + 1
	kept := l.Log[max(0, len(l.Log)-core.MaxLeaseNotes+1):]
	l.Log = append(append([]core.LeaseNote{}, kept...), note)
	doc, err := Lease(&l)
	return l, doc, err
}

// Leases checks a filter and returns the number of leases that it asks for. Returns INVALID.
func Leases(f core.LeaseFilter) (int, error) {
	if err := states(len(f.States)); err != nil {
		return 0, err
	}
	return rows(f.Limit)
}

// Instances checks a filter and returns the number of instances that it asks for. Returns INVALID.
func Instances(f core.InstanceFilter) (int, error) {
	if err := states(len(f.States)); err != nil {
		return 0, err
	}
	return rows(f.Limit)
}

// states checks how many states a filter names. Returns INVALID.
func states(n int) error {
	if n > MaxStates {
		return core.Errorf(core.CodeInvalid, "", "a list may be narrowed to at most %d states, not %d", MaxStates, n)
	}
	return nil
}
