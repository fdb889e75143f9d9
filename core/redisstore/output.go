package redisstore

import (
	"context"
	"errors"
	"time"

	"drover/core"

	"github.com/redis/go-redis/v9"
)

// Live output is a view, not a record: it is bounded and goes by itself.
const (
	outputEntries = 1024
	outputBatch   = 8 // what one reading returns
	outputKeep    = time.Hour
)

// Append implements core.Output. It is not repeated when its reply is lost, so
// that no text is shown twice.
func (s *Store) Append(ctx context.Context, key, token string, chunks []core.OutputChunk) error {
	stream := s.space.Key("output", key, token)
	live, cancel := context.WithTimeout(ctx, slack)
	defer cancel()
	_, err := s.once.Pipelined(live, func(p redis.Pipeliner) error {
		for _, c := range chunks {
			p.XAdd(live, &redis.XAddArgs{
				Stream: stream, MaxLen: outputEntries, Approx: true, Values: []any{"s", c.Stream, "o", c.Offset, "d", c.Data},
			})
		}
		p.PExpire(live, stream, outputKeep)
		return nil
	})
	return fault(ctx, err, key)
}

// Read implements core.Output.
func (s *Store) Read(ctx context.Context, key, token, after string, wait time.Duration) ([]core.OutputChunk, error) {
	if after == "" {
		after = "0"
	}
	live, cancel := context.WithTimeout(ctx, wait+slack)
	defer cancel()
	if wait <= 0 {
		wait = -1 // does not wait; 0 would for ever
	}
	streams, err := s.once.XRead(live, &redis.XReadArgs{
		Streams: []string{s.space.Key("output", key, token), after}, Count: outputBatch, Block: wait,
	}).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, fault(ctx, err, key)
	}
	var out []core.OutputChunk
	for _, st := range streams {
		for _, m := range st.Messages {
			out = append(out, core.OutputChunk{ID: m.ID, Stream: str(m.Values["s"]), Offset: num(str(m.Values["o"])), Data: []byte(str(m.Values["d"]))})
		}
	}
	return out, nil
}
