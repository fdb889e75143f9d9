package vmfactory

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"drover/core"
)

// pairs makes two containers of each VM that core.PairVM named, so that nothing that counts, claims or loses VMs has to
// know of peers. The VM is made first and ends last: one without its peer is half-made, which a look finds and destroys.
type pairs struct{ Provider }

// Create implements Provider.
func (p pairs) Create(ctx context.Context, id string, pool core.Pool) error {
	if err := p.Provider.Create(ctx, id, pool); err != nil {
		return err
	}
	if peer := core.PeerOf(id); peer != "" {
		return p.Provider.Create(ctx, peer, pool)
	}
	return nil
}

// Prepare implements Provider.
func (p pairs) Prepare(ctx context.Context, id string) error {
	return p.both(ctx, id, p.Provider.Prepare)
}

// Check implements Provider.
func (p pairs) Check(ctx context.Context, id string) error {
	return p.both(ctx, id, p.Provider.Check)
}

func (p pairs) both(ctx context.Context, id string, do func(ctx context.Context, id string) error) error {
	peer := core.PeerOf(id)
	if peer == "" {
		return do(ctx, id)
	}
	var group errgroup.Group // without its context: one that fails must not look as if the other did
	group.Go(func() error { return do(ctx, peer) })
	return errors.Join(do(ctx, id), group.Wait())
}

// Destroy implements Provider.
func (p pairs) Destroy(ctx context.Context, id string) error {
	if peer := core.PeerOf(id); peer != "" {
		if err := p.Provider.Destroy(ctx, peer); err != nil {
			return err
		}
	}
	return p.Provider.Destroy(ctx, id)
}

// List implements Provider. A peer is listed if its VM is not there.
func (p pairs) List(ctx context.Context) ([]Instance, error) {
	all, err := p.Provider.List(ctx)
	if err != nil {
		return nil, err
	}
	by := make(map[string]Instance, len(all))
	for _, one := range all {
		by[one.ID] = one
	}
	all = slices.DeleteFunc(all, func(one Instance) bool {
		_, there := by[core.PairOf(one.ID)]
		return there
	})
	for i := range all {
		if peer := core.PeerOf(all[i].ID); peer != "" {
			its, there := by[peer]
			all[i].Used = all[i].Used || !there || its.Used
		}
	}
	return all, nil
}
