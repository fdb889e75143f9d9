package redisstore_test

import (
	"maps"
	"slices"

	"github.com/redis/go-redis/v9"
)

// snapshot is a namespace as it was.
type snapshot struct {
	hashes map[string]map[string]string
	lists  map[string][]any
	sets   map[string][]any
	zsets  map[string][]redis.Z
	acted  map[string]int64
}

// save keeps a picture of the whole namespace, as a Redis that is restored later has it.
func (m *model) save() {
	s := &snapshot{
		hashes: make(map[string]map[string]string), lists: make(map[string][]any), sets: make(map[string][]any), zsets: make(map[string][]redis.Z),
		acted: maps.Clone(m.acted),
	}
	for _, key := range m.allKeys() {
		kind, err := m.b.Admin.Type(m.ctx, key).Result()
		m.must(err)
		switch kind {
		case "hash":
			s.hashes[key], err = m.b.Admin.HGetAll(m.ctx, key).Result()
		case "list":
			var items []string
			items, err = m.b.Admin.LRange(m.ctx, key, 0, -1).Result()
			s.lists[key] = anys(items)
		case "set":
			var items []string
			items, err = m.b.Admin.SMembers(m.ctx, key).Result()
			s.sets[key] = anys(items)
		case "zset":
			s.zsets[key], err = m.b.Admin.ZRangeWithScores(m.ctx, key, 0, -1).Result()
		}
		m.must(err)
	}
	m.saved = s
	m.note("saved")
}

func anys(items []string) []any {
	out := make([]any, len(items))
	for i, s := range items {
		out[i] = s
	}
	return out
}

func (m *model) allKeys() []string {
	keys, err := m.b.Admin.Keys(m.ctx, m.b.Namespace+":*").Result()
	m.must(err)
	slices.Sort(keys)
	return keys
}

// setBack is a Redis that fails and is restored from what was saved some calls ago.
func (m *model) setBack() {
	m.save()
	for range 1 + m.n("calls", 8) {
		pick(m, "runner", m.runners).exchange()
	}
	m.wipe()
}

// wipe makes Redis forget everything, or remember only what it was when last saved.
func (m *model) wipe() {
	if m.life > 3 || m.back > 0 {
		return
	}
	if keys := m.allKeys(); len(keys) > 0 {
		m.must(m.b.Admin.Del(m.ctx, keys...).Err())
	}
	if m.saved != nil && !m.chance("is not restored", 3) {
		m.note("redis is restored")
		m.acted = maps.Clone(m.saved.acted)
		p := m.b.Admin.Pipeline()
		for _, key := range sortedKeys(m.saved.hashes) {
			p.HSet(m.ctx, key, m.saved.hashes[key])
		}
		for _, key := range sortedKeys(m.saved.lists) {
			p.RPush(m.ctx, key, m.saved.lists[key]...)
		}
		for _, key := range sortedKeys(m.saved.sets) {
			p.SAdd(m.ctx, key, m.saved.sets[key]...)
		}
		for _, key := range sortedKeys(m.saved.zsets) {
			p.ZAdd(m.ctx, key, m.saved.zsets[key]...)
		}
		_, err := p.Exec(m.ctx)
		m.must(err)
	} else {
		m.note("redis is wiped")
		m.acted = make(map[string]int64)
	}
	m.interrupt()
	m.open()
}
