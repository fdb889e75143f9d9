package coursework

import (
	"context"

	"drover/core"
)

// Draft is an assignment as it is stored, with nobody's own deadlines, and what may be
// chosen for it.
type Draft struct {
	core.Assignment
	Pools []string `json:"pools"` // in which it can be graded, in order of name
}

// DraftAssignment returns an assignment to whoever may edit it; with handle "" a new
// one of the class. Returns NOTFOUND, FORBIDDEN.
func (r *Registrar) DraftAssignment(ctx context.Context, a core.Actor, class, handle string) (Draft, error) {
	d := Draft{Assignment: core.Assignment{Class: class, Weight: core.ClassNormal}}
	var err error
	if handle == "" {
		_, err = r.class(ctx, a, class, core.ActAssignmentEdit)
	} else {
		d.Assignment, err = r.assignment(ctx, a, class, handle, core.ActAssignmentEdit, "")
	}
	if err != nil {
		return Draft{}, err
	}
	pools, err := r.Store.Pools(ctx)
	for _, p := range pools {
		d.Pools = append(d.Pools, p.Name)
	}
	return d, err
}
