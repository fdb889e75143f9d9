package classes

import (
	"context"

	"drover/core"
)

// PoolChoice is a pool that can grade an assignment.
type PoolChoice struct {
	Name   string      `json:"name"`
	Limits core.Limits `json:"limits"`         // the pool's, which apply if the assignment has none
	Peer   bool        `json:"peer,omitempty"` // its VMs have a peer, as interactors need
}

// PoolChoices lists the pools that can grade assignments of a class, in order of name. Returns NOTFOUND, FORBIDDEN.
func (r *Service) PoolChoices(ctx context.Context, a core.Actor, class string) ([]PoolChoice, error) {
	if _, err := r.class(ctx, a, class, core.ActAssignmentEdit); err != nil {
		return nil, err
	}
	pools, err := r.Store.Pools(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]PoolChoice, len(pools))
	for i, p := range pools {
		all[i] = PoolChoice{Name: p.Name, Limits: p.Limits, Peer: p.Peer}
	}
	return all, nil
}
