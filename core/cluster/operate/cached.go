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
	latelyFor      = 30 * time.Second
)

// turn is held by one caller at a time. The zero value is free.
type turn struct {
	once sync.Once
	held chan struct{}
}

// take waits until the turn is free, or ctx ends.
func (t *turn) take(ctx context.Context) error {
	t.once.Do(func() { t.held = make(chan struct{}, 1) })
	select {
	case t.held <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *turn) free() { <-t.held }

// cached is the last reading of something, shared by all callers while it is fresh. The zero value has none.
type cached[T any] struct {
	turn turn // held by the caller that reads, and during access to value and at
	at   time.Time
	has  bool

	value T
}

// get returns the last reading, or reads anew if that is older than fresh. One caller reads while the others wait; a
// failed reading is returned only to its caller.
func (c *cached[T]) get(ctx context.Context, now func() time.Time, fresh time.Duration, read func(context.Context) (T, error)) (T, error) {
	var none T
	if err := c.turn.take(ctx); err != nil {
		return none, err
	}
	defer c.turn.free()
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
	_ = c.turn.take(context.Background()) // which does not end
	c.has = false
	c.turn.free()
}
