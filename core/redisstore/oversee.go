package redisstore

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"drover/core"
)

// Oversee records the heartbeat of an overseer, whose next one is due within the given time.
func (s *Store) Oversee(ctx context.Context, within time.Duration) error {
	_, err := s.run(ctx, "oversee", "", within.Milliseconds())
	return err
}

// Overseen returns the last heartbeat of an overseer. Late is by Redis' clock.
func (s *Store) Overseen(ctx context.Context) (core.Overseen, error) {
	text, err := s.db.HGet(ctx, s.space.Key("meta"), "overseen").Result()
	if err == redis.Nil { //nolint:errorlint // it comes as it is
		return core.Overseen{Late: true}, nil
	}
	if err != nil {
		return core.Overseen{}, fault(ctx, err, "")
	}
	now, err := s.db.Time(ctx).Result()
	if err != nil {
		return core.Overseen{}, fault(ctx, err, "")
	}
	its := readRecord("overseen", text) // only the script writes it
	return core.Overseen{At: num(its["at"]), Late: num(its["due"]) < now.UnixMilli()}, nil
}
