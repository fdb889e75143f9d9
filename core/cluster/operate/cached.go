package operate

import (
	"context"
	"sync"
	"time"
)

// How long a reading is shown.
const (
	freshFor       = time.Second
	consistencyFor = 30 * time.Second
)

// cached is the last reading of something, which all share who ask while it is fresh. The
// zero value has none.
type cached[T any] struct {
	once sync.Once
	turn chan struct{} // held by who reads, and while value and at change
	at   time.Time
	has  bool

	value T
}

// get returns the last reading, or reads anew if that is older than the time. One reads
// while the others wait for it; a reading that failed is nobody's but its reader's.
func (c *cached[T]) get(ctx context.Context, now func() time.Time, fresh time.Duration, read func(context.Context) (T, error)) (T, error) {
	c.once.Do(func() { c.turn = make(chan struct{}, 1) })
	var none T
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return none, ctx.Err()
	}
	defer func() { <-c.turn }()
	if age := now().Sub(c.at); c.has && age >= 0 && age < fresh {
		return c.value, nil
	}
	value, err := read(ctx)
	if err != nil {
		return none, err
	}
	c.value, c.at, c.has = value, now(), true
	return value, nil
}

// stale has the next get read anew: something was done that changes what was read.
func (c *cached[T]) stale() {
	c.once.Do(func() { c.turn = make(chan struct{}, 1) })
	c.turn <- struct{}{}
	c.has = false
	<-c.turn
}
