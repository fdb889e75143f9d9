package redisstore

import (
	"context"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// home returns a client of the server that has our keys, for calls that name no key.
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

// Server returns what the server that has our keys reports of itself, for doctor: the fields of INFO's sections
// server, memory, persistence and replication, as far as the user may read them.
func (s *Store) Server(ctx context.Context) (map[string]string, error) {
	home, err := s.home(ctx)
	if err != nil {
		return nil, err
	}
	facts := make(map[string]string)
	for _, section := range []string{"server", "memory", "persistence", "replication"} {
		text, err := home.Info(ctx, section).Result()
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
