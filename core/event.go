package core

import (
	"context"
	"time"
)

// Event is one entry of the stream of events: what one script call moved.
type Event struct {
	ID    string `json:"id"`    // its place in the stream; the next read names it
	At    int64  `json:"at_ms"` // the server's clock
	Op    string `json:"op"`
	By    string `json:"by"`    // an owner, or "-"
	Moved string `json:"moved"` // a word for each object that moved; for a request that did not end, key=outcome

	Claimed string `json:"claimed,omitempty"` // a word for each request that was claimed together with a VM
	Token   string `json:"-"`                 // of those claims
	Why     string `json:"why,omitempty"`
	VMs     string `json:"vms,omitempty"` // in which state VMs are since then: "=dirty vm vm =claimed vm", claimed ones in the order of Claimed
}

// OutputOf names the live output of one attempt: a request's key and its claim's token.
type OutputOf struct{ Key, Token string }

// Feed lets a program watch many objects at once and wait until one of them changes.
type Feed interface {
	// Next waits for up to wait until there is something after the given event, or in an output after its position
	// ("" is its beginning). It returns the next events, at most a thousand, and the outputs that have more to read.
	Next(ctx context.Context, event string, outputs map[OutputOf]string, wait time.Duration) ([]Event, []OutputOf, error)
}

// History is the stream of recent events. It is capped: the oldest are dropped first.
type History interface {
	// Events returns the next events after the one with this id, oldest first, at most a thousand; none if there are
	// no more. "" starts at the oldest event that is left.
	Events(ctx context.Context, after string) ([]Event, error)
	// LastEvents returns the last n events, newest first; at most a thousand.
	LastEvents(ctx context.Context, n int) ([]Event, error)
}
