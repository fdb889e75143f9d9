package classes

import (
	"context"
	"slices"

	"drover/core/school"
)

// Setup is how far a class is from its first submission. It is derived from what there is: nothing else remembers it.
type Setup struct {
	People     bool   `json:"people"`               // there are students
	Assignment string `json:"assignment,omitempty"` // handle of one: without tests if there is such; "" for none at all
	Tests      bool   `json:"tests"`                // an assignment has some
	Invited    bool   `json:"invited"`              // a student can sign in, or is invited
	Used       bool   `json:"used"`                 // something was submitted: the class has begun
}

// Done reports whether nothing is left to do before students submit.
func (s Setup) Done() bool { return s.Used || s.People && s.Tests && s.Invited }

// setUp fills in how far a class is. Whether the students can sign in is read only if nothing was submitted.
func (r *Service) setUp(ctx context.Context, o *Overview, students []string) error {
	s := &o.Setup
	s.People = o.Students > 0
	for i := range o.Tallies {
		t := &o.Tallies[i]
		if s.Assignment == "" || t.Harness != nil {
			s.Assignment = t.Handle
		}
		s.Tests, s.Used = s.Tests || t.Harness != nil, s.Used || t.Submitted > 0
	}
	if s.Used || !s.People {
		return nil
	}
	ways, err := r.Store.WaysIn(ctx, students[:min(len(students), school.MaxKeys)])
	s.Invited = slices.ContainsFunc(ways, func(w school.WayIn) bool { return w.Has() || w.Changed > 0 || w.Invitation != nil })
	return err
}
