package redisstore

import (
	"context"
	"errors"

	"drover/core"

	"github.com/redis/go-redis/v9"
)

// Outages implements core.Pools.
func (s *Store) Outages(ctx context.Context) (map[string]core.Outage, error) {
	names, err := s.db.SMembers(ctx, s.space.Key("pools")).Result()
	if err != nil {
		return nil, fault(ctx, err, "")
	}
	texts := make([]*redis.StringCmd, len(names))
	_, err = s.db.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, name := range names {
			texts[i] = p.HGet(ctx, s.space.Key("pool", name), "outage")
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, fault(ctx, err, "")
	}
	clock, err := s.ReadClock(ctx)
	if err != nil {
		return nil, err
	}
	out := make(map[string]core.Outage)
	for i, name := range names {
		if its := readRecord("outage", texts[i].Val()); its != nil {
			o := core.Outage{Since: num(its["since"]), Host: its["host"], Why: its["why"]}
			o.Lasted = clock.AbsentFor(o.Since)
			out[name] = o
		}
	}
	return out, nil
}

// SetOutage implements core.Pools.
func (s *Store) SetOutage(ctx context.Context, pool string, o core.Outage) (bool, error) {
	reply, err := s.run(ctx, "pool_outage", pool, pool, o.Host, oneLine(o.Why))
	return num(reply) == 1, err
}
