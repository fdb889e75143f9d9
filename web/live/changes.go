package live

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"drover/core"
	"drover/core/requests"
)

// Intervals of the look for changes.
const (
	changesRest = 500 * time.Millisecond // between two looks: all changes in between are one
	changesLook = 5 * time.Second        // without news: a hint can be lost, and progress causes none
	batchRest   = 2 * time.Second        // a look reads all requests of the batch
	clusterRest = 2 * time.Second
	clusterLook = 10 * time.Second // how often the cluster is looked at without an event, because times pass
)

// changes describes how to watch one thing.
type changes struct {
	news string                                       // id to listen for, see requests.Watch
	rest time.Duration                                // between two looks
	look func(ctx context.Context) (any, bool, error) // returns its present state, and whether that is final
}

// task is the source of a task's page.
func (s *Streams) task(id string) source {
	return func(ctx context.Context, a core.Actor, last string) iter.Seq2[message, error] {
		return s.follow(ctx, last, changes{id, changesRest, func(ctx context.Context) (any, bool, error) {
			t, err := s.Classes.TrackTask(ctx, a, id)
			return t, t.State.Terminal(), err
		}})
	}
}

// batch is the source of a batch's page.
func (s *Streams) batch(id string) source {
	return func(ctx context.Context, a core.Actor, last string) iter.Seq2[message, error] {
		return s.follow(ctx, last, changes{id, batchRest, func(ctx context.Context) (any, bool, error) {
			v, err := s.Requests.ViewBatch(ctx, a, id)
			return v, v.State == requests.BatchCompleted, err
		}})
	}
}

// experiment is the source of an experiment's page.
func (s *Streams) experiment(id string) source {
	return func(ctx context.Context, a core.Actor, last string) iter.Seq2[message, error] {
		return s.follow(ctx, last, changes{id, changesRest, func(ctx context.Context) (any, bool, error) {
			e, progress, err := s.Classes.ExperimentProgress(ctx, a, id)
			return []any{e.State, progress}, e.State.Decided(), err
		}})
	}
}

// cluster is the source of the cluster's page, for those who may see it.
func (s *Streams) cluster(ctx context.Context, a core.Actor, last string) iter.Seq2[message, error] {
	return s.follow(ctx, last, changes{"", clusterRest, func(context.Context) (any, bool, error) {
		passed := time.Now().UnixMilli() / clusterLook.Milliseconds()
		return []any{s.Requests.Watch.Newest(), passed}, false, core.Allow(a, core.ActClusterView, core.Object{})
	}})
}

// follow yields changes. The ids of events are derived from the state, so that a returning reader gets an event if
// the state has changed, and only then.
func (s *Streams) follow(ctx context.Context, last string, c changes) iter.Seq2[message, error] {
	return func(yield func(message, error) bool) {
		listener := s.Requests.Watch.Listen(c.news)
		defer listener.Close()
		for begun := false; ; begun = true {
			id, ended, err := s.look(ctx, c)
			if begun && core.Is(err, core.CodeUnavailable) {
				id, err = last, nil // later changes follow as events
			}
			if err != nil {
				yield(message{}, err)
				return
			}
			if id != last {
				kind := kindChanged
				if ended {
					kind = kindEnd
				}
				if !yield(message{id, kind, noData{}}, nil) {
					return
				}
			}
			if last = id; ended || !yield(message{}, nil) {
				return
			}
			if err := wait(ctx, c.rest, listener.News()); err != nil {
				yield(message{}, err)
				return
			}
		}
	}
}

// look returns a name for the present state.
func (s *Streams) look(ctx context.Context, c changes) (id string, ended bool, err error) {
	var is any
	if err := s.Requests.Watch.Look(ctx, func() (err error) {
		is, ended, err = c.look(ctx)
		return err
	}); err != nil {
		return "", false, err
	}
	raw, err := json.Marshal(is)
	if err != nil {
		return "", false, core.Wrap(err, core.CodeInternal, c.news, "it cannot be told whether %s has changed", c.news)
	}
	sum := sha256.Sum256(fmt.Appendf(raw, " %t", ended))
	return hex.EncodeToString(sum[:8]), ended, nil
}

// wait returns when it is time to look again.
func wait(ctx context.Context, rest time.Duration, news <-chan struct{}) error {
	rested, look := time.NewTimer(rest), time.NewTimer(changesLook)
	defer rested.Stop()
	defer look.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-rested.C:
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-news:
	case <-look.C:
	}
	return nil
}
