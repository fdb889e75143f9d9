package intake

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"drover/core"
)

// Scope makes an Intake that of one cell: it restores only that cell's pools, and sweeps, expires and removes only
// their requests. All cells share one store, and a pool's record says which cell has it. A request whose pool is gone
// is the first cell's, and so are tasks and batches.
type Scope struct {
	Cell  string  // "" is the first
	Whole *Intake // for what concerns several cells: batches, and requests that supersede others

	mu    sync.Mutex
	read  time.Time
	cells map[string]string // pool → cell, without those of the first
}

// scopeAge is for how long the cells of pools are cached. Meanwhile a pool may have left the cell: the cell's Redis has
// no such pool then, and refuses its requests.
const scopeAge = time.Second

// whole returns the Intake of all cells.
func (in *Intake) whole() *Intake {
	if in.Scope == nil || in.Scope.Whole == nil {
		return in
	}
	return in.Scope.Whole
}

// first reports whether tasks and batches are this Intake's concern.
func (in *Intake) first() bool { return in.Scope == nil || in.Scope.Cell == "" }

// scoped returns those of the specs that are the cell's.
func (in *Intake) scoped(ctx context.Context, specs []core.Spec) ([]core.Spec, error) {
	if in.Scope == nil || len(specs) == 0 {
		return specs, nil
	}
	cells, err := in.Scope.of(ctx, in.Store)
	if err != nil || len(cells) == 0 && in.Scope.Cell == "" {
		return specs, err
	}
	return pick(specs, func(i int) bool { return cells[specs[i].Pool] == in.Scope.Cell }), nil
}

func (s *Scope) of(ctx context.Context, store core.PoolSettings) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if age := time.Since(s.read); s.cells != nil && age < scopeAge {
		return s.cells, nil
	}
	pools, err := store.Pools(ctx)
	if err != nil {
		return nil, err
	}
	s.cells, s.read = make(map[string]string), time.Now()
	for i := range pools {
		if pools[i].Cell != "" {
			s.cells[pools[i].Name] = pools[i].Cell
		}
	}
	return s.cells, nil
}

// scopedPools returns the pools that the store has for the cell.
func (in *Intake) scopedPools(ctx context.Context) ([]core.Pool, error) {
	all, err := in.Store.Pools(ctx)
	if err != nil || in.Scope == nil {
		return all, err
	}
	return slices.DeleteFunc(slices.Clone(all), func(p core.Pool) bool { return p.Cell != in.Scope.Cell }), nil
}

// stays returns INVALID for a pool in a cell that is not in the settings, and CONFLICT for a pool that the store has in another cell: requests of it may be in that cell's Redis.
func (in *Intake) stays(ctx context.Context, p core.Pool) error {
	if p.Cell != "" && in.Scope == nil && !slices.Contains(in.Cells, p.Cell) {
		return core.Errorf(core.CodeInvalid, p.Name, "%s is not in the settings, which name: %s", core.CellText(p.Cell), strings.Join(append([]string{core.FirstCell}, in.Cells...), ", "))
	}
	all, err := in.Store.Pools(ctx)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(all, func(was core.Pool) bool { return was.Name == p.Name })
	if at < 0 || all[at].Cell == p.Cell {
		return nil
	}
	return core.Errorf(core.CodeConflict, p.Name,
		"pool %s is in %s and cannot be moved to %s: delete it once nothing of it waits or runs, and make it anew there", p.Name, core.CellText(all[at].Cell), core.CellText(p.Cell))
}
