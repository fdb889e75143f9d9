package redisstore

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"drover/core"

	"github.com/redis/go-redis/v9"
)

// Unassign implements core.Evacuations.
func (s *Store) Unassign(ctx context.Context, host string, olderThan time.Duration) (int, error) {
	reply, err := s.run(ctx, "unassign", host, host, olderThan.Milliseconds())
	return int(num(reply)), err
}

// Evacuations implements core.Evacuations.
func (s *Store) Evacuations(ctx context.Context) ([]core.Evacuation, error) {
	var living *redis.MapStringStringCmd
	var ended *redis.StringSliceCmd
	_, err := s.db.Pipelined(ctx, func(p redis.Pipeliner) error {
		living, ended = p.HGetAll(ctx, s.space.Key("evacuations")), p.LRange(ctx, s.space.Key("evacuated"), 0, -1)
		return nil
	})
	if err != nil {
		return nil, fault(ctx, err, "")
	}
	out := make([]core.Evacuation, 0, len(living.Val())+len(ended.Val()))
	for key, record := range living.Val() {
		if e, ok := toEvacuation(key, record); ok {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b core.Evacuation) int { return strings.Compare(a.Key, b.Key) })
	for _, record := range ended.Val() {
		if f := strings.SplitN(record, "|", 8); len(f) == 8 {
			out = append(out, core.Evacuation{
				Key: f[0], State: core.EvacuationState(f[1]), From: f[2], To: f[3],
				Scheduled: num(f[4]), Accepted: num(f[5]), Ended: num(f[6]), Why: f[7],
			})
		}
	}
	return out, nil
}

// toEvacuation reads the record of a move that is under way.
func toEvacuation(key, record string) (core.Evacuation, bool) {
	f := strings.SplitN(record, "|", 6)
	if len(f) < 6 {
		return core.Evacuation{}, false
	}
	return core.Evacuation{
		Key: key, State: core.EvacuationState(f[0]), From: f[1], To: f[2], Scheduled: num(f[3]), Accepted: num(f[4]), Why: f[5],
	}, true
}

// Rooms implements core.Evacuations. A host serves the pools of which it has at
// least one VM: it does not say so otherwise.
func (s *Store) Rooms(ctx context.Context) ([]core.Room, int64, error) {
	// First: what is placed while the rest is read makes the number an old one.
	placed, err := s.db.HGet(ctx, s.space.Key("meta"), "placed").Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, 0, fault(ctx, err, "")
	}
	hosts, err := s.ListHosts(ctx)
	if err != nil {
		return nil, 0, err
	}
	pools, err := s.ListPools(ctx)
	if err != nil {
		return nil, 0, err
	}
	var rooms []core.Room
	for i := range hosts {
		if h := &hosts[i]; h.State != core.HostUp || h.Drain || h.Failed != nil || h.Probation != nil || !h.Ready {
			continue
		}
		room, err := s.room(ctx, &hosts[i], pools)
		if err != nil {
			return nil, 0, err
		}
		rooms = append(rooms, room)
	}
	return rooms, placed, nil
}

// room is what is left of one host.
func (s *Store) room(ctx context.Context, h *core.HostInfo, pools []core.Pool) (core.Room, error) {
	vms, err := s.ListVMs(ctx, h.Name)
	if err != nil {
		return core.Room{}, err
	}
	assigned := make([]*redis.IntCmd, len(pools))
	_, err = s.db.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range pools {
			assigned[i] = p.LLen(ctx, s.space.Key("assigned", h.Name, pools[i].Name))
		}
		return nil
	})
	if err != nil {
		return core.Room{}, fault(ctx, err, h.Name)
	}
	there, clean := make(map[string]int), make(map[string]int)
	for _, vm := range vms {
		there[vm.Pool]++
		if vm.State == core.VMClean {
			clean[vm.Pool]++
		}
	}
	r := core.Room{
		Host: h.Name, CPU: orEndless(int64(h.CPU) * 1000), Memory: orEndless(h.Memory), Disk: orEndless(h.Disk),
		Pools: make(map[string]core.PoolRoom),
	}
	for i := range pools {
		p, has, n := &pools[i], there[pools[i].Name], int(assigned[i].Val())
		making := max(0, n-clean[p.Name]) // VMs yet to be made for what is assigned there
		r.CPU -= int64(has+making) * int64(p.Limits.CPU)
		r.Memory -= int64(has+making) * p.Limits.Memory
		r.Disk -= int64(has+making) * p.Limits.Disk
		if _, broken := h.Broken[p.Name]; !broken && !p.Paused && has > 0 {
			r.Pools[p.Name] = core.PoolRoom{Idle: max(0, clean[p.Name]-n), More: max(0, p.Max-has-making)}
		}
	}
	return r, nil
}

// orEndless is a figure that a host told, or one that no work can use up.
func orEndless(n int64) int64 {
	if n <= 0 {
		return math.MaxInt64 / 2
	}
	return n
}
