package redisstore

import (
	"context"
	"strings"
	"time"
)

// Server returns what the server that has our keys reports of itself, for doctor: the fields of INFO's sections
// server, memory, persistence and replication, as far as the user may read them.
func (s *Store) Server(ctx context.Context) (map[string]string, error) {
	facts := make(map[string]string)
	for _, section := range []string{"server", "memory", "persistence", "replication"} {
		text, err := s.db.Info(ctx, section).Result()
		if err != nil && section != "server" {
			continue // an embedded server does not have the section
		}
		if err != nil {
			return nil, fault(ctx, err, "")
		}
		for line := range strings.Lines(text) {
			if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
				facts[name] = value
			}
		}
	}
	return facts, nil
}

// Skew returns how far this machine's clock is ahead of the server's. Its error is at most the time of the round
// trip.
func (s *Store) Skew(ctx context.Context) (time.Duration, error) {
	before := time.Now()
	there, err := s.db.Time(ctx).Result()
	if err != nil {
		return 0, fault(ctx, err, "")
	}
	return before.Add(time.Since(before) / 2).Sub(there), nil
}
