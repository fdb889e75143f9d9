package redisstore

import (
	"context"
	"slices"
	"strings"

	"drover/core"
	"drover/core/service/pattern"

	"github.com/redis/go-redis/v9"
)

// Objects that a violation's text names, besides its id.
var (
	placeInText = pattern.New(`\b(queue:[^:\s,"]+:[^:\s,"]+:[^:\s,"]+|assigned:[^:\s,"]+:[^:\s,"]+|(?:parked|apart|slots):[^:\s,"]+)`)
	hostInText  = pattern.New(`\bvms:([^:\s,"]+):|\bslots:\w+@([^#\s,"]+)#|\bon host ([^\s,"]+)`)
	cleanInText = pattern.New(`\bvms:[^:\s,"]+:([^:\s,"]+):clean\b`)
	countInText = pattern.New(`counted (-?\d+), and there are (\d+)`)
	laneInText  = pattern.New(`tasks:queue:([^:\s,"]+):([^:\s,"]+):([^:\s,"]+)`)
	handInText  = pattern.New(`tasks:hand:([^:\s,"]+)`)
	slotInText  = pattern.New(`\bslots:(\w+@[^:\s,"]+)`)
	tokenInText = pattern.New(`of an epoch of (\S+),`)
)

// Mend implements core.Consistency.
func (s *Store) Mend(ctx context.Context, v core.Violation) (bool, error) {
	switch v.Rule {
	case core.RuleRequests, core.RuleMoves:
		args := []any{v.ID}
		for _, m := range placeInText().FindAllStringSubmatch(v.Text, -1) {
			def, of := classify(m[0])
			args = append(append(args, def.Name), anys(of)...)
		}
		return s.mend(ctx, "mend_request", v.ID, args...)
	case core.RuleTurns:
		switch def, args := classify(v.ID); def.Name {
		case "queue":
			return s.mend(ctx, "mend_turn", v.ID, args[0], args[1], args[2])
		case "tasks_queue":
			return s.mend(ctx, "mend_task_turn", v.ID, args[0], args[1], args[2])
		case "tasks_lanes":
			return s.mend(ctx, "mend_task_turn", v.ID, args[0], args[1], nobody)
		}
		return false, nil
	case core.RuleOwners:
		role, host, err := core.ParseOwner(v.ID)
		if err != nil {
			return false, nil //nolint:nilerr // no owner has this name: somebody else wrote it
		}
		return s.mend(ctx, "mend_owner", v.ID, v.ID, string(role), host)
	case core.RuleTokens:
		return s.mendSlot(ctx, v)
	case core.RuleVMs:
		return s.mendVM(ctx, v)
	case core.RuleTasks:
		return s.mendTask(ctx, v)
	case core.RuleCounts:
		if m := countInText().FindStringSubmatch(v.Text); m != nil {
			return s.mend(ctx, "mend_count", v.ID, v.ID, m[1], m[2])
		}
		return false, nil
	case core.RuleOutput:
		if id, ok := strings.CutPrefix(v.ID, "output:"); ok {
			return s.mend(ctx, "mend_output", v.ID, "output", id)
		}
		if m := countInText().FindStringSubmatch(v.Text); m != nil {
			return s.mend(ctx, "mend_output", v.ID, "sum", v.ID, m[1], m[2])
		}
		return false, nil
	case core.RuleHosts:
		return s.mend(ctx, "mend_host", v.ID, v.ID)
	case core.RuleLeft, core.RuleKeys:
		return s.mendLeft(ctx, v)
	case core.RuleOversold, core.RuleLedger: // others see to what is in the result store
	}
	return false, nil
}

// mendVM repairs where a VM is, whose places the text names.
func (s *Store) mendVM(ctx context.Context, v core.Violation) (bool, error) {
	hosts, err := s.hostsWith(ctx, v.ID)
	if err != nil {
		return false, err
	}
	for _, m := range hostInText().FindAllStringSubmatch(v.Text, -1) {
		if host := m[1] + m[2] + m[3]; !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	var pools []string
	for _, m := range cleanInText().FindAllStringSubmatch(v.Text, -1) {
		pools = append(pools, m[1])
	}
	return s.mend(ctx, "mend_vm", v.ID, append([]any{v.ID, len(pools)}, anys(append(pools, hosts...))...)...)
}

// hostsWith returns the hosts that have a VM, which is one.
func (s *Store) hostsWith(ctx context.Context, vm string) ([]string, error) {
	hosts, err := s.db.ZRange(ctx, s.space.Key("hosts"), 0, -1).Result()
	if err != nil {
		return nil, fault(ctx, err, vm)
	}
	var with []string
	for some := range slices.Chunk(hosts, hostsAtOnce) {
		has := make([]*redis.BoolCmd, len(some))
		if err := s.pipelined(ctx, len(some), func(p redis.Pipeliner, i int) {
			has[i] = p.HExists(ctx, s.space.Key("vms", some[i]), vm)
		}); err != nil {
			return nil, err
		}
		for i, host := range some {
			if has[i].Val() {
				with = append(with, host)
			}
		}
	}
	return with, nil
}

func (s *Store) mend(ctx context.Context, script, id string, args ...any) (bool, error) {
	reply, err := s.run(ctx, script, id, args...)
	return num(reply) == 1, err
}

// mendTask repairs a task, whose places may only be named in the text.
func (s *Store) mendTask(ctx context.Context, v core.Violation) (bool, error) {
	queues := laneInText().FindAllStringSubmatch(v.Text, -1)
	args := []any{v.ID, len(queues)}
	for _, m := range queues {
		args = append(args, m[1], m[2], m[3])
	}
	owners := slotInText().FindAllStringSubmatch(v.Text, -1)
	args = append(args, len(owners))
	for _, m := range owners {
		args = append(args, m[1])
	}
	for _, m := range handInText().FindAllStringSubmatch(v.Text, -1) {
		args = append(args, m[1])
	}
	return s.mend(ctx, "mend_task", v.ID, args...)
}

// mendSlot removes a slot that belongs to no claim, and repairs what was in it.
func (s *Store) mendSlot(ctx context.Context, v core.Violation) (bool, error) {
	m := tokenInText().FindStringSubmatch(v.Text)
	if m == nil {
		return false, nil
	}
	mended, err := s.mend(ctx, "mend_slot", v.ID, m[1], v.ID)
	role, _, _ := strings.Cut(m[1], "@")
	if err != nil || !mended || role != string(core.RoleTestrunner) {
		return mended, err // a VM or task without a place is found by the next check
	}
	return s.mend(ctx, "mend_request", v.ID, v.ID)
}

// mendLeft removes a record that is not true. It leaves keys that are not drover's.
func (s *Store) mendLeft(ctx context.Context, v core.Violation) (bool, error) {
	def, args := classify(v.ID)
	id := ""
	if len(args) > 0 {
		id = args[0]
	}
	switch {
	case def.Name == "" && v.Rule == core.RuleLeft:
		return s.mend(ctx, "mend_left", v.ID, "note", v.ID)
	case def.Name == "pool" && v.Rule == core.RuleKeys, v.Rule == core.RuleLeft:
		return s.mend(ctx, "mend_left", v.ID, def.Name, id)
	}
	return false, nil
}
