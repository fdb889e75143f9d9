package operate

import (
	"context"
	"maps"
	"time"

	"drover/core"
)

// replayFor is how long a replay is used again.
const replayFor = time.Minute

// replays are the last simulations of pools. One runs at a time, and the others wait: simulating takes
// a processor for as long as it takes.
type replays struct {
	turn  turn // held by the caller that simulates, and during access to found
	found map[replayOf]replay
}

// replayOf says what is simulated: a pool with its settings, and a span of time, to the minute.
type replayOf struct {
	pool        core.Pool
	from, until int64
}

// replay is what a simulation said, and when.
type replay struct {
	at   time.Time
	hits Hits
	err  error
}

// replayed returns the replay of a pool's requests of a span of time, in ms since 1970, as of at most a minute ago.
func (o *Service) replayed(ctx context.Context, p core.Pool, from, until int64) (Hits, error) {
	if err := o.replays.turn.take(ctx); err != nil {
		return Hits{}, err
	}
	defer o.replays.turn.free()
	now := o.now()
	maps.DeleteFunc(o.replays.found, func(_ replayOf, r replay) bool {
		age := now.Sub(r.at)
		return age < 0 || age >= replayFor
	})
	of := replayOf{p, from - from%time.Minute.Milliseconds(), until - until%time.Minute.Milliseconds()}
	if r, ok := o.replays.found[of]; ok {
		return r.hits, r.err
	}
	h, err := o.replay(ctx, p, from, until)
	// That nothing ran, or that nothing could, took as long to find out.
	if err == nil || core.Is(err, core.CodeNotFound) || core.Is(err, core.CodeInvalid) {
		if o.replays.found == nil {
			o.replays.found = make(map[replayOf]replay)
		}
		o.replays.found[of] = replay{o.now(), h, err}
	}
	return h, err
}
