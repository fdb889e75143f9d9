package redisstore

import (
	"context"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// home is a client of the server that has our keys, for calls that name none of them.
func (s *Store) home(ctx context.Context) (redis.Cmdable, error) {
	nodes, ok := s.db.(*redis.ClusterClient)
	if !ok {
		return s.db, nil
	}
	c, err := nodes.MasterForKey(ctx, s.space.Key("meta"))
	if err != nil {
		return nil, fault(ctx, err, "")
	}
	return c, nil
}

// Server returns what the server that has our keys says of itself, for doctor: the fields of
// INFO's sections server, memory, persistence and replication, as far as the user may ask.
func (s *Store) Server(ctx context.Context) (map[string]string, error) {
	home, err := s.home(ctx)
	if err != nil {
		return nil, err
	}
	facts := make(map[string]string)
	for _, section := range []string{"server", "memory", "persistence", "replication"} {
		text, err := home.Info(ctx, section).Result()
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
	home, err := s.home(ctx)
	if err != nil {
		return 0, err
	}
	before := time.Now()
	there, err := home.Time(ctx).Result()
	if err != nil {
		return 0, fault(ctx, err, "")
	}
	return before.Add(time.Since(before) / 2).Sub(there), nil
}
