package cells

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"drover/core"
)

// mostEvents is how many events one call returns, as those of a cell do.
const mostEvents = 1000

// Events implements core.History. Events of several cells are in the order of their times, by each server's clock: one
// whose cell lagged behind may come too late for a reader that goes on from the last event.
func (c *Cells) Events(ctx context.Context, after string) ([]core.Event, error) {
	events, err := list(ctx, c, func(ctx context.Context, r Redis) ([]core.Event, error) { return r.Events(ctx, after) })
	if c.Several() {
		slices.SortStableFunc(events, inOrder)
		events = events[:min(len(events), mostEvents)]
	}
	return events, err
}

// LastEvents implements core.History.
func (c *Cells) LastEvents(ctx context.Context, n int) ([]core.Event, error) {
	events, err := list(ctx, c, func(ctx context.Context, r Redis) ([]core.Event, error) { return r.LastEvents(ctx, n) })
	if c.Several() {
		slices.SortStableFunc(events, func(a, b core.Event) int { return inOrder(b, a) })
		events = events[:min(len(events), n)]
	}
	return events, err
}

// inOrder compares events by their ids: milliseconds and a number.
func inOrder(a, b core.Event) int {
	ams, an := parts(a.ID)
	bms, bn := parts(b.ID)
	return cmp.Or(cmp.Compare(ams, bms), cmp.Compare(an, bn))
}

func parts(id string) (ms, n int64) {
	first, second, _ := strings.Cut(id, "-")
	ms, _ = strconv.ParseInt(first, 10, 64)
	n, _ = strconv.ParseInt(second, 10, 64)
	return ms, n
}

// Source is the stream of events of one cell, for those who wait for the next one.
type Source struct {
	cell *Cell
}

// Sources returns one for each cell.
func (c *Cells) Sources() []Source {
	all := make([]Source, len(c.all))
	for i, cell := range c.all {
		all[i] = Source{cell}
	}
	return all
}

// Next implements core.Feed.
func (s Source) Next(ctx context.Context, event string, outputs map[core.OutputOf]string, wait time.Duration) ([]core.Event, []core.OutputOf, error) {
	r, err := s.cell.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	return r.Next(ctx, event, outputs, wait)
}

// LastEvents is as core.History's.
func (s Source) LastEvents(ctx context.Context, n int) ([]core.Event, error) {
	r, err := s.cell.open(ctx)
	if err != nil {
		return nil, err
	}
	return r.LastEvents(ctx, n)
}
