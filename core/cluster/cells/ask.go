package cells

import (
	"context"
	"errors"
	"maps"
	"sync"
)

// ask asks the cell that find names.
func ask[T any](ctx context.Context, find func(context.Context, string) (*Cell, error), name string, do func(Redis) (T, error)) (T, error) {
	var none T
	cell, err := find(ctx, name)
	if err != nil {
		return none, err
	}
	r, err := cell.open(ctx)
	if err != nil {
		return none, err
	}
	return do(r)
}

// tell is ask for what has no answer.
func tell(ctx context.Context, find func(context.Context, string) (*Cell, error), name string, do func(Redis) error) error {
	_, err := ask(ctx, find, name, func(r Redis) (struct{}, error) { return struct{}{}, do(r) })
	return err
}

// answer is one cell's part of a reading of all.
type answer[T any] struct {
	cell  *Cell
	value T
}

// readAll asks all cells at once and returns the answers of those that answer, in the order of the cells. Returns the
// errors if none does.
func readAll[T any](ctx context.Context, c *Cells, read func(context.Context, Redis) (T, error)) ([]answer[T], error) {
	if len(c.all) == 1 {
		r, err := c.all[0].open(ctx)
		if err != nil {
			return nil, err
		}
		value, err := read(ctx, r)
		return []answer[T]{{c.all[0], value}}, err
	}
	values, errs := make([]T, len(c.all)), make([]error, len(c.all))
	var asked sync.WaitGroup
	for i, cell := range c.all {
		asked.Go(func() { values[i], errs[i] = one(ctx, cell, read) })
	}
	asked.Wait()
	var all []answer[T]
	for i, cell := range c.all {
		if errs[i] == nil {
			all = append(all, answer[T]{cell, values[i]})
		}
	}
	if len(all) == 0 {
		return nil, errors.Join(errs...)
	}
	return all, nil
}

// one asks a cell, for a limited time.
func one[T any](ctx context.Context, cell *Cell, read func(context.Context, Redis) (T, error)) (value T, err error) {
	if err := cell.rests(); err != nil {
		return value, err
	}
	ctx, cancel := context.WithTimeout(ctx, answers)
	defer cancel()
	r, err := cell.open(ctx)
	if err != nil {
		return value, err
	}
	value, err = read(ctx, r)
	cell.asked(err)
	return value, err
}

// list puts the lists of all cells together.
func list[T any](ctx context.Context, c *Cells, read func(context.Context, Redis) ([]T, error)) ([]T, error) {
	all, err := readAll(ctx, c, read)
	if len(all) == 1 {
		return all[0].value, err
	}
	out := []T{}
	for _, of := range all {
		out = append(out, of.value...)
	}
	return out, err
}

// table puts the tables of all cells together.
func table[T any](ctx context.Context, c *Cells, read func(context.Context, Redis) (map[string]T, error)) (map[string]T, error) {
	all, err := readAll(ctx, c, read)
	if len(all) == 1 {
		return all[0].value, err
	}
	out := make(map[string]T)
	for _, of := range all {
		maps.Copy(out, of.value)
	}
	return out, err
}

// group is what one cell has of some items: the items, and their places among all.
type group[T any] struct {
	cell   *Cell
	items  []T
	places []int
}

// groups parts items by the cells that find names.
func groups[T any](ctx context.Context, items []T, find func(context.Context, T) (*Cell, error)) ([]group[T], error) {
	var all []group[T]
	of := make(map[*Cell]int)
	for i, item := range items {
		cell, err := find(ctx, item)
		if err != nil {
			return nil, err
		}
		at, known := of[cell]
		if !known {
			at = len(all)
			of[cell], all = at, append(all, group[T]{cell: cell})
		}
		all[at].items, all[at].places = append(all[at].items, item), append(all[at].places, i)
	}
	return all, nil
}

// spread asks each cell once for all of its items, and puts the answers in the order of the items. Whatever one cell
// does not answer fails the whole call.
func spread[T, A any](ctx context.Context, items []T, find func(context.Context, T) (*Cell, error), do func(Redis, []T) ([]A, error)) ([]A, error) {
	out := make([]A, len(items))
	all, err := groups(ctx, items, find)
	for _, g := range all {
		if err != nil {
			break
		}
		var r Redis
		var got []A
		if r, err = g.cell.open(ctx); err == nil {
			got, err = do(r, g.items)
		}
		for i := 0; err == nil && i < len(got) && i < len(g.places); i++ {
			out[g.places[i]] = got[i]
		}
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}
