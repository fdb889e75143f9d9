package redisstore

import (
	"context"
	"strings"
	"time"
)

// Server returns what the server says of itself, for doctor: the fields of INFO's
// sections server, memory and persistence, as far as the user may ask.
func (s *Store) Server(ctx context.Context) (map[string]string, error) {
	facts := make(map[string]string)
	for _, section := range []string{"server", "memory", "persistence"} {
		text, err := s.db.Info(ctx, section).Result()
		if err != nil && section != "server" {
			continue // an embedded one has no such section
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

// Skew returns how far this machine's clock is ahead of the server's, give or
// take the way there and back.
func (s *Store) Skew(ctx context.Context) (time.Duration, error) {
	before := time.Now()
	there, err := s.db.Time(ctx).Result()
	if err != nil {
		return 0, fault(ctx, err, "")
	}
	return before.Add(time.Since(before) / 2).Sub(there), nil
}
