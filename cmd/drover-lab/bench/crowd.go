package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"drover/core"
	"drover/core/redisstore"
	"drover/core/service/clock"
	"drover/core/worker"
	"drover/overseer"
)

// bystanders are owners that only send heartbeats, judged like by an overseer.
type bystanders struct {
	store *redisstore.Store
	all   []*worker.Presence
	stop  context.CancelFunc
	done  sync.WaitGroup
	fault error // of the looks; to be read when they are done
}

// crowd registers n owners, ten per host, which send heartbeats every second.
func crowd(ctx context.Context, url string, n int) (*bystanders, error) {
	s, err := redisstore.Open(ctx, redisstore.Options{URL: url})
	if err != nil {
		return nil, err
	}
	b := &bystanders{store: s, all: make([]*worker.Presence, n)}
	ctx, b.stop = context.WithCancel(ctx)
	var g errgroup.Group
	g.SetLimit(8)
	for i := range n {
		g.Go(func() error {
			host := fmt.Sprintf("beside%d", i/10)
			p, _, err := worker.Join(ctx, s, worker.PresenceConfig{Registration: core.Registration{
				Owner: core.OwnerName(core.RoleTaskrunner, host, i%10), Host: host, Machine: host, Beat: time.Second,
			}})
			b.all[i] = p
			return err
		})
	}
	if err := g.Wait(); err != nil {
		_, worse := b.leave()
		return nil, errors.Join(err, worse)
	}
	if n > 0 {
		b.done.Go(func() { b.watch(ctx) })
	}
	return b, nil
}

// watch judges like an overseer, and as often.
func (b *bystanders) watch(ctx context.Context) {
	c := overseer.Defaults()
	for clock.Sleep(ctx, clock.Real{}, time.Second/4) == nil {
		late, err := b.store.Judge(ctx, c.Suspect, c.Down)
		for _, host := range late {
			err = errors.Join(err, b.store.Down(ctx, host, c.Down))
		}
		if err != nil && ctx.Err() == nil && !core.Is(err, core.CodeConflict) {
			b.fault = err
		}
	}
}

// leave ends them all and returns how many were declared dead.
func (b *bystanders) leave() (died int, err error) {
	b.stop()
	b.done.Wait()
	for _, p := range b.all {
		if p == nil {
			continue
		}
		select {
		case <-p.Lost():
			died++
		default:
		}
		p.Stop() // without deregistering: the server is private, and ends
	}
	return died, errors.Join(b.fault, b.store.Close())
}
