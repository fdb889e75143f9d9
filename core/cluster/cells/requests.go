package cells

import (
	"context"
	"errors"
	"time"

	"drover/core"
)

func (c *Cells) ofSpec(ctx context.Context, s core.Spec) (*Cell, error) { return c.ofPool(ctx, s.Pool) }

// Enqueue implements core.Queue. The requests of a cell that is away get its error; the call fails if all cells are.
func (c *Cells) Enqueue(ctx context.Context, specs []core.Spec) ([]error, error) {
	all, err := groups(ctx, specs, c.ofSpec)
	if err != nil {
		return nil, err
	}
	out, failed := make([]error, len(specs)), []error(nil)
	for _, g := range all {
		var verdicts []error
		r, err := g.cell.open(ctx)
		if err == nil {
			verdicts, err = r.Enqueue(ctx, g.items)
		}
		if err != nil {
			failed = append(failed, err)
		}
		for i, place := range g.places {
			if out[place] = err; err == nil {
				out[place] = verdicts[i]
			}
		}
	}
	if len(failed) > 0 && len(failed) == len(all) {
		return nil, errors.Join(failed...)
	}
	return out, nil
}

// Present implements core.Queue.
func (c *Cells) Present(ctx context.Context, keys []string) ([]bool, error) {
	return spread(ctx, keys, c.ofKey, func(r Redis, some []string) ([]bool, error) { return r.Present(ctx, some) })
}

// ReadClock implements core.Queue, for the first cell: each overseer asks its own.
func (c *Cells) ReadClock(ctx context.Context) (core.RedisClock, error) {
	return ask(ctx, c.ofTask, "", func(r Redis) (core.RedisClock, error) { return r.ReadClock(ctx) })
}

// WaitingSince implements core.Queue.
func (c *Cells) WaitingSince(ctx context.Context, keys []string) ([]int64, error) {
	return spread(ctx, keys, c.ofKey, func(r Redis, some []string) ([]int64, error) { return r.WaitingSince(ctx, some) })
}

// WaitAnew implements core.Queue.
func (c *Cells) WaitAnew(ctx context.Context, keys []string) error {
	_, err := spread(ctx, keys, c.ofKey, func(r Redis, some []string) ([]struct{}, error) { return nil, r.WaitAnew(ctx, some) })
	return err
}

// KnowsEnds implements core.Queue.
func (c *Cells) KnowsEnds(ctx context.Context, keys []string) ([]bool, error) {
	return spread(ctx, keys, c.ofKey, func(r Redis, some []string) ([]bool, error) { return r.KnowsEnds(ctx, some) })
}

// ForgetEnds implements core.Queue, for all cells that answer.
func (c *Cells) ForgetEnds(ctx context.Context, keys []string) error {
	_, err := readAll(ctx, c, func(ctx context.Context, r Redis) (struct{}, error) { return struct{}{}, r.ForgetEnds(ctx, keys) })
	return err
}

// Specs implements core.Queue.
func (c *Cells) Specs(ctx context.Context, keys []string) ([]core.Spec, error) {
	out := []core.Spec{}
	_, err := spread(ctx, keys, c.ofKey, func(r Redis, some []string) ([]struct{}, error) {
		specs, err := r.Specs(ctx, some)
		out = append(out, specs...)
		return nil, err
	})
	return out, err
}

// Promote implements core.Queue, for all cells that answer.
func (c *Cells) Promote(ctx context.Context) (int, error) {
	return sum(ctx, c, func(ctx context.Context, r Redis) (int, error) { return r.Promote(ctx) })
}

// Trim implements core.Queue, for all cells that answer.
func (c *Cells) Trim(ctx context.Context, keep time.Duration) (int, error) {
	return sum(ctx, c, func(ctx context.Context, r Redis) (int, error) { return r.Trim(ctx, keep) })
}

func sum(ctx context.Context, c *Cells, do func(context.Context, Redis) (int, error)) (n int, err error) {
	all, err := readAll(ctx, c, do)
	for _, of := range all {
		n += of.value
	}
	return n, err
}

// Locate implements core.Queue.
func (c *Cells) Locate(ctx context.Context, key string) (core.Place, error) {
	return ask(ctx, c.ofKey, key, func(r Redis) (core.Place, error) { return r.Locate(ctx, key) })
}

// Preceding implements core.Queue.
func (c *Cells) Preceding(ctx context.Context, key string) (p core.Preceding, queued bool, err error) {
	err = tell(ctx, c.ofKey, key, func(r Redis) error {
		p, queued, err = r.Preceding(ctx, key)
		return err
	})
	return p, queued, err
}

// Cancel implements core.Queue.
func (c *Cells) Cancel(ctx context.Context, key, by string, scope core.CancelScope) (core.Place, error) {
	return ask(ctx, c.ofKey, key, func(r Redis) (core.Place, error) { return r.Cancel(ctx, key, by, scope) })
}

// Change implements core.Queue.
func (c *Cells) Change(ctx context.Context, spec core.Spec, from int) (had int, claimed bool, err error) {
	err = tell(ctx, c.ofPool, spec.Pool, func(r Redis) error {
		had, claimed, err = r.Change(ctx, spec, from)
		return err
	})
	return had, claimed, err
}

// Withdraw implements core.Queue.
func (c *Cells) Withdraw(ctx context.Context, key string) (bool, error) {
	return ask(ctx, c.ofKey, key, func(r Redis) (bool, error) { return r.Withdraw(ctx, key) })
}

// DropOutput implements core.Queue.
func (c *Cells) DropOutput(ctx context.Context, key string) error {
	return tell(ctx, c.ofKey, key, func(r Redis) error { return r.DropOutput(ctx, key) })
}

// ForgetDead implements core.Queue.
func (c *Cells) ForgetDead(ctx context.Context, key string) (bool, error) {
	return ask(ctx, c.ofKey, key, func(r Redis) (bool, error) { return r.ForgetDead(ctx, key) })
}

// ListDead implements core.Queue: the newest of each cell, one cell after the other.
func (c *Cells) ListDead(ctx context.Context, limit int) ([]string, error) {
	return list(ctx, c, func(ctx context.Context, r Redis) ([]string, error) { return r.ListDead(ctx, limit) })
}

// Waiting implements core.Queue.
func (c *Cells) Waiting(ctx context.Context) ([]core.QueueInfo, error) {
	return list(ctx, c, func(ctx context.Context, r Redis) ([]core.QueueInfo, error) { return r.Waiting(ctx) })
}

// Turns implements core.Queue.
func (c *Cells) Turns(ctx context.Context, queues []core.QueueInfo, most int) ([][]core.Turn, error) {
	find := func(ctx context.Context, q core.QueueInfo) (*Cell, error) { return c.ofPool(ctx, q.Pool) }
	return spread(ctx, queues, find, func(r Redis, some []core.QueueInfo) ([][]core.Turn, error) { return r.Turns(ctx, some, most) })
}

// Append implements core.Output.
func (c *Cells) Append(ctx context.Context, key, token string, chunks []core.OutputChunk) error {
	return tell(ctx, c.ofKey, key, func(r Redis) error { return r.Append(ctx, key, token, chunks) })
}

// Read implements core.Output.
func (c *Cells) Read(ctx context.Context, key, token, after string, wait time.Duration) ([]core.OutputChunk, error) {
	return ask(ctx, c.ofKey, key, func(r Redis) ([]core.OutputChunk, error) { return r.Read(ctx, key, token, after, wait) })
}

// Marks implements core.Output.
func (c *Cells) Marks(ctx context.Context, key, token string) (chunk core.OutputChunk, last string, err error) {
	err = tell(ctx, c.ofKey, key, func(r Redis) error {
		chunk, last, err = r.Marks(ctx, key, token)
		return err
	})
	return chunk, last, err
}
