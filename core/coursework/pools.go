package coursework

import (
	"context"

	"drover/core"
)

// PoolChoices lists the pools that the assignments of a class can be graded in, in order
// of name. Returns NOTFOUND, FORBIDDEN.
func (r *Registrar) PoolChoices(ctx context.Context, a core.Actor, class string) ([]string, error) {
	if _, err := r.class(ctx, a, class, core.ActAssignmentEdit); err != nil {
		return nil, err
	}
	pools, err := r.Store.Pools(ctx)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(pools))
	for i, p := range pools {
		names[i] = p.Name
	}
	return names, nil
}
