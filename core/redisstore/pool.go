package redisstore

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"drover/core"

	"github.com/redis/go-redis/v9"
)

// SetPool implements core.Pools.
func (s *Store) SetPool(ctx context.Context, p core.Pool) error {
	if err := p.Check(); err != nil {
		return err
	}
	text, err := json.Marshal(p)
	if err != nil {
		return core.Wrap(err, core.CodeInternal, p.Name, "pool %s cannot be written as JSON", p.Name)
	}
	reply, err := s.run(ctx, "pool_set", p.Name, p.Name, text, flag(p.Paused), p.MaxWaiting, p.Max, p.Running)
	return s.ringHosts(ctx, reply, err)
}

// ringHosts rings the hosts that a script left over: one call rings so many, and there may be thousands.
func (s *Store) ringHosts(ctx context.Context, reply any, err error) error {
	const most = 125
	for rung := 0; err == nil && num(reply) == most; {
		rung += int(num(reply))
		reply, err = s.run(ctx, "hosts_ring", "", rung)
	}
	return err
}

// GetPool implements core.Pools.
func (s *Store) GetPool(ctx context.Context, name string) (core.Pool, error) {
	if err := core.CheckName("pool", name); err != nil {
		return core.Pool{}, err
	}
	return toPool(ctx, name, s.db.HGet(ctx, s.space.Key("pool", name), "settings"))
}

// toPool reads a pool's settings.
func toPool(ctx context.Context, name string, settings *redis.StringCmd) (core.Pool, error) {
	text, err := settings.Bytes()
	if errors.Is(err, redis.Nil) {
		return core.Pool{}, core.Errorf(core.CodeNotFound, name, "there is no pool %s", name)
	}
	if err != nil {
		return core.Pool{}, fault(ctx, err, name)
	}
	var p core.Pool
	err = json.Unmarshal(text, &p)
	return p, core.Wrap(err, core.CodeInternal, name, "the settings of pool %s in Redis are not readable", name)
}

// ListPools implements core.Pools.
func (s *Store) ListPools(ctx context.Context) ([]core.Pool, error) {
	names, err := s.db.SMembers(ctx, s.space.Key("pools")).Result()
	if err != nil {
		return nil, fault(ctx, err, "")
	}
	slices.Sort(names)
	settings := make([]*redis.StringCmd, len(names))
	_, err = s.db.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, n := range names {
			settings[i] = p.HGet(ctx, s.space.Key("pool", n), "settings")
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, fault(ctx, err, "")
	}
	out := make([]core.Pool, 0, len(names))
	for i, n := range names {
		p, err := toPool(ctx, n, settings[i])
		switch {
		case core.Is(err, core.CodeNotFound): // removed meanwhile, as a lease's pool is at its end
		case err != nil:
			return nil, err
		default:
			out = append(out, p)
		}
	}
	return out, nil
}
