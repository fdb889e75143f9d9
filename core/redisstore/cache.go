package redisstore

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"drover/core"
)

// counted is the only field of a counter.
const counted = "count"

// cacheKey is the key of a name.
func (s *Store) cacheKey(kind, name string) string {
	sum := sha256.Sum256([]byte(name))
	return s.space.Key("cache", kind, hex.EncodeToString(sum[:]))
}

// Put implements core.Cache.
func (s *Store) Put(ctx context.Context, name, field, text string, most int, keep time.Duration) error {
	if max(len(name), len(field)) > core.MaxCacheName || len(text) > core.MaxCacheText {
		return core.Errorf(core.CodeLimit, "", "a name or text has too many bytes to be kept: at most %d and %d are", core.MaxCacheName, core.MaxCacheText)
	}
	key, now := s.cacheKey("fields", name), time.Now()
	var have *redis.IntCmd
	_, err := s.db.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.HSet(ctx, key, field, fmt.Sprintf("%d %s", now.Add(keep).UnixNano(), text))
		p.PExpire(ctx, key, keep)
		have = p.HLen(ctx, key)
		return nil
	})
	if err != nil || have.Val() <= int64(most) {
		return fault(ctx, err, name)
	}
	return s.forget(ctx, key, most, now)
}

// forget deletes the oldest fields until nine tenths of most are left, so that it is seldom called.
func (s *Store) forget(ctx context.Context, key string, most int, now time.Time) error {
	all, err := s.db.HGetAll(ctx, key).Result()
	if err != nil {
		return fault(ctx, err, key)
	}
	fields := slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		untilA, _ := shelved(all[a])
		untilB, _ := shelved(all[b])
		return cmp.Compare(untilB, untilA)
	})
	stay := max(1, most-most/10)
	for stay > 0 && (stay > len(fields) || !current(all[fields[stay-1]], now)) {
		stay--
	}
	if stay >= len(fields) {
		return nil
	}
	return fault(ctx, s.db.HDel(ctx, key, fields[stay:]...).Err(), key)
}

// shelved splits a field's value into the time until which it is kept, ns since 1970, and its text.
func shelved(value string) (until int64, text string) {
	number, text, _ := strings.Cut(value, " ")
	until, _ = strconv.ParseInt(number, 10, 64) // 0, which is expired, for a value that is not ours
	return until, text
}

func current(value string, now time.Time) bool {
	until, _ := shelved(value)
	return until > now.UnixNano()
}

// Fields implements core.Cache.
func (s *Store) Fields(ctx context.Context, name string) (map[string]string, error) {
	all, err := s.db.HGetAll(ctx, s.cacheKey("fields", name)).Result()
	now := time.Now()
	for field, value := range all {
		if _, all[field] = shelved(value); !current(value, now) {
			delete(all, field)
		}
	}
	return all, fault(ctx, err, name)
}

// Count implements core.Cache.
func (s *Store) Count(ctx context.Context, name string, keep time.Duration) (int64, error) {
	key := s.cacheKey("count", name)
	var n *redis.IntCmd
	_, err := s.db.TxPipelined(ctx, func(p redis.Pipeliner) error {
		n = p.HIncrBy(ctx, key, counted, 1)
		p.PExpire(ctx, key, keep)
		return nil
	})
	return n.Val(), fault(ctx, err, name)
}
