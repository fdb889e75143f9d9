package redisstore

import (
	"context"
	"errors"
	"slices"
	"time"

	"drover/core"

	"github.com/redis/go-redis/v9"
)

// Live output is a view, not a record: it is bounded and has a time to live.
const (
	outputEntries = 1024 // of one claim
	outputPage    = 128  // entries that one call adds
	outputBatch   = 8    // entries that one call returns
	outputShare   = 8    // one submitter may use this part of the whole
	outputMarks   = 32   // entries in which marks of tests are looked for: a testrunner adds them every second, output every 50 ms
	outputKeep    = time.Hour
)

// Append implements core.Output. It is not repeated when its reply is lost, so
// that no text is shown twice.
func (s *Store) Append(ctx context.Context, key, token string, chunks []core.OutputChunk) error {
	live, cancel := context.WithTimeout(ctx, slack)
	defer cancel()
	chunks = chunks[max(0, len(chunks)-outputEntries):] // older ones would be dropped at once
	for page := range slices.Chunk(chunks, outputPage) {
		args := []any{key, token, outputKeep.Milliseconds(), outputEntries, s.opts.MaxOutputBytes / outputShare, s.opts.MaxOutputBytes}
		for _, c := range page {
			args = append(args, c.Stream, c.Offset, c.Data)
		}
		if err := scripts["output"]().Run(live, s.once, []string{s.space.Key("meta")}, args...).Err(); err != nil {
			return fault(ctx, err, key)
		}
	}
	return nil
}

// Read implements core.Output.
func (s *Store) Read(ctx context.Context, key, token, after string, wait time.Duration) ([]core.OutputChunk, error) {
	if after == "" {
		after = "0"
	}
	live, cancel := context.WithTimeout(ctx, wait+slack)
	defer cancel()
	if wait <= 0 {
		wait = -1 // does not block; 0 would block forever
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
			out = append(out, toChunk(m))
		}
	}
	return out, nil
}

func toChunk(m redis.XMessage) core.OutputChunk {
	return core.OutputChunk{ID: m.ID, Stream: str(m.Values["s"]), Offset: num(str(m.Values["o"])), Data: []byte(str(m.Values["d"]))}
}

// Marks implements core.Output.
func (s *Store) Marks(ctx context.Context, key, token string) (core.OutputChunk, string, error) {
	live, cancel := context.WithTimeout(ctx, slack)
	defer cancel()
	last, err := s.db.XRevRangeN(live, s.space.Key("output", key, token), "+", "-", outputMarks).Result()
	if err != nil || len(last) == 0 {
		return core.OutputChunk{}, "", fault(ctx, err, key)
	}
	for _, m := range last {
		if c := toChunk(m); c.Stream == core.StreamTests {
			return c, last[0].ID, nil
		}
	}
	return core.OutputChunk{}, last[0].ID, nil
}

// DropOutput implements core.Queue.
func (s *Store) DropOutput(ctx context.Context, key string) error {
	for cursor := uint64(0); ; {
		found, next, err := s.db.ZScan(ctx, s.space.Key("outputs"), cursor, key+":*", step).Result()
		if err != nil {
			return fault(ctx, err, key)
		}
		for i := 0; i < len(found); i += 2 { // each with its score
			if _, err := s.run(ctx, "mend_output", key, "output", found[i]); err != nil {
				return err
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}
