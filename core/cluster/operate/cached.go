package operate

import (
	"context"
	"sync"
	"time"
)

// How long a cached reading is used.
const (
	freshFor       = time.Second
	consistencyFor = 30 * time.Second
)

// cached is the last reading of something, shared by all callers while it is fresh. The zero value has none.
type cached[T any] struct {
	once sync.Once
	turn chan struct{} // held by the caller that reads, and during access to value and at
	at   time.Time
	has  bool

	value T
}

// get returns the last reading, or reads anew if that is older than fresh. One caller reads while the others wait; a
// failed reading is returned only to its caller.
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

// stale makes the next get read anew, because the data was changed.
func (c *cached[T]) stale() {
	c.once.Do(func() { c.turn = make(chan struct{}, 1) })
	c.turn <- struct{}{}
	c.has = false
	<-c.turn
}
