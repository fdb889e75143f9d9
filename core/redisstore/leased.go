package redisstore

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"drover/core"

	"github.com/redis/go-redis/v9"
)

// SetLeased implements core.LeasedPools.
func (s *Store) SetLeased(ctx context.Context, l core.LeasedPoolSetting) error {
	p := l.Pool
	if err := p.Check(); err != nil {
		return err
	}
	if p.Lease == "" {
		return core.Errorf(core.CodeInvalid, p.Name, "pool %s is no lease's", p.Name)
	}
	names := l.Submitters
	if l.Class != "" {
		names = append([]string{l.Class}, names...)
	}
	for _, name := range append([]string{p.Of}, names...) {
		if err := core.CheckName("holder", name); err != nil {
			return err
		}
	}
	text, err := json.Marshal(p)
	if err != nil {
		return core.Wrap(err, core.CodeInternal, p.Name, "pool %s cannot be written as JSON", p.Name)
	}
	reply, err := s.run(ctx, "lease_set", p.Name, p.Name, text, flag(p.Paused), p.MaxWaiting, p.Max, p.Running, p.Of,
		flag(p.Lends), flag(l.Open), l.Class, strings.Join(l.Submitters, " "))
	return s.ringHosts(ctx, reply, err)
}

// Leased implements core.LeasedPools.
func (s *Store) Leased(ctx context.Context) ([]core.LeasedState, error) {
	reply, err := s.run(ctx, "lease_list", "")
	if err != nil {
		return nil, err
	}
	const width = 5
	var out []core.LeasedState
	for row := range slices.Chunk(list(reply), width) {
		if len(row) < width {
			return nil, core.Errorf(core.CodeInternal, "", "the script that lists pools of leases answered %d parts at the end", len(row))
		}
		name, its := str(row[0]), readRecord("holders", str(row[2]))
		l := core.LeasedState{Waiting: int(num(row[3])), Lent: int(num(row[4]))}
		if err := json.Unmarshal([]byte(str(row[1])), &l.Pool); err != nil || its == nil {
			return nil, core.Wrap(err, core.CodeInternal, name, "the settings of pool %s in Redis are not readable", name)
		}
		l.Open, l.Class, l.Submitters = num(its["open"]) == 1, its["class"], strings.Fields(its["submitters"])
		out = append(out, l)
	}
	return out, s.countClean(ctx, out)
}

// countClean counts the clean VMs of the pools. It uses no script: on many hosts that would block Redis.
func (s *Store) countClean(ctx context.Context, pools []core.LeasedState) error {
	if len(pools) == 0 {
		return nil
	}
	hosts, err := s.db.ZRange(ctx, s.space.Key("hosts"), 0, -1).Result()
	if err != nil {
		return fault(ctx, err, "")
	}
	lens := make([]*redis.IntCmd, len(hosts)*len(pools))
	err = s.pipelined(ctx, len(lens), func(p redis.Pipeliner, i int) {
		lens[i] = p.LLen(ctx, s.space.Key("clean", hosts[i/len(pools)], pools[i%len(pools)].Pool.Name))
	})
	for i := range lens {
		pools[i%len(pools)].Clean += int(lens[i].Val())
	}
	return err
}

// Bounds of the requests that one call moves between pools, and takes lent VMs from: each costs Redis some twenty
// commands, and some forty.
const (
	leaseBatch  = 25
	revokeBatch = 10
)

// Reroute implements core.LeasedPools.
func (s *Store) Reroute(ctx context.Context, specs []core.Spec) (int, error) {
	moved := 0
	for chunk := range slices.Chunk(specs, leaseBatch) {
		args := make([]any, 0, 3*len(chunk))
		for i := range chunk {
			args = append(args, chunk[i].Key(), chunk[i].Pool, chunk[i].Graded())
		}
		reply, err := s.run(ctx, "lease_reroute", chunk[0].ID, args...)
		if err != nil {
			return moved, err
		}
		moved += int(num(reply))
	}
	return moved, nil
}

// Apart implements core.LeasedPools.
func (s *Store) Apart(ctx context.Context, pool string, limit int) ([]string, error) {
	keys, err := s.db.LRange(ctx, s.space.Key("apart", pool), 0, int64(limit)-1).Result()
	return keys, fault(ctx, err, pool)
}

// RevokeLent implements core.LeasedPools.
func (s *Store) RevokeLent(ctx context.Context, pool string, n int) (int, error) {
	ended := 0
	for ended < n {
		want := min(n-ended, revokeBatch)
		reply, err := s.run(ctx, "lease_revoke", pool, pool, want)
		ended += int(num(reply))
		if err != nil || int(num(reply)) < want {
			return ended, err
		}
	}
	return ended, nil
}
