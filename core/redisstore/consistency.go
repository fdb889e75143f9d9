package redisstore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"drover/core"
	"drover/core/service/pattern"

	"github.com/redis/go-redis/v9"
)

// CheckConsistency implements core.Consistency.
func (s *Store) CheckConsistency(ctx context.Context) ([]core.Violation, error) {
	const readings = 5
	found, err := s.consistencyOnce(ctx)
	for range readings - 1 {
		if err != nil || len(found) == 0 {
			return nil, err
		}
		var again []core.Violation
		again, err = s.consistencyOnce(ctx)
		found = slices.DeleteFunc(found, func(v core.Violation) bool { return !slices.Contains(again, v) })
	}
	return found, err
}

func (s *Store) consistencyOnce(ctx context.Context) ([]core.Violation, error) {
	before, err := s.LastEvents(ctx, 1)
	if err != nil {
		return nil, err
	}
	r, err := s.readAll(ctx)
	if err != nil {
		return nil, fault(ctx, err, "")
	}
	after, err := s.LastEvents(ctx, 1)
	if err != nil {
		return nil, err
	}
	a := &checker{reading: r, still: slices.EqualFunc(before, after, func(x, y core.Event) bool { return x.ID == y.ID })}
	a.check()
	return a.found, nil
}

// value is one key of the namespace with its content.
type value struct {
	key    string   // below the namespace
	args   []string // arguments in its KeyDef's pattern
	hash   map[string]string
	list   []string // of a list or set
	scores map[string]float64
	bytes  int64 // of the specs, as scripts count them
	length int64 // entries of a stream of live output
	stays  bool  // it has no time to live
}

// reading is the whole namespace, by the names of Keys; "" has all keys that match none.
type reading map[string][]value

// one returns a key that has no arguments; it is empty if Redis does not have the key.
func (r reading) one(name string) value {
	if len(r[name]) == 0 {
		return value{}
	}
	return r[name][0]
}

// keyParts are the patterns of Keys, split at their colons.
var keyParts = sync.OnceValue(func() (all [][]string) {
	for _, k := range Keys() {
		all = append(all, strings.Split(k.Pattern, ":"))
	}
	return all
})

// step is how many keys, fields or members one call of a reading requests.
const step = 500

// readAll reads the namespace in steps. Of the tombstones it reads only those of unfinished requests and tasks.
func (s *Store) readAll(ctx context.Context) (reading, error) {
	r := make(reading)
	seen := make(map[string]bool)
	prefix := string(s.space) + ":"
	for cursor := uint64(0); ; {
		keys, next, err := s.db.Scan(ctx, cursor, prefix+"*", step).Result()
		if err != nil {
			return nil, err
		}
		keys = slices.DeleteFunc(keys, func(k string) bool { return seen[k] })
		for _, k := range keys {
			seen[k] = true
		}
		for chunk := range slices.Chunk(keys, step) {
			if err := s.readKeys(ctx, r, prefix, chunk); err != nil {
				return nil, err
			}
		}
		if cursor = next; cursor == 0 {
			return r, s.readTombstones(ctx, r)
		}
	}
}

// readKeys reads some keys, with values if their patterns are known.
func (s *Store) readKeys(ctx context.Context, r reading, prefix string, keys []string) error {
	types := make([]*redis.StatusCmd, len(keys))
	if _, err := s.db.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, k := range keys {
			types[i] = p.Type(ctx, k)
		}
		return nil
	}); err != nil {
		return err
	}
	var fetched []func() error
	_, err := s.db.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, k := range keys {
			v := value{key: strings.TrimPrefix(k, prefix)}
			def, args := classify(v.key)
			if v.args = args; def.Type != types[i].Val() {
				if types[i].Val() != "none" { // none: gone in the meantime
					r[""] = append(r[""], v)
				}
				continue
			}
			switch def.Name { // read separately: they may be large
			case "specs":
			case "tombstones", "tombstones_old":
				r[def.Name] = []value{v}
			default:
				fetched = append(fetched, fetch(ctx, p, r, k, def, v))
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	for _, f := range fetched {
		if err := f(); err != nil {
			return err
		}
	}
	if slices.Contains(keys, prefix+"specs") {
		return s.readSpecs(ctx, r)
	}
	return nil
}

// classify returns the definition and the arguments of a key. The KeyDef is empty for an unknown key.
func classify(key string) (KeyDef, []string) {
	have := strings.Split(key, ":")
	for i, parts := range keyParts() {
		if args, is := match(parts, have); is {
			return Keys()[i], args
		}
	}
	return KeyDef{}, nil
}

// match reports whether a key's parts match those of a pattern, and returns the arguments.
func match(pattern, have []string) (args []string, is bool) {
	if len(pattern) != len(have) {
		return nil, false
	}
	for i, p := range pattern {
		switch {
		case !strings.HasPrefix(p, "<"):
			if p != have[i] {
				return nil, false
			}
		case have[i] == "":
			return nil, false
		default:
			args = append(args, have[i])
		}
	}
	return args, true
}

// fetch requests a key's value and returns the function that stores the answer.
func fetch(ctx context.Context, p redis.Pipeliner, r reading, key string, def KeyDef, v value) func() error {
	file := func() { r[def.Name] = append(r[def.Name], v) }
	switch def.Type {
	case "hash":
		cmd := p.HGetAll(ctx, key)
		return func() error { v.hash = cmd.Val(); file(); return cmd.Err() }
	case "list":
		cmd := p.LRange(ctx, key, 0, -1)
		return func() error { v.list = cmd.Val(); file(); return cmd.Err() }
	case "set":
		cmd := p.SMembers(ctx, key)
		return func() error { v.list = cmd.Val(); file(); return cmd.Err() }
	case "zset":
		cmd := p.ZRangeWithScores(ctx, key, 0, -1)
		return func() error {
			v.scores = make(map[string]float64, len(cmd.Val()))
			for _, z := range cmd.Val() {
				v.scores[str(z.Member)] = z.Score
			}
			file()
			return cmd.Err()
		}
	}
	if def.Name != "output" {
		return func() error { file(); return nil } // live output is only counted
	}
	length, left := p.XLen(ctx, key), p.PTTL(ctx, key)
	return func() error {
		v.length, v.stays = length.Val(), left.Val() == -1 // go-redis' value for no time to live
		file()
		return errors.Join(length.Err(), left.Err())
	}
}

var specHead = pattern.New(`^\{"id":"[^"]*","gen":\d+,"pool":"([^"]*)","priority":"([^"]*)","submitter":"([^"]*)"`)

// specShare is what a spec costs beside itself and its key, in bytes; lib/weight.lua has the same number.
const specShare = 96

// readSpecs reads the specs in steps and keeps only the queue's key of each.
func (s *Store) readSpecs(ctx context.Context, r reading) error {
	v := value{key: "specs", hash: make(map[string]string)}
	for cursor := uint64(0); ; {
		some, next, err := s.db.HScan(ctx, s.space.Key("specs"), cursor, "", step).Result()
		if err != nil {
			return err
		}
		for i := 0; i+1 < len(some); i += 2 {
			if _, met := v.hash[some[i]]; !met { // a scan may return a field twice
				v.bytes += int64(len(some[i]) + len(some[i+1]) + specShare)
			}
			v.hash[some[i]] = ""
			if m := specHead().FindStringSubmatch(some[i+1]); m != nil {
				v.hash[some[i]] = below("queue", m[1:]...)
			}
		}
		if cursor = next; cursor == 0 {
			r["specs"] = []value{v}
			return nil
		}
	}
}

// readTombstones finds the unfinished keys that have a tombstone. It does not read all tombstones: there are far more
// of them.
func (s *Store) readTombstones(ctx context.Context, r reading) error {
	var living []any
	for _, name := range []string{"specs", "tasks"} {
		for id := range r.one(name).hash {
			living = append(living, id)
		}
	}
	for _, name := range []string{"tombstones", "tombstones_old"} {
		if len(r[name]) == 0 {
			continue
		}
		for ids := range slices.Chunk(living, step) {
			has, err := s.db.SMIsMember(ctx, s.space.Key(name), ids...).Result()
			if err != nil {
				return err
			}
			for i, id := range ids {
				if has[i] {
					r[name][0].list = append(r[name][0].list, str(id))
				}
			}
		}
	}
	return nil
}
