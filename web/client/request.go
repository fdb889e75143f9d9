package client

import (
	"context"
	"iter"
)

// RequestEvents yields the events of a request, from behind the one with id last; "" is
// from its beginning.
func (c *Client) RequestEvents(ctx context.Context, id, last string) iter.Seq2[Event, error] {
	return c.events(ctx, []string{"requests", id, "events"}, last)
}
