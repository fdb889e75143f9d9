package client

import (
	"context"
	"strconv"
	"time"

	"drover/core/cluster/history"
)

// Stats returns what ended in the cluster in a span of time, parted by one of history.Ways or, by "", as a whole.
func (c *Client) Stats(ctx context.Context, by string, from, until time.Time) (history.Stats, error) {
	return get[history.Stats](ctx, c, values("by", by, "since_ms", ms(from), "until_ms", ms(until)), "stats")
}

// ClassStats returns what ended of the tests of a class's submissions, parted by one of history.ClassWays or, by "", as
// a whole.
func (c *Client) ClassStats(ctx context.Context, class, by string, from, until time.Time) (history.Stats, error) {
	return get[history.Stats](ctx, c, values("by", by, "since_ms", ms(from), "until_ms", ms(until)), "stats", "classes", class)
}

// ms is a time as the API has it.
func ms(at time.Time) string { return strconv.FormatInt(at.UnixMilli(), 10) }
