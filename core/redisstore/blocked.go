package redisstore

import "context"

// blocked makes a read that may block, and returns at once if ctx ends. The client does not interrupt a read, so it
// then ends in the background, and what it got is lost: it must not take anything that is not offered again.
func blocked[T any](ctx context.Context, read func(context.Context) (T, error)) (T, error) {
	type reply struct {
		value T
		err   error
	}
	got := make(chan reply, 1)
	go func() {
		value, err := read(context.WithoutCancel(ctx))
		got <- reply{value, err}
	}()
	select {
	case r := <-got:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
