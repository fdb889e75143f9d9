package redisstore

import (
	"context"
	"errors"
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
		if r := readRecord("move", record); r != nil {
			out = append(out, toEvacuation(key, r))
		}
	}
	slices.SortFunc(out, func(a, b core.Evacuation) int { return strings.Compare(a.Key, b.Key) })
	for _, record := range ended.Val() {
		if r := readRecord("moved", record); r != nil {
			out = append(out, toEvacuation(r["key"], r))
		}
	}
	return out, nil
}

// toEvacuation reads the record of a move, either in progress or ended.
func toEvacuation(key string, r map[string]string) core.Evacuation {
	return core.Evacuation{
		Key: key, State: core.EvacuationState(r["state"]), From: r["from"], To: r["to"],
		Scheduled: num(r["scheduled"]), Accepted: num(r["accepted"]), Ended: num(r["ended"]), Why: r["why"],
	}
}

// Rooms implements core.Evacuations.
func (s *Store) Rooms(ctx context.Context) ([]core.Room, int64, error) {
	// Read first: if anything is placed during the rest of the reading, the number is outdated.
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

// room returns the remaining capacity of one host.
func (s *Store) room(ctx context.Context, h *core.HostInfo, pools []core.Pool) (core.Room, error) {
	vms, err := s.ListVMs(ctx, h.Name)
	if err != nil {
		return core.Room{}, err
	}
	assigned := make([]*redis.IntCmd, len(pools))
	if err := s.pipelined(ctx, len(pools), func(p redis.Pipeliner, i int) {
		assigned[i] = p.LLen(ctx, s.space.Key("assigned", h.Name, pools[i].Name))
	}); err != nil {
		return core.Room{}, err
	}
	there, clean := make(map[string]int), make(map[string]int)
	for _, vm := range vms {
		there[vm.Pool]++
		if vm.State == core.VMClean {
			clean[vm.Pool]++
		}
	}
	r := core.Room{Host: h.Name, Size: h.Capacity(), Pools: make(map[string]core.PoolRoom)}
	for i := range pools {
		p, has, n := &pools[i], there[pools[i].Name], int(assigned[i].Val())
		making := max(0, n-clean[p.Name]) // VMs yet to be made for what is assigned there
		r.Size = r.Less(p.Size(), has+making)
		if _, broken := h.Broken[p.Name]; !broken && !p.Paused && slices.Contains(h.Serves, p.Name) {
			r.Pools[p.Name] = core.PoolRoom{Idle: max(0, clean[p.Name]-n), More: max(0, p.Max-has-making)}
		}
	}
	return r, nil
}
