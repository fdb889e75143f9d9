package access

import (
	"context"
	"time"

	"drover/core/cluster/history"
)

// Stats returns what ended in the cluster, as a backend does.
func (s *Session) Stats(ctx context.Context, by string, from, until time.Time) (history.Stats, error) {
	return s.Operate().Stats(ctx, s.Actor, by, from, until)
}

// ClassStats returns what ended of a class, as a backend does.
func (s *Session) ClassStats(ctx context.Context, class, by string, from, until time.Time) (history.Stats, error) {
	return s.Reg.Stats(ctx, s.Actor, class, by, from, until)
}
