package redisstore

import (
	"context"
	"strings"

	"drover/core"
)

// eventsBatch is how many events one reading returns.
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
	out := make([]core.Event, len(got))
	for i, m := range got {
		at, _, _ := strings.Cut(m.ID, "-")
		out[i] = core.Event{ID: m.ID, At: num(at), Op: str(m.Values["op"]), By: str(m.Values["by"]), Moved: str(m.Values["moved"])}
	}
	return out, nil
}
