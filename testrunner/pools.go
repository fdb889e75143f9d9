package testrunner

import (
	"context"
	"sync"
	"time"

	"drover/core"
	"drover/core/service/clock"
)

// poolsFresh is how long a pool's cached settings are used.
const poolsFresh = 5 * time.Second

// pools caches the settings of pools, so that not every claim reads them.
type pools struct {
	from  core.Pools
	clock clock.Clock

	mu   sync.Mutex
	seen map[string]seenPool
}

type seenPool struct {
	pool core.Pool
	at   time.Time
}

func newPools(from core.Pools, c clock.Clock) *pools {
	return &pools{from: from, clock: c, seen: map[string]seenPool{}}
}

// get returns a pool's settings: the current ones, else the last ones that could be read, else the default and false.
func (p *pools) get(ctx context.Context, name string) (pool core.Pool, known bool) {
	p.mu.Lock()
	last, known := p.seen[name]
	p.mu.Unlock()
	now := p.clock.Now()
	if known && now.Sub(last.at) < poolsFresh {
		return last.pool, true
	}
	pool, err := p.from.GetPool(ctx, name)
	switch {
	case err == nil:
	case known:
		return last.pool, true
	default:
		return core.DefaultPool(name), false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen[name] = seenPool{pool, now}
	return pool, true
}
