package core

import (
	"context"
	"fmt"
)

// StateChange is one change of state of a request, VM or host, as the stream of events told it.
// The state before is that of the thing's change before.
type StateChange struct {
	Kind  Entity `json:"kind"`
	Thing string `json:"thing"` // a request's key, a VM, a host
	At    int64  `json:"at_ms"` // the server's clock, in the order of the events
	N     int64  `json:"n"`     // its place among the changes of that millisecond
	State string `json:"state"` // since then; "" where it stayed as it was, such as at a drain
	How   string `json:"how"`   // the operation, or the outcome of a claim
	By    string `json:"by,omitempty"`
	With  string `json:"with,omitempty"` // the VM that a request was claimed with, or a VM's request
	Why   string `json:"why,omitempty"`
	Until int64  `json:"until_ms,omitempty"` // of a gap: when it ends
}

// A gap stands where events were lost before they were copied: changes from At to Until may be missing,
// of anything.
const (
	EntityGap Entity = "gap"
	GapThing  string = "-"
)

// Place is the change's own among those of its thing; a page of older ones names it.
func (c StateChange) Place() string { return fmt.Sprintf("%d-%d", c.At, c.N) }

// StateChangeFilter selects the changes of one thing.
type StateChangeFilter struct {
	Kind   Entity
	Thing  string
	Before string // a Place; "" is the newest
	Limit  int    // 1 to 1000; 0 is 50
}

// StateLog keeps changes of state through a loss of Redis.
type StateLog interface {
	// AddStateChanges adds changes, at most MaxStateChanges. Those that are there already stay as they are:
	// kind, thing, At and N name one. Returns INVALID, LIMIT.
	AddStateChanges(ctx context.Context, all []StateChange) error
	// StateChanges returns a page of the changes of a thing, newest first.
	StateChanges(ctx context.Context, f StateChangeFilter) ([]StateChange, error)
	// TrimStateChanges deletes changes of before the time (ms), and the oldest where there are more than most,
	// at most limit altogether. Returns how many.
	TrimStateChanges(ctx context.Context, before int64, most, limit int) (int, error)
	// Mark returns how far somebody got, "" if nothing was noted.
	Mark(ctx context.Context, name string) (string, error)
	// MoveMark notes how far somebody got, if the mark still is as it was read.
	MoveMark(ctx context.Context, name, from, to string) (bool, error)
}

// Bounds on the log of states.
const (
	MaxStateChanges  = 1000    // of one call
	MostStateChanges = 5000000 // that are kept
)
