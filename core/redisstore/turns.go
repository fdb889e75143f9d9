package redisstore

import (
	"context"
	"errors"

	"drover/core"

	"github.com/redis/go-redis/v9"
)

// Turns implements core.Queue, in three round trips, however many queues there are. It uses no script, so it does not
// block Redis; a submitter served in the meantime is left out.
func (s *Store) Turns(ctx context.Context, queues []core.QueueInfo, most int) ([][]core.Turn, error) {
	lines := [...]func(core.Priority) string{soonLine, ownLine}
	names := make([]*redis.StringSliceCmd, len(lines)*len(queues))
	if err := s.pipelined(ctx, len(names), func(p redis.Pipeliner, i int) {
		q := queues[i/len(lines)]
		names[i] = p.LRange(ctx, s.space.Key("turns", q.Pool, lines[i%len(lines)](q.Priority)), 0, int64(max(most, 1))-1)
	}); err != nil {
		return nil, err
	}
	type place struct {
		queue  int
		line   string
		turn   core.Turn
		length *redis.IntCmd
		first  *redis.StringCmd
	}
	var places []place
	for i := range names {
		q, soon := i/len(lines), i%len(lines) == 0
		for _, name := range names[i].Val() {
			places = append(places, place{queue: q, line: lines[i%len(lines)](queues[q].Priority), turn: core.Turn{Submitter: name, Soon: soon}})
		}
	}
	if err := s.pipelined(ctx, len(places), func(p redis.Pipeliner, i int) {
		at := &places[i]
		key := s.space.Key("queue", queues[at.queue].Pool, at.line, at.turn.Submitter)
		at.length, at.first = p.LLen(ctx, key), p.LIndex(ctx, key, 0)
	}); err != nil {
		return nil, err
	}
	since := make(map[string]int64)
	var keys []string
	for _, at := range places {
		if key := at.first.Val(); key != "" {
			keys = append(keys, key)
		}
	}
	specs, err := s.Specs(ctx, keys)
	if err != nil {
		return nil, err
	}
	for i := range specs {
		since[specs[i].Key()] = specs[i].Submitted
	}
	out := make([][]core.Turn, len(queues))
	for _, at := range places {
		if key := at.first.Val(); key != "" {
			at.turn.Waiting, at.turn.Next, at.turn.Since = int(at.length.Val()), key, since[key]
			out[at.queue] = append(out[at.queue], at.turn)
		}
	}
	return out, nil
}

// pipelined runs n commands in one round trip; a nil answer is no error.
func (s *Store) pipelined(ctx context.Context, n int, add func(p redis.Pipeliner, i int)) error {
	if n == 0 {
		return nil
	}
	_, err := s.db.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range n {
			add(p, i)
		}
		return nil
	})
	if errors.Is(err, redis.Nil) {
		return nil
	}
	return fault(ctx, err, "")
}
