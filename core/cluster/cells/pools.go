package cells

import (
	"cmp"
	"context"
	"slices"

	"drover/core"
)

// SetPool implements core.Pools, in the cell that the pool names.
func (c *Cells) SetPool(ctx context.Context, p core.Pool) error {
	cell, err := c.named(p.Cell)
	if err != nil {
		return err
	}
	r, err := cell.open(ctx)
	if err != nil {
		return err
	}
	return r.SetPool(ctx, p)
}

// RemovePool implements core.Pools.
func (c *Cells) RemovePool(ctx context.Context, name string, asks bool) error {
	// A pool that the store has not any more is still in the Redis of its cell.
	cell, err := c.ofPool(ctx, name)
	if err != nil {
		return err
	}
	if len(c.all) > 1 && cell == c.all[0] {
		pools, err := c.ListPools(ctx)
		if err != nil {
			return err
		}
		if at := slices.IndexFunc(pools, func(p core.Pool) bool { return p.Name == name }); at >= 0 {
			if cell, err = c.named(pools[at].Cell); err != nil {
				return err
			}
		}
	}
	r, err := cell.open(ctx)
	if err != nil {
		return err
	}
	return r.RemovePool(ctx, name, asks)
}

// GetPool implements core.Pools.
func (c *Cells) GetPool(ctx context.Context, name string) (core.Pool, error) {
	return ask(ctx, c.ofPool, name, func(r Redis) (core.Pool, error) { return r.GetPool(ctx, name) })
}

// ListPools implements core.Pools.
func (c *Cells) ListPools(ctx context.Context) ([]core.Pool, error) {
	pools, err := list(ctx, c, func(ctx context.Context, r Redis) ([]core.Pool, error) { return r.ListPools(ctx) })
	if c.Several() {
		slices.SortStableFunc(pools, func(a, b core.Pool) int { return cmp.Compare(a.Name, b.Name) })
	}
	return pools, err
}

// Outages implements core.Pools.
func (c *Cells) Outages(ctx context.Context) (map[string]core.Outage, error) {
	return table(ctx, c, func(ctx context.Context, r Redis) (map[string]core.Outage, error) { return r.Outages(ctx) })
}

// SetOutage implements core.Pools.
func (c *Cells) SetOutage(ctx context.Context, pool string, o core.Outage) (bool, error) {
	return ask(ctx, c.ofPool, pool, func(r Redis) (bool, error) { return r.SetOutage(ctx, pool, o) })
}

// Capacities implements core.Pools.
func (c *Cells) Capacities(ctx context.Context) (map[string]core.Size, error) {
	return table(ctx, c, func(ctx context.Context, r Redis) (map[string]core.Size, error) { return r.Capacities(ctx) })
}

// Room implements core.Pools: the limits on waiting work are each cell's own.
func (c *Cells) Room(ctx context.Context, specs ...core.Spec) error {
	all, err := groups(ctx, specs, c.ofSpec)
	if err != nil {
		return err
	}
	for _, g := range all {
		r, err := g.cell.open(ctx)
		if err != nil {
			return err
		}
		if err := r.Room(ctx, g.items...); err != nil {
			return err
		}
	}
	return nil
}
