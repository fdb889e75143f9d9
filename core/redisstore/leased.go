package redisstore

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"drover/core"
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
		flag(l.Open), l.Class, strings.Join(l.Submitters, " "))
	return s.ringHosts(ctx, reply, err)
}

// Leased implements core.LeasedPools.
func (s *Store) Leased(ctx context.Context) ([]core.LeasedState, error) {
	reply, err := s.run(ctx, "lease_list", "")
	if err != nil {
		return nil, err
	}
	const width = 4
	var out []core.LeasedState
	for row := range slices.Chunk(list(reply), width) {
		if len(row) < width {
			return nil, core.Errorf(core.CodeInternal, "", "the script that lists pools of leases answered %d parts at the end", len(row))
		}
		name, its := str(row[0]), readRecord("holders", str(row[2]))
		l := core.LeasedState{Waiting: int(num(row[3]))}
		if err := json.Unmarshal([]byte(str(row[1])), &l.Pool); err != nil || its == nil {
			return nil, core.Wrap(err, core.CodeInternal, name, "the settings of pool %s in Redis are not readable", name)
		}
		l.Open, l.Class, l.Submitters = num(its["open"]) == 1, its["class"], strings.Fields(its["submitters"])
		out = append(out, l)
	}
	return out, nil
}

// leaseBatch bounds the requests that one call moves between pools: each costs Redis some twenty commands.
const leaseBatch = 25

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
