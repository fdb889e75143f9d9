package redisstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/redis/go-redis/v9"

	"drover/core"
)

// counted is the one field of what is counted.
const counted = "count"

// shelf is the key of a name.
func (s *Store) shelf(kind, name string) string {
	sum := sha256.Sum256([]byte(name))
	return s.space.Key("shelf", kind, hex.EncodeToString(sum[:]))
}

// Put implements core.Shelf.
func (s *Store) Put(ctx context.Context, name, field, text string, most int, keep time.Duration) error {
	if max(len(name), len(field)) > core.MaxShelfName || len(text) > core.MaxShelfText {
		return core.Errorf(core.CodeLimit, "", "a name or text has too many bytes to be kept: at most %d and %d are", core.MaxShelfName, core.MaxShelfText)
	}
	key := s.shelf("fields", name)
	var there *redis.BoolCmd
	var have *redis.IntCmd
	if _, err := s.db.Pipelined(ctx, func(p redis.Pipeliner) error {
		there, have = p.HExists(ctx, key, field), p.HLen(ctx, key)
		return nil
	}); err != nil {
		return fault(ctx, err, name)
	}
	if !there.Val() && have.Val() >= int64(most) {
		return core.Errorf(core.CodeLimit, name, "there are %d of these already, at most %d are kept: wait until some are forgotten", have.Val(), most)
	}
	_, err := s.db.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.HSet(ctx, key, field, text)
		p.PExpire(ctx, key, keep)
		return nil
	})
	return fault(ctx, err, name)
}

// Fields implements core.Shelf.
func (s *Store) Fields(ctx context.Context, name string) (map[string]string, error) {
	all, err := s.db.HGetAll(ctx, s.shelf("fields", name)).Result()
	return all, fault(ctx, err, name)
}

// Count implements core.Shelf.
func (s *Store) Count(ctx context.Context, name string, keep time.Duration) (int64, error) {
	key := s.shelf("count", name)
	var n *redis.IntCmd
	_, err := s.db.TxPipelined(ctx, func(p redis.Pipeliner) error {
		n = p.HIncrBy(ctx, key, counted, 1)
		p.PExpire(ctx, key, keep)
		return nil
	})
	return n.Val(), fault(ctx, err, name)
}
