package redisstore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"drover/core"

	"github.com/redis/go-redis/v9"
)

// Next implements core.Feed, by one blocking read of all the streams.
func (s *Store) Next(ctx context.Context, event string, outputs map[core.OutputOf]string, wait time.Duration) ([]core.Event, []core.OutputOf, error) {
	names := []string{s.space.Key("events")}
	after := []string{cmp.Or(event, "0")}
	of := make(map[string]core.OutputOf, len(outputs))
	for one, position := range outputs {
		name := s.space.Key("output", one.Key, one.Token)
		of[name] = one
		names, after = append(names, name), append(after, cmp.Or(position, "0"))
	}
	got, err := blocked(ctx, func(ctx context.Context) ([]redis.XStream, error) {
		ctx, cancel := context.WithTimeout(ctx, wait+slack)
		defer cancel()
		// One entry of each stream shows that there are more; all events are then fetched at once.
		return s.once.XRead(ctx, &redis.XReadArgs{Streams: slices.Concat(names, after), Count: 1, Block: max(wait, time.Millisecond)}).Result()
	})
	if errors.Is(err, redis.Nil) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fault(ctx, err, "")
	}
	var events []core.Event
	var more []core.OutputOf
	for _, stream := range got {
		if one, ok := of[stream.Stream]; ok {
			more = append(more, one)
		} else if strings.HasSuffix(stream.Stream, names[0]) {
			if events, err = s.Events(ctx, event); err != nil {
				return nil, nil, err
			}
		}
	}
	return events, more, nil
}
