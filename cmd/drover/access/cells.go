package access

import (
	"context"
	"errors"
	"sync"

	"drover/core"
	"drover/core/cluster/cells"
	"drover/core/config"
	"drover/core/redisstore"
	"drover/core/requests"
	"drover/core/requests/intake"
)

// opened are connections to other cells, made when they are needed.
type opened struct {
	mu  sync.Mutex
	all []*redisstore.Store
}

func (o *opened) close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	var errs []error
	for _, r := range o.all {
		errs = append(errs, r.Close())
	}
	o.all = nil
	return errors.Join(errs...)
}

// openCells makes the view of all cells. One that is away is connected to once it answers.
func (h *Cluster) openCells() error {
	var all []*cells.Cell
	for _, at := range h.Config.AllCells() {
		open := func(ctx context.Context) (cells.Redis, error) { return h.openCell(ctx, at) }
		if at.Name == h.Config.Cell {
			open = func(context.Context) (cells.Redis, error) { return h.Redis, nil }
		}
		all = append(all, &cells.Cell{Name: at.Name, Open: open})
	}
	h.Cells = cells.New(h.Store, all...)
	h.Seen = h.Cells
	if h.Config.Source("cell") == config.Default {
		return nil
	}
	var err error
	h.Seen, err = h.Cells.Only(h.Config.Cell)
	return err
}

// openCell connects to another cell, and refuses one whose stores are others than ours.
func (h *Cluster) openCell(ctx context.Context, at config.CellAt) (cells.Redis, error) {
	r, err := redisstore.Open(ctx, redisOptions(h.Config, at))
	if err != nil {
		return nil, err
	}
	if err := r.SameLedger(ctx, h.stores(ctx)); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	h.opened.mu.Lock()
	defer h.opened.mu.Unlock()
	h.opened.all = append(h.opened.all, r)
	return r, nil
}

// CellIntake makes the intake of the cell's own overseer.
func (h *Cluster) CellIntake() *intake.Intake {
	return &intake.Intake{
		Store: h.Store, Queue: h.Redis, Pools: h.Redis, Tasks: h.Cells, Blobs: h.Blobs, Now: h.Now, Cells: h.Config.CellNames(),
		Scope: &intake.Scope{Cell: h.Config.Cell, Whole: h.Intake},
	}
}

// SetFeeds gives a watch the events of all cells.
func (h *Cluster) SetFeeds(w *requests.Watch) {
	feeds := h.Cells.Sources()
	w.Feed, w.Last = feeds[0], feeds[0].LastEvents
	for _, other := range feeds[1:] {
		w.Others = append(w.Others, other)
	}
}

// InFirstCell refuses to run what belongs to all cells together in another one than the first.
func (h *Cluster) InFirstCell(what string) error {
	if h.Config.Cell == "" {
		return nil
	}
	return core.Errorf(core.CodeInvalid, "cell", "%s serves all cells and runs in the first: leave the setting cell (%s, from %s) away", what, h.Config.Cell, h.Config.Source("cell"))
}
