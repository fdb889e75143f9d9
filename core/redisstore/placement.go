package redisstore

import (
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"time"

	"drover/core"

	"github.com/redis/go-redis/v9"
)

// Ground implements core.Placements.
func (s *Store) Ground(ctx context.Context) (core.Ground, error) {
	// Read first: if a round is written during the rest of the reading, the number is outdated.
	g, err := s.lastRound(ctx)
	if err != nil {
		return g, err
	}
	if g.Hosts, err = s.ListHosts(ctx); err != nil {
		return g, err
	}
	if g.Pools, err = s.ListPools(ctx); err != nil {
		return g, err
	}
	if g.Use, err = s.use(ctx, g.Pools); err != nil {
		return g, err
	}
	if err = s.waitingByPool(ctx, &g); err != nil {
		return g, err
	}
	g.Assigned, err = s.assignedByHost(ctx, g.Pools)
	return g, err
}

// lastRound reads the number and the age of the last round.
func (s *Store) lastRound(ctx context.Context) (core.Ground, error) {
	text, err := s.db.HGet(ctx, s.space.Key("meta"), "planned").Result()
	if err != nil && err != redis.Nil { //nolint:errorlint // it comes as it is
		return core.Ground{}, fault(ctx, err, "")
	}
	now, err := s.db.Time(ctx).Result()
	if err != nil {
		return core.Ground{}, fault(ctx, err, "")
	}
	g := core.Ground{Now: now.UnixMilli(), Age: -1}
	if its := readRecord("planned", text); its != nil {
		g.Number, g.Age = num(its["number"]), time.Duration(g.Now-num(its["at"]))*time.Millisecond
	}
	return g, nil
}

// rateUnit is the unit of a rate of claims in Redis: one in a million seconds.
const rateUnit = 1e6

// use reads how much each pool is used.
func (s *Store) use(ctx context.Context, pools []core.Pool) (map[string]core.Use, error) {
	facts := make([]*redis.SliceCmd, len(pools))
	if err := s.pipelined(ctx, len(pools), func(p redis.Pipeliner, i int) {
		facts[i] = p.HMGet(ctx, s.space.Key("pool", pools[i].Name), "tickets", "use")
	}); err != nil {
		return nil, err
	}
	out := make(map[string]core.Use, len(pools))
	for i := range pools {
		f := facts[i].Val()
		its := readRecord("use", str(f[1]))
		out[pools[i].Name] = core.Use{
			Claims: num(f[0]), Counted: num(its["claims"]), At: num(its["at"]), Rate: float64(num(its["rate"])) / rateUnit, Rated: num(its["rated"]),
		}
	}
	return out, nil
}

// waitingByPool reads how many requests wait for each pool and could run, and since when the first of its queues.
func (s *Store) waitingByPool(ctx context.Context, g *core.Ground) error {
	queues, err := s.Waiting(ctx)
	if err != nil {
		return err
	}
	queues = slices.DeleteFunc(queues, func(q core.QueueInfo) bool { return q.Waiting == 0 })
	turns, err := s.Turns(ctx, queues, 1)
	if err != nil {
		return err
	}
	each := make(map[string]int, len(g.Pools))
	for i := range g.Pools {
		each[g.Pools[i].Name] = g.Pools[i].Running
	}
	g.Waiting, g.Oldest = make(map[string]int), make(map[string]int64)
	for i, q := range queues {
		if most := each[q.Pool]; most > 0 && q.Submitters > 0 {
			q.Waiting = min(q.Waiting, most*q.Submitters)
		}
		g.Waiting[q.Pool] += q.Waiting
		for _, t := range turns[i] {
			if since, known := g.Oldest[q.Pool]; t.Since > 0 && (!known || t.Since < since) {
				g.Oldest[q.Pool] = t.Since
			}
		}
	}
	return nil
}

// assignedByHost reads how many requests are assigned to each host.
func (s *Store) assignedByHost(ctx context.Context, pools []core.Pool) (map[string]map[string]int, error) {
	moves, err := s.db.HGetAll(ctx, s.space.Key("evacuations")).Result()
	if err != nil {
		return nil, fault(ctx, err, "")
	}
	hosts := make(map[string]bool)
	for _, text := range moves {
		if its := readRecord("move", text); core.EvacuationState(its["state"]) == core.EvacuationScheduled {
			hosts[its["to"]] = true
		}
	}
	out := make(map[string]map[string]int, len(hosts))
	for host := range hosts {
		lens := make([]*redis.IntCmd, len(pools))
		if err := s.pipelined(ctx, len(pools), func(p redis.Pipeliner, i int) {
			lens[i] = p.LLen(ctx, s.space.Key("assigned", host, pools[i].Name))
		}); err != nil {
			return nil, err
		}
		out[host] = make(map[string]int)
		for i := range pools {
			if n := lens[i].Val(); n > 0 {
				out[host][pools[i].Name] = int(n)
			}
		}
	}
	return out, nil
}

// hostsPerRound and poolsPerRound bound the hosts and the pools that one call of a round writes.
const (
	hostsPerRound = 50
	poolsPerRound = 50
)

// SetTargets implements core.Placements. A round of many hosts or pools takes several calls, each of which is one of its
// own.
func (s *Store) SetTargets(ctx context.Context, number int64, r core.Round) (int64, error) {
	var uses []any
	for _, pool := range slices.Sorted(maps.Keys(r.Use)) {
		u := r.Use[pool]
		uses = append(uses, pool, u.Claims, u.At, int64(math.Round(u.Rate*rateUnit)), u.Rated)
	}
	hosts := slices.Sorted(maps.Keys(r.Targets))
	for first := true; first || len(hosts)+len(uses) > 0; first = false {
		n, m := min(len(hosts), hostsPerRound), min(len(uses), 5*poolsPerRound)
		args := []any{number, r.Lasts.Milliseconds(), n}
		for _, host := range hosts[:n] {
			var text []byte
			if its := r.Targets[host]; its != nil {
				var err error
				if text, err = json.Marshal(its); err != nil {
					return number, core.Wrap(err, core.CodeInternal, host, "the targets of host %s cannot be written as JSON", host)
				}
			}
			args = append(args, host, string(text))
		}
		reply, err := s.run(ctx, "place_set", "placement", append(args, uses[:m]...)...)
		if err != nil {
			return number, err
		}
		number, hosts, uses = num(reply), hosts[n:], uses[m:]
	}
	return number, nil
}

// WaitPlacement implements core.Placements.
func (s *Store) WaitPlacement(ctx context.Context, poll time.Duration) error {
	return s.await(ctx, poll, "", s.space.Key("placement_bell"))
}
