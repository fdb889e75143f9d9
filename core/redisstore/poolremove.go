package redisstore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"drover/core"

	"github.com/redis/go-redis/v9"
)

// RemovePool implements core.Pools. It counts running requests without a script, which would block Redis while it looks
// at all owners. The script refuses if any were claimed meanwhile.
func (s *Store) RemovePool(ctx context.Context, name string, asks bool) error {
	if err := core.CheckName("pool", name); err != nil {
		return err
	}
	hosts, err := s.db.ZRange(ctx, s.space.Key("hosts"), 0, -1).Result()
	if err != nil {
		return fault(ctx, err, name)
	}
	what := "remove"
	if asks {
		what = "ask"
	}
	const tries = 5
	some, done := hosts[:min(len(hosts), hostsAtOnce)], false
	for try := 0; try < tries && err == nil && !done; try++ {
		done, err = s.removePool(ctx, name, what, some)
	}
	switch {
	case err != nil || asks:
		return err
	case !done:
		return core.Errorf(core.CodeConflict, name, "requests of pool %s are claimed all the time: pause it first", name)
	}
	for some := range slices.Chunk(hosts[len(some):], hostsAtOnce) {
		if _, err := s.run(ctx, "pool_remove", name, append([]any{name, "rest", 0, 0}, anys(some)...)...); err != nil {
			return err
		}
	}
	return nil
}

// removePool returns false if something was claimed meanwhile.
func (s *Store) removePool(ctx context.Context, name, what string, hosts []string) (bool, error) {
	tickets, err := s.db.HGet(ctx, s.space.Key("pool", name), "tickets").Result()
	if err != nil && err != redis.Nil { //nolint:errorlint // it comes as it is: nothing was claimed from it
		return false, fault(ctx, err, name)
	}
	if tickets == "" {
		tickets = "0"
	}
	running, err := s.runningIn(ctx, name)
	if err != nil {
		return false, err
	}
	reply, err := s.run(ctx, "pool_remove", name, append([]any{name, what, tickets, running}, anys(hosts)...)...)
	if err != nil {
		return false, err
	}
	if num(list(reply)[0]) < 0 {
		return false, nil
	}
	var users []string
	for i, what := range []string{"waiting requests", "running requests"} {
		if n := num(list(reply)[i]); n > 0 {
			users = append(users, fmt.Sprintf("%d %s", n, what))
		}
	}
	return true, core.PoolUsed(name, users)
}

// runningIn counts the requests of a pool in slots.
func (s *Store) runningIn(ctx context.Context, pool string) (int, error) {
	n, head := 0, `"pool":"`+pool+`","priority":`
	for cursor := uint64(0); ; {
		pairs, next, err := s.db.HScan(ctx, s.space.Key("held"), cursor, "", maxBatch).Result()
		if err != nil {
			return 0, fault(ctx, err, pool)
		}
		var keys []string
		for pair := range slices.Chunk(pairs, 2) {
			keys = append(keys, pair[0])
		}
		for some := range slices.Chunk(keys, maxBatch) {
			texts, err := s.db.HMGet(ctx, s.space.Key("specs"), some...).Result()
			if err != nil {
				return 0, fault(ctx, err, pool)
			}
			for _, text := range texts {
				// Names have no quotes, so this is in the spec's head.
				its, _, _ := strings.Cut(str(text), `"submitter":`)
				if strings.Contains(its, head) {
					n++
				}
			}
		}
		if cursor = next; cursor == 0 {
			return n, nil
		}
	}
}
