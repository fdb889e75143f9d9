package history

import (
	"context"
	"strconv"
	"strings"
	"time"

	"drover/core"
)

// markCopied is how far the stream of events was copied: the id of the last event.
const markCopied = "history"

const (
	copyPages = 30  // of events in one run: more than the stream keeps
	copyBatch = 200 // changes of one write, so that others' writes to the store do not wait for long
)

// Store is what a Copier needs of the result store.
type Store interface {
	core.StateLog
	Terminal(ctx context.Context, keys []string) (map[string]core.RequestState, error)
}

// Copier copies changes of state from the stream of events into the result store.
type Copier struct {
	Events func(ctx context.Context, after string) ([]core.Event, error) // as core.History has them
	Store  Store
	Now    func(ctx context.Context) (time.Time, error) // by Redis' clock
}

// Copied is what one run did.
type Copied struct{ Changes, Gaps int }

// Run copies what happened since the last run, of whichever overseer. The event that was copied last must still be
// there: if it is not, Redis was wiped or set back, or has dropped it, and a gap is noted.
func (c Copier) Run(ctx context.Context) (done Copied, err error) {
	mark, err := c.Store.Mark(ctx, markCopied)
	for round := 0; err == nil && round < copyPages; round++ {
		var events []core.Event
		var gap []core.StateChange
		if events, gap, err = c.next(ctx, mark); err != nil || len(events) == 0 {
			break
		}
		changes, wrong := c.read(ctx, events)
		if wrong != nil {
			return done, wrong
		}
		changes = append(gap, changes...)
		for from := 0; err == nil && from < len(changes); from += copyBatch {
			err = c.Store.AddStateChanges(ctx, changes[from:min(from+copyBatch, len(changes))])
		}
		if err != nil {
			break
		}
		last := events[len(events)-1].ID
		moved := false
		if moved, err = c.Store.MoveMark(ctx, markCopied, mark, last); err != nil {
			break
		}
		if moved {
			done.Changes, done.Gaps = done.Changes+len(changes)-len(gap), done.Gaps+len(gap)
			mark = last
		} else { // another overseer copied the same
			mark, err = c.Store.Mark(ctx, markCopied)
		}
	}
	return done, err
}

// next returns the events after the mark. If the marked event is not there, it returns the oldest events that are, and
// the gap.
func (c Copier) next(ctx context.Context, mark string) ([]core.Event, []core.StateChange, error) {
	if mark == "" {
		events, err := c.Events(ctx, "")
		return events, nil, err
	}
	events, err := c.Events(ctx, before(mark))
	if err != nil {
		return nil, nil, err
	}
	if len(events) > 0 && events[0].ID == mark {
		if len(events) == 1 {
			return nil, nil, nil
		}
		return events[1:], nil, nil
	}
	events, err = c.Events(ctx, "")
	if err != nil || len(events) == 0 {
		return nil, nil, err // it is known how long the gap is once something happens
	}
	now, err := c.Now(ctx)
	if err != nil {
		return nil, nil, err
	}
	from, n := place(mark)
	until := max(from, now.UnixMilli())
	for _, e := range events {
		if e.At > from {
			until = e.At
			break
		}
	}
	return events, []core.StateChange{{
		Kind: core.EntityGap, Thing: core.GapThing, At: from, N: n*eventPlaces + eventPlaces - 1, Until: until, How: "gap",
		Why: "Redis was wiped or set back, or dropped events before they were copied",
	}}, nil
}

// place takes an id of the stream apart.
func place(id string) (ms, n int64) {
	first, second, _ := strings.Cut(id, "-")
	ms, _ = strconv.ParseInt(first, 10, 64)
	n, _ = strconv.ParseInt(second, 10, 64)
	return ms, n
}

// before is the greatest id below an id.
func before(id string) string {
	ms, n := place(id)
	if n > 0 {
		return strconv.FormatInt(ms, 10) + "-" + strconv.FormatInt(n-1, 10)
	}
	return strconv.FormatInt(ms-1, 10) + "-18446744073709551615"
}

// read turns events into changes. How a request ended stands in the result store.
func (c Copier) read(ctx context.Context, events []core.Event) ([]core.StateChange, error) {
	var all []core.StateChange
	for i := range events {
		all = append(all, Changes(events[i])...)
	}
	var keys []string
	for i := range all {
		if all[i].State == ended {
			keys = append(keys, all[i].Thing)
		}
	}
	if len(keys) == 0 {
		return all, nil
	}
	ends, err := c.Store.Terminal(ctx, keys)
	if err != nil {
		return nil, err
	}
	known := all[:0]
	for _, change := range all {
		if change.State == ended {
			state, is := ends[change.Thing]
			if !is {
				continue // a task, or a request that was deleted since
			}
			change.State = string(state)
		}
		known = append(known, change)
	}
	return known, nil
}
