package testrunner_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/testrunner"
)

// runningSlot is the one slot of the fixture's runner, once Redis has heard that its command runs.
func (w *fixture) runningSlot() core.Held {
	w.t.Helper()
	eventually(w.t, func() bool { return w.slot().Phase == string(core.RequestRunning) })
	return w.slot()
}

// slot is the one slot of the fixture's runner.
func (w *fixture) slot() core.Held {
	w.t.Helper()
	held, err := w.cluster.Store.Held(w.t.Context(), w.cluster.Runner, 0)
	require.NoError(w.t, err)
	require.Len(w.t, held, 1)
	return held[0]
}

// A runner says how long a run may take: longer than it gives the VM itself.
func TestTheLimitOfARunIsDeclared(t *testing.T) {
	t.Parallel()
	w, spec, h := one(t, 1)
	r := w.start(func(c *testrunner.Config, _ *testrunner.Deps) { c.RunGrace = 3 * time.Second })
	h.wait(t)
	slot := w.runningSlot()
	assert.Greater(t, slot.Limit, spec.Limits.Timeout+3*time.Second)
	assert.Less(t, slot.Limit, spec.Limits.Timeout+3*time.Second+time.Minute)
	close(h.let)
	w.result()
	r.drain()
}

// While a store is down, what waits for it is heard of again and again.
func TestWaitingForAStoreIsNotHanging(t *testing.T) {
	t.Parallel()
	w, _, h := one(t, 1)
	close(h.let)
	w.ledger.fail(func(r core.Result) error { return core.Errorf(core.CodeUnavailable, r.ID, "no store") })
	r := w.start(nil)
	eventually(t, func() bool { return w.ledger.tries.Load() >= 2 })
	first := w.slot()
	eventually(t, func() bool { return w.slot().Since > first.Since })
	w.ledger.fail(nil)
	w.result()
	r.drain()
}

// Work that is taken from a runner is stopped, its result counts for nothing more, and the
// runner's slot is free.
func TestRevokeedWorkStops(t *testing.T) {
	t.Parallel()
	w, spec, h := one(t, 2)
	r := w.start(func(c *testrunner.Config, _ *testrunner.Deps) { c.Slots = 1 })
	h.wait(t)
	slot := w.runningSlot()
	err := w.cluster.Store.Revoke(t.Context(), w.cluster.Runner, slot, core.Settlement{
		Key: slot.Key, Token: slot.Token, Outcome: core.OutcomeRetry,
	}, "it hangs")
	require.NoError(t, err)
	eventually(t, func() bool { // nobody else proves a life here
		_, err := w.cluster.Store.Promote(t.Context())
		require.NoError(t, err)
		place := w.place(spec)
		return place.State == core.RequestRunning && place.Token != slot.Token
	})
	close(h.let)
	got := w.result()
	r.drain()
	assert.Equal(t, core.RequestCompleted, got.State)
	assert.NotEqual(t, slot.Token, got.Token)
	assert.Equal(t, 2, got.Attempt)
	attempts, err := w.ledger.Attempts(t.Context(), spec.ID)
	require.NoError(t, err)
	assert.Len(t, attempts, 1, "what was revoked recorded nothing")
}

// lateClaims tells Redis of the first run only once the test lets it.
type lateClaims struct {
	core.Claims
	first sync.Once
	let   chan struct{}
}

func (c *lateClaims) Progress(ctx context.Context, owner string, epoch int64, key, token, phase string, limit time.Duration) error {
	c.first.Do(func() { <-c.let })
	return c.Claims.Progress(ctx, owner, epoch, key, token, phase, limit)
}

// A command does not wait until Redis has heard of it; if its claim is found to be lost then, it is stopped.
func TestWorkThatWasLostStopsSoonAfterItBegan(t *testing.T) {
	t.Parallel()
	w, spec, h := one(t, 2)
	late := &lateClaims{Claims: w.cluster.Store, let: make(chan struct{})}
	r := w.start(func(c *testrunner.Config, d *testrunner.Deps) { c.Slots, d.Claims = 1, late })
	h.wait(t)
	slot := w.slot()
	require.Equal(t, string(core.RequestClaimed), slot.Phase)
	require.NoError(t, w.cluster.Store.Revoke(t.Context(), w.cluster.Runner, slot, core.Settlement{
		Key: slot.Key, Token: slot.Token, Outcome: core.OutcomeRetry,
	}, "it hangs"))
	close(late.let)
	eventually(t, func() bool { // nobody else does it here
		_, err := w.cluster.Store.Promote(t.Context())
		require.NoError(t, err)
		return w.place(spec).Token != slot.Token
	})
	h.wait(t) // on the other VM
	close(h.let)
	got := w.result()
	r.drain()
	assert.Equal(t, core.RequestCompleted, got.State)
	assert.Equal(t, 2, got.Attempt)
	attempts, err := w.ledger.Attempts(t.Context(), spec.ID)
	require.NoError(t, err)
	assert.Len(t, attempts, 1, "what was lost recorded nothing")
}
