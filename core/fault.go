package core

import "strings"

// Fault is what is wrong with one field of an input.
type Fault struct {
	Field string // as the input spells it, such as limits.timeout_ns or jobs[3].command
	Err   error
}

// Faults are all that is wrong with an input, field by field.
type Faults []Fault

// Error returns the faults with their fields.
func (f Faults) Error() string {
	all := make([]string, len(f))
	for i, one := range f {
		all[i] = one.Field + ": " + one.Err.Error()
	}
	return strings.Join(all, "; ")
}

// Within returns the faults with a path before their fields.
func (f Faults) Within(path string) Faults {
	all := make(Faults, len(f))
	for i, one := range f {
		all[i] = Fault{Field: path + "." + one.Field, Err: one.Err}
	}
	return all
}

// First returns the error of the first fault, nil if there is none.
func (f Faults) First() error {
	if len(f) == 0 {
		return nil
	}
	return f[0].Err
}
