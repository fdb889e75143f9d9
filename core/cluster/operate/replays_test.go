package operate_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cluster/operate"
	"drover/core/coretest"
	"drover/core/store/storetest"
)

// rereads counts how often what ended is read, and lets each reading wait for word.
type rereads struct {
	operate.Store

	read, spans atomic.Int64
	begun       chan struct{}
	word        chan struct{}
}

func (r *rereads) Ended(ctx context.Context, from, until int64, fn func(core.Ended) error) error {
	r.spans.Add(1)
	r.begun <- struct{}{}
	<-r.word
	return r.Store.Ended(ctx, from, until, func(e core.Ended) error {
		r.read.Add(1)
		return fn(e)
	})
}

// quick is a rereads of a store with one result, that waits for nothing.
func quick(t *testing.T, w *fixture) *rereads {
	t.Helper()
	spec := storetest.Spec("ann")
	spec.Pool = "p1"
	_, _, err := w.store.Create(t.Context(), spec)
	require.NoError(t, err)
	r := storetest.Result(spec, "1.1")
	r.Times = core.Times{Submitted: spec.Submitted, Claimed: 900, Started: 1000, Finished: 2000}
	_, err = w.store.Record(t.Context(), r)
	require.NoError(t, err)
	s := &rereads{Store: w.store, begun: make(chan struct{}, 100), word: make(chan struct{})}
	close(s.word)
	w.op.Store = s
	return s
}

// A replay is shared for a minute, also if there was nothing to replay, unless the pool was changed.
func TestReplayIsShared(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	ctx := t.Context()
	s := quick(t, w)
	until := time.Now().Add(time.Hour).Truncate(time.Minute)
	hits := func(from, until time.Time) (operate.Hits, error) {
		return w.op.Hits(ctx, otto, "p1", from, until, true)
	}
	for range 2 {
		h, err := hits(until.Add(-90*time.Minute), until.Add(59*time.Second))
		require.NoError(t, err)
		require.Equal(t, 1, h.Replayed)
		require.NotNil(t, h.AsSet)
		require.EqualValues(t, 1, s.read.Load())
		require.EqualValues(t, 2, s.spans.Load(), "an hour, and what was left")
		w.pass(30 * time.Second)
	}
	_, err := hits(until.Add(-90*time.Minute), until)
	require.NoError(t, err)
	require.EqualValues(t, 2, s.read.Load(), "a minute later")
	_, err = hits(until.Add(-80*time.Minute), until)
	require.NoError(t, err)
	require.EqualValues(t, 3, s.read.Load(), "another span")
	p := core.DefaultPool("p1")
	p.Warm = 0
	require.NoError(t, w.in.SetPool(ctx, p))
	_, err = hits(until.Add(-80*time.Minute), until)
	require.NoError(t, err)
	require.EqualValues(t, 4, s.read.Load(), "another pool")

	spans := s.spans.Load()
	for range 2 {
		_, err = hits(until.AddDate(-1, 0, -1), until.AddDate(-1, 0, -1).Add(time.Minute))
		requireCode(t, core.CodeNotFound, err)
		require.Equal(t, spans+1, s.spans.Load())
	}
}

// While one replay runs, others wait, and leave when nobody waits for them.
func TestOneReplayAtATime(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	s := quick(t, w)
	s.word = make(chan struct{})
	until := time.Now().Add(time.Minute)
	done := make(chan error)
	go func() {
		_, err := w.op.Hits(t.Context(), otto, "p1", until.Add(-time.Hour), until, true)
		done <- err
	}()
	<-s.begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := w.op.Hits(ctx, otto, "p1", until.Add(-30*time.Minute), until, true)
	require.ErrorIs(t, err, context.Canceled)
	require.EqualValues(t, 1, s.spans.Load())
	close(s.word)
	require.NoError(t, <-done)
}
