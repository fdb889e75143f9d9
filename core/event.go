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
	Moved string `json:"moved"` // a word for each thing; of a request that did not end: key=outcome

	Claimed string `json:"claimed,omitempty"` // a word for each request that was taken together with a VM
	Why     string `json:"why,omitempty"`
}

// OutputOf names the live output of one attempt: a request's key and its claim's token.
type OutputOf struct{ Key, Token string }

// Feed tells a program that looks at many things at once when to look again.
type Feed interface {
	// Next waits for up to wait until something follows in the events after the one with
	// this id, or in an output after its position ("" is its beginning). It returns the next
	// events, at most a thousand, and the outputs in which something follows.
	Next(ctx context.Context, event string, outputs map[OutputOf]string, wait time.Duration) ([]Event, []OutputOf, error)
}

// History is what happened lately. It is capped: the older, the less is left.
type History interface {
	// Events returns the next events after the one with this id, oldest first, at
	// most a thousand; none if there are no more. "" begins with what is left.
	Events(ctx context.Context, after string) ([]Event, error)
	// LastEvents returns the last n events, newest first; at most a thousand.
	LastEvents(ctx context.Context, n int) ([]Event, error)
}
