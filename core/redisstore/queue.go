package redisstore

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"drover/core"

	"github.com/redis/go-redis/v9"
)

// maxBatch bounds the items of one script call: Lua's unpack is limited.
const maxBatch = 500

// poolsAtOnce bounds the pools that one call reads: each costs Redis some ten commands.
const poolsAtOnce = 32

// Enqueue implements core.Queue.
func (s *Store) Enqueue(ctx context.Context, specs []core.Spec) ([]error, error) {
	return s.enqueue(ctx, specs, false)
}

// Room implements core.Pools.
func (s *Store) Room(ctx context.Context, specs ...core.Spec) error {
	verdicts, err := s.enqueue(ctx, specs, true)
	if err != nil {
		return err
	}
	return cmp.Or(verdicts...)
}

// enqueue runs the script; with asks it changes nothing.
func (s *Store) enqueue(ctx context.Context, specs []core.Spec, asks bool) ([]error, error) {
	verdicts := make([]error, len(specs))
	var good []int // those that may go to Redis: an invalid one must not hold them back
	var args []any
	for i := range specs {
		spec := &specs[i]
		text, err := encode(spec)
		if err != nil {
			verdicts[i] = err
			continue
		}
		good = append(good, i)
		args = append(args, spec.Key(), spec.Pool, string(spec.Priority), spec.Submitter, spec.Due, spec.Graded(), text)
	}
	const width = 7
	for len(good) > 0 {
		n := min(len(good), maxBatch)
		reply, err := s.run(ctx, "enqueue", specs[good[0]].ID,
			append([]any{s.opts.MaxWaiting, s.opts.MaxSpecBytes, flag(asks), n}, args[:n*width]...)...)
		if core.Is(err, core.CodeFull) {
			// A refusal by Redis itself is as definite as the script's: none of these was queued.
			for _, i := range good[:n] {
				verdicts[i] = err
			}
			good, args = good[n:], args[n*width:]
			continue
		}
		if err != nil {
			return nil, err
		}
		words := strs(reply)
		if len(words) != n {
			return nil, core.Errorf(core.CodeInternal, "", "the enqueue script answered %d words for %d requests", len(words), n)
		}
		for i, word := range words {
			verdicts[good[i]] = s.verdict(word, &specs[good[i]])
		}
		good, args = good[n:], args[n*width:]
	}
	return verdicts, nil
}

// encode checks a spec and writes it as scripts read it: they take pool, priority and submitter from its head, so
// that keys consist only of names.
func encode(spec *core.Spec) ([]byte, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, core.Wrap(err, core.CodeInvalid, spec.ID, "request %s cannot be written as JSON", spec.ID)
	}
	return text, checkParts(spec)
}

// checkParts checks those parts from which scripts make keys; core/requests/intake has checked the rest.
func checkParts(spec *core.Spec) error {
	for kind, name := range map[string]string{"request id": spec.ID, "pool": spec.Pool, "submitter": spec.Submitter} {
		if err := core.CheckName(kind, name); err != nil {
			return err
		}
	}
	if !spec.Priority.Valid() || spec.Generation < 1 {
		return core.Errorf(core.CodeInvalid, spec.ID, "request %s has priority %q and generation %d: use high, normal or low, and 1 or more",
			spec.ID, spec.Priority, spec.Generation)
	}
	return nil
}

func (s *Store) verdict(word string, spec *core.Spec) error {
	switch word {
	case "ok", "have":
		return nil
	case "ended":
		return core.Errorf(core.CodeEnded, spec.ID, "request %s ended already", spec.ID)
	case "nopool":
		return core.Errorf(core.CodeNotFound, spec.Pool, "there is no pool %s", spec.Pool)
	case "full-submitter":
		return core.Errorf(core.CodeFull, spec.Submitter, "submitter %s has as many requests waiting in pool %s as it allows: wait until some have run", spec.Submitter, spec.Pool)
	case "full-bytes":
		return core.Errorf(core.CodeFull, "", "the waiting requests take more than %d bytes of Redis: wait until some have run", s.opts.MaxSpecBytes)
	case "full-total":
		return core.Errorf(core.CodeFull, "", "%d requests are waiting, as many as this cluster allows: wait until some have run", s.opts.MaxWaiting)
	}
	return core.Errorf(core.CodeInternal, spec.ID, "the enqueue script answered %q", word)
}

// Present implements core.Queue.
func (s *Store) Present(ctx context.Context, keys []string) ([]bool, error) {
	return s.fieldsExist(ctx, "specs", keys)
}

func (s *Store) fieldsExist(ctx context.Context, key string, fields []string) ([]bool, error) {
	cmds := make([]*redis.BoolCmd, len(fields))
	if err := s.pipelined(ctx, len(fields), func(p redis.Pipeliner, i int) {
		cmds[i] = p.HExists(ctx, s.space.Key(key), fields[i])
	}); err != nil {
		return nil, err
	}
	out := make([]bool, len(fields))
	for i, c := range cmds {
		out[i] = c.Val()
	}
	return out, nil
}

// WaitingSince implements core.Queue.
func (s *Store) WaitingSince(ctx context.Context, keys []string) ([]int64, error) {
	out := make([]int64, 0, len(keys))
	for chunk := range slices.Chunk(keys, maxBatch) {
		values, err := s.db.HMGet(ctx, s.space.Key("waits"), chunk...).Result()
		if err != nil {
			return nil, fault(ctx, err, "")
		}
		for _, since := range values {
			out = append(out, num(since))
		}
	}
	return out, nil
}

// WaitAnew implements core.Queue.
func (s *Store) WaitAnew(ctx context.Context, keys []string) error {
	for chunk := range slices.Chunk(keys, maxBatch) {
		if _, err := s.run(ctx, "wait_anew", chunk[0], anys(chunk)...); err != nil {
			return err
		}
	}
	return nil
}

// KnowsEnds implements core.Queue.
func (s *Store) KnowsEnds(ctx context.Context, keys []string) ([]bool, error) {
	out := make([]bool, 0, len(keys))
	for chunk := range slices.Chunk(keys, maxBatch) {
		var sets [2]*redis.BoolSliceCmd
		if _, err := s.db.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, name := range tombstoneSets {
				sets[i] = p.SMIsMember(ctx, s.space.Key(name), anys(chunk)...)
			}
			return nil
		}); err != nil {
			return nil, fault(ctx, err, "")
		}
		for i := range chunk {
			out = append(out, sets[0].Val()[i] || sets[1].Val()[i])
		}
	}
	return out, nil
}

// tombstoneSets are the names of the keys that remember ends.
var tombstoneSets = [2]string{"tombstones", "tombstones_old"}

// ForgetEnds implements core.Queue.
func (s *Store) ForgetEnds(ctx context.Context, keys []string) error {
	for chunk := range slices.Chunk(keys, maxBatch) {
		if _, err := s.db.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, name := range tombstoneSets {
				p.SRem(ctx, s.space.Key(name), anys(chunk)...)
			}
			return nil
		}); err != nil {
			return fault(ctx, err, "")
		}
	}
	return nil
}

// EachUnfinished calls fn with the keys of all requests, or of all tasks, that Redis has; one may come twice.
func (s *Store) EachUnfinished(ctx context.Context, tasks bool, fn func(keys []string) error) error {
	name := "specs"
	if tasks {
		name = "tasks"
	}
	for cursor := uint64(0); ; {
		some, next, err := s.db.HScan(ctx, s.space.Key(name), cursor, "", step).Result()
		if err != nil {
			return fault(ctx, err, "")
		}
		keys := make([]string, 0, len(some)/2)
		for i := 0; i+1 < len(some); i += 2 {
			keys = append(keys, some[i])
		}
		if err := fn(keys); err != nil || next == 0 {
			return err
		}
		cursor = next
	}
}

// Specs implements core.Queue.
func (s *Store) Specs(ctx context.Context, keys []string) ([]core.Spec, error) {
	specs := make([]core.Spec, 0, len(keys))
	for chunk := range slices.Chunk(keys, maxBatch) {
		texts, err := s.db.HMGet(ctx, s.space.Key("specs"), chunk...).Result()
		if err != nil {
			return nil, fault(ctx, err, "")
		}
		for i, text := range texts {
			if text != nil {
				c := core.Claim{Key: chunk[i], Text: str(text)}
				specs = append(specs, c.ReadSpec())
			}
		}
	}
	return specs, nil
}

// Promote implements core.Queue.
func (s *Store) Promote(ctx context.Context) (int, error) {
	reply, err := s.run(ctx, "promote", "")
	return int(num(reply)), err
}

// Locate implements core.Queue.
func (s *Store) Locate(ctx context.Context, key string) (core.Place, error) {
	reply, err := s.run(ctx, "locate", key, key)
	if err != nil {
		return core.Place{}, err
	}
	return toPlace(reply), nil
}

// Preceding implements core.Queue.
func (s *Store) Preceding(ctx context.Context, key string) (core.Preceding, bool, error) {
	const mostSubmitters = 300
	reply, err := s.run(ctx, "preceding", key, key, mostSubmitters)
	f := list(reply)
	const head = 6
	if err != nil || len(f) < head+len(core.Priorities()) {
		return core.Preceding{}, false, err
	}
	waiting := make(map[core.Priority]int)
	for i, p := range core.Priorities() {
		waiting[p] = int(num(f[head+i]))
	}
	return core.Preceding{
		Turns: int(num(f[0])), AtLeast: num(f[1]) == 1, Waiting: waiting,
		Parked: int(num(f[2])), Soon: num(f[3]) == 1, Running: int(num(f[4])), MostRunning: int(num(f[5])),
	}, true, nil
}

// Cancel implements core.Queue.
func (s *Store) Cancel(ctx context.Context, key, by string, scope core.CancelScope) (core.Place, error) {
	reply, err := s.run(ctx, "cancel", key, key, by, string(scope))
	if err != nil {
		return core.Place{}, err
	}
	return toPlace(reply), nil
}

// Change implements core.Queue.
func (s *Store) Change(ctx context.Context, spec core.Spec, from int) (had int, claimed bool, err error) {
	text, err := encode(&spec)
	if err != nil {
		return from, false, err
	}
	reply, err := s.run(ctx, "change", spec.ID, spec.Key(), from, spec.Change, spec.Pool, string(spec.Priority), text, s.opts.MaxSpecBytes, spec.Graded())
	f := list(reply)
	if err != nil || len(f) < 2 {
		return from, false, err
	}
	had = int(num(f[1]))
	switch word := str(f[0]); word {
	case "held":
		return had, true, nil
	case "other":
		return had, false, nil
	case "absent":
		return -1, false, core.Errorf(core.CodeNotFound, spec.ID, "Redis does not have request %s", spec.ID)
	default:
		return had, false, s.verdict(word, &spec)
	}
}

func toPlace(reply any) core.Place {
	f := list(reply)
	if len(f) < 9 {
		return core.Place{}
	}
	p := core.Place{
		State: core.RequestState(str(f[0])), Pool: str(f[1]), Priority: core.Priority(str(f[2])),
		Owner: str(f[3]), VM: str(f[4]), Token: str(f[5]), Since: num(f[6]), Ahead: int(num(f[7])),
	}
	if len(f) > 10 {
		p.Due, p.Assigned = num(f[9]), str(f[10])
	}
	if len(f) > 11 {
		p.Attempts = int(num(f[11]))
	}
	return p
}

// Withdraw implements core.Queue.
func (s *Store) Withdraw(ctx context.Context, key string) (bool, error) {
	reply, err := s.run(ctx, "withdraw", key, key)
	return num(reply) == 1, err
}

// Waiting implements core.Queue.
func (s *Store) Waiting(ctx context.Context) ([]core.QueueInfo, error) {
	pools, err := s.db.SMembers(ctx, s.space.Key("pools")).Result()
	if err != nil {
		return nil, fault(ctx, err, "")
	}
	slices.Sort(pools)
	var out []core.QueueInfo
	for some := range slices.Chunk(pools, poolsAtOnce) {
		reply, err := s.run(ctx, "waiting", "", anys(some)...)
		if err != nil {
			return nil, err
		}
		f := list(reply)
		for i := 0; i+3 < len(f); i += 4 {
			out = append(out, core.QueueInfo{
				Pool: str(f[i]), Priority: core.Priority(str(f[i+1])), Waiting: int(num(f[i+2])), Submitters: int(num(f[i+3])),
			})
		}
	}
	return out, nil
}

// ListDead implements core.Queue.
func (s *Store) ListDead(ctx context.Context, limit int) ([]string, error) {
	keys, err := s.db.ZRangeArgs(ctx, redis.ZRangeArgs{
		Key: s.space.Key("dead"), Start: 0, Stop: int64(limit) - 1, Rev: true,
	}).Result()
	return keys, fault(ctx, err, "")
}

// ForgetDead implements core.Queue.
func (s *Store) ForgetDead(ctx context.Context, key string) (bool, error) {
	n, err := s.db.ZRem(ctx, s.space.Key("dead"), key).Result()
	return n > 0, fault(ctx, err, key)
}

// Trim implements core.Queue.
func (s *Store) Trim(ctx context.Context, keep time.Duration) (int, error) {
	const mostTombstones = 1_000_000
	reply, err := s.run(ctx, "trim", "", keep.Milliseconds(), mostTombstones)
	return int(num(reply)), err
}
