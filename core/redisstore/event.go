package redisstore

import (
	"context"
	"strings"

	"drover/core"

	"github.com/redis/go-redis/v9"
)

// eventsBatch is the most events that one call returns.
const eventsBatch = 1000

// Events implements core.History.
func (s *Store) Events(ctx context.Context, after string) ([]core.Event, error) {
	from := "-"
	if after != "" {
		from = "(" + after
	}
	got, err := s.db.XRangeN(ctx, s.space.Key("events"), from, "+", eventsBatch).Result()
	if err != nil {
		return nil, fault(ctx, err, "")
	}
	return toEvents(got), nil
}

// LastEvents implements core.History.
func (s *Store) LastEvents(ctx context.Context, n int) ([]core.Event, error) {
	got, err := s.db.XRevRangeN(ctx, s.space.Key("events"), "+", "-", int64(min(max(n, 1), eventsBatch))).Result()
	if err != nil {
		return nil, fault(ctx, err, "")
	}
	return toEvents(got), nil
}

func toEvents(got []redis.XMessage) []core.Event {
	out := make([]core.Event, len(got))
	for i, m := range got {
		at, _, _ := strings.Cut(m.ID, "-")
		out[i] = core.Event{
			ID: m.ID, At: num(at), Op: str(m.Values["op"]), By: str(m.Values["by"]), Moved: str(m.Values["moved"]),
			Claimed: str(m.Values["claimed"]), Token: str(m.Values["token"]), Why: str(m.Values["why"]),
			VMs: str(m.Values["vms"]),
		}
	}
	return out
}
