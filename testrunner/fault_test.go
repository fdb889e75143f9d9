package testrunner_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent"
	"drover/core/coretest"
	"drover/testrunner"
)

// testTimeout is how long a condition may take that has no event to wait for.
const testTimeout = 5 * time.Minute

func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	require.Eventually(t, holds, testTimeout, time.Millisecond)
}

// held is a run that says when it has begun and then waits to be killed or let go.
type held struct {
	begun chan string // the VM's number
	let   chan struct{}
}

func newHeld() *held { return &held{begun: make(chan string, 10), let: make(chan struct{})} }

func (h *held) run(ctx context.Context, _ int, run agent.Run, sink func(string, []byte)) (agent.Exit, error) {
	sink(agent.Stdout, []byte("begun"))
	h.begun <- strings.Join(run.Args, " ")
	select {
	case <-h.let:
		return agent.Exit{}, nil
	case <-ctx.Done():
		return untilKilled(ctx, "vm")
	}
}

func (h *held) wait(t *testing.T) {
	t.Helper()
	select {
	case <-h.begun:
	case <-time.After(testTimeout):
		t.Fatal("nothing was run")
	}
}

// one is a fixture with a request, VMs, and a run that waits.
func one(t *testing.T, vms int) (*fixture, core.Spec, *held) {
	t.Helper()
	w, h := newFixture(t), newHeld()
	w.script.run = h.run
	w.cluster.AddVMs(t, vms)
	spec := coretest.Spec("r1", "p1", "ann")
	w.submit(spec)
	return w, spec, h
}

func (w *fixture) spooled() []string {
	w.t.Helper()
	names, err := filepath.Glob(filepath.Join(w.spool, "*"))
	require.NoError(w.t, err)
	for i := range names {
		names[i] = filepath.Base(names[i])
	}
	return names
}

func TestCancelStopsTheRun(t *testing.T) {
	t.Parallel()
	w, spec, h := one(t, 1)
	r := w.start(nil)
	h.wait(t)
	_, err := w.cluster.Store.Cancel(t.Context(), spec.Key(), "bob", core.CancelAny)
	require.NoError(t, err)
	got := w.result()
	r.drain()
	assert.Equal(t, core.RequestCancelled, got.State)
	assert.Contains(t, got.Reason, "cancelled")
	assert.Equal(t, "begun", got.Stdout, "what it had printed is kept")
	assert.Empty(t, w.place(spec).State)
	assert.Equal(t, map[core.VMState]int{core.VMDirty: 1}, w.vmStates())
}

func TestRunThatDoesNotEndIsAPlatformFault(t *testing.T) {
	t.Parallel()
	w, spec, h := one(t, 3)
	spec.ID = "r2"
	spec.Limits.Timeout = time.Millisecond
	w.submit(spec)
	close(h.let) // r1 ends by itself
	var forgets atomic.Int64
	w.script.run = func(ctx context.Context, n int, run agent.Run, sink func(string, []byte)) (agent.Exit, error) {
		if run.Limits.Timeout == time.Millisecond && forgets.Add(1) == 1 {
			return untilKilled(ctx, "vm") // its agent forgets the time
		}
		return h.run(ctx, n, run, sink)
	}
	r := w.start(func(c *testrunner.Config, _ *testrunner.Deps) { c.RunGrace, c.MaxAttempts = time.Millisecond, 1 })
	states := map[string]core.Result{}
	for range 2 {
		got := w.result()
		states[got.ID] = got
	}
	r.drain()
	assert.Equal(t, core.RequestCompleted, states["r1"].State)
	assert.Equal(t, core.RequestCompleted, states["r2"].State, "late is not dead, whatever may be late")
	assert.Equal(t, 2, states["r2"].Attempt)
}

func TestStagingThatTakesTooLongIsAPlatformFault(t *testing.T) {
	t.Parallel()
	w, _, h := one(t, 0)
	pool := core.DefaultPool("p1")
	pool.Max, pool.StageTimeout = 1000, time.Millisecond
	require.NoError(t, w.cluster.Store.SetPool(t.Context(), pool))
	w.script.slow = 1
	w.cluster.AddVMs(t, 2)
	r := w.start(func(c *testrunner.Config, _ *testrunner.Deps) { c.MaxAttempts = 1 })
	h.wait(t)
	close(h.let)
	got := w.result()
	r.drain()
	assert.Equal(t, core.RequestCompleted, got.State, "late is not dead, whatever may be late")
	assert.Equal(t, 2, got.Attempt)
}

// An outage of the blob store costs no attempt and no VM: the claim waits for its
// end, whether the store answers with errors or not at all.
func TestBlobStoreDown(t *testing.T) {
	t.Parallel()
	for name, stuck := range map[string]bool{"Refuses": false, "Hangs": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _, h := one(t, 0)
			close(h.let)
			pool := core.DefaultPool("p1")
			pool.Max, pool.StageTimeout = 1000, 50*time.Millisecond
			require.NoError(t, w.cluster.Store.SetPool(t.Context(), pool))
			spec := coretest.Spec("r2", "p1", "bob")
			graded(w, &spec)
			w.script.run = says(report, "", agent.Exit{})
			w.blobs.stuck.Store(stuck)
			w.blobs.down.Store(true)
			w.blobs.spare = spec.Harness.Digest // that one is in the host's cache
			w.cluster.AddVMs(t, 2)
			w.submit(spec)
			r := w.start(nil)
			w.result() // r1 needs no files
			eventually(t, func() bool { return w.blobs.pings.Load() >= 2 })
			assert.Equal(t, core.RequestClaimed, w.place(spec).State)
			w.blobs.down.Store(false)
			got := w.result()
			r.drain()
			assert.Equal(t, core.RequestCompleted, got.State, got.Reason)
			assert.Equal(t, 1, got.Attempt)
			assert.Len(t, w.vms, 2)
		})
	}
}

// A blob that cannot be read while the store is well is a platform fault.
func TestBlobRotten(t *testing.T) {
	t.Parallel()
	w, _, h := one(t, 4)
	close(h.let)
	spec := coretest.Spec("r2", "p1", "bob")
	in := w.blobs.put("in", "input")
	spec.Stdin = &in
	w.blobs.rot.Store(true)
	w.script.run = func(_ context.Context, _ int, run agent.Run, _ func(string, []byte)) (agent.Exit, error) {
		if run.Stdin != nil {
			_, _ = io.Copy(io.Discard, run.Stdin) // the program makes something of half its input
		}
		return agent.Exit{}, nil
	}
	w.submit(spec)
	r := w.start(nil)
	states := map[string]core.Result{}
	for range 2 {
		got := w.result()
		states[got.ID] = got
	}
	r.drain()
	assert.Equal(t, core.RequestCompleted, states["r1"].State)
	assert.Equal(t, core.RequestFailed, states["r2"].State, "nobody died, and another try reads the same")
	assert.Equal(t, core.BlamePlatform, states["r2"].Blame)
	assert.Contains(t, states["r2"].Reason, "does not match its digest")
}

// The slot is not cleared before the store has the result, and the disk has it meanwhile.
func TestStoreDown(t *testing.T) {
	t.Parallel()
	w, spec, h := one(t, 1)
	close(h.let)
	w.ledger.fail(func(r core.Result) error { return core.Errorf(core.CodeUnavailable, r.ID, "no store") })
	r := w.start(nil)
	eventually(t, func() bool { return w.ledger.tries.Load() >= 3 })
	place := w.place(spec)
	assert.Equal(t, core.RequestRunning, place.State)
	assert.Equal(t, []string{spec.Key() + "@" + place.Token + ".json"}, w.spooled())
	w.ledger.fail(nil)
	got := w.result()
	r.drain()
	assert.Equal(t, core.RequestCompleted, got.State)
	assert.Equal(t, place.Token, got.Token)
	assert.Empty(t, w.spooled())
	assert.Empty(t, w.place(spec).State)
}

// A runner that must stop while the store is down leaves the result on disk; its
// next start delivers it, whatever became of the slot, and it counts once.
func TestStoreDownUntilTheNextStart(t *testing.T) {
	t.Parallel()
	w, spec, h := one(t, 2)
	close(h.let)
	w.ledger.fail(func(r core.Result) error { return core.Errorf(core.CodeUnavailable, r.ID, "no store") })
	r := w.start(nil)
	eventually(t, func() bool { return w.ledger.tries.Load() >= 1 })
	r.stop()
	require.Len(t, w.spooled(), 1)
	w.ledger.fail(nil)
	r = w.start(nil)
	got := w.result()
	eventually(t, func() bool { return w.place(spec).State == "" })
	r.drain()
	assert.Equal(t, core.RequestCompleted, got.State)
	assert.Empty(t, w.spooled())
	attempts, err := w.ledger.Attempts(t.Context(), spec.ID)
	require.NoError(t, err)
	accepted := 0
	for _, a := range attempts {
		if a.Accepted {
			accepted++
			assert.Equal(t, got.Token, a.Result.Token)
		}
	}
	assert.Equal(t, 1, accepted)
}

// What a killed predecessor left: a slot, and for one of two a spooled result.
func TestStartAfterKill(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.cluster.AddVMs(t, 3)
	done, undone := coretest.Spec("done", "p1", "ann"), coretest.Spec("undone", "p1", "bob")
	w.submit(done)
	w.submit(undone)
	left := w.cluster.Exchange(t, 1, 2).Claims
	require.Len(t, left, 2)
	// Its result got as far as the disk: a runner that fails to record makes the file.
	tokens := map[string]string{left[0].Key: left[0].Token, left[1].Key: left[1].Token}
	require.NoError(t, os.MkdirAll(w.spool, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(w.spool, done.Key()+"@"+tokens[done.Key()]+".json"),
		[]byte(`{"id":"done","generation":1,"state":"completed","exit_code":7,"attempt":1,"token":"`+tokens[done.Key()]+`"}`), 0o600))

	r := w.start(nil)
	results := map[string]core.Result{}
	for range 2 {
		got := w.result()
		results[got.ID] = got
	}
	r.drain()
	assert.Equal(t, 7, results["done"].ExitCode)
	assert.Equal(t, 1, results["done"].Attempt)
	assert.Equal(t, 2, results["undone"].Attempt, "it ran again")
	assert.Len(t, w.vms, 1, "and the other one did not")
	assert.Empty(t, w.spooled())
	assert.Equal(t, map[core.VMState]int{core.VMDirty: 3}, w.vmStates())
}

func TestStartWaitsForTheStore(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.cluster.AddVMs(t, 2)
	spec := coretest.Spec("r1", "p1", "ann")
	w.submit(spec)
	left := w.cluster.Exchange(t, 1, 1).Claims
	require.Len(t, left, 1)
	require.NoError(t, os.MkdirAll(w.spool, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(w.spool, "r1-1@1.1.json"), []byte(`{"id":"r1","generation":1,"state":"completed","token":"1.1"}`), 0o600))
	w.ledger.fail(func(r core.Result) error { return core.Errorf(core.CodeUnavailable, r.ID, "no store") })
	r := w.start(nil)
	eventually(t, func() bool { return w.ledger.tries.Load() >= 2 })
	assert.Empty(t, w.vms, "nothing is claimed before what was left is settled")
	w.ledger.fail(nil)
	assert.Equal(t, core.RequestCompleted, w.result().State)
	r.drain()
	assert.Empty(t, w.place(spec).State)
}

// What cannot be read or recorded is quarantined and holds nothing up.
func TestSpoolWithRubbish(t *testing.T) {
	t.Parallel()
	w, _, h := one(t, 1)
	close(h.let)
	require.NoError(t, os.MkdirAll(w.spool, 0o700))
	for name, content := range map[string]string{
		"half-1@1.1.json": `{"id":"half"`, "gone-1@1.1.json": `{"id":"gone","generation":1,"state":"completed","token":"1.1"}`,
		"half-1@1.2.json.new": "x", "README": "x",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(w.spool, name), []byte(content), 0o600))
	}
	r := w.start(nil)
	assert.Equal(t, "r1", w.result().ID)
	r.drain()
	assert.ElementsMatch(t, []string{"half-1@1.1.bad", "half-1@1.2.json.new", "README"}, w.spooled())
}

// A fenced runner kills and drops its work and goes on under a new epoch.
func TestFenced(t *testing.T) {
	t.Parallel()
	w, spec, h := one(t, 2)
	r := w.start(nil)
	h.wait(t)
	before := w.place(spec)
	w.cluster.Register(t, w.cluster.Runner) // somebody takes its name
	h.wait(t)                               // it runs again
	close(h.let)
	got := w.result()
	r.drain()
	assert.NotEqual(t, before.Token, got.Token)
	assert.Equal(t, 2, got.Attempt)
	assert.Empty(t, w.place(spec).State)
	attempts, err := w.ledger.Attempts(t.Context(), spec.ID)
	require.NoError(t, err)
	assert.Len(t, attempts, 1, "the fenced attempt recorded nothing")
}

func TestDrainFinishesWhatIsInHand(t *testing.T) {
	t.Parallel()
	w, spec, h := one(t, 2)
	r := w.start(func(c *testrunner.Config, _ *testrunner.Deps) { c.Slots = 1 })
	h.wait(t)
	later := coretest.Spec("r2", "p1", "ann")
	w.submit(later)
	r.Drain()
	close(h.let)
	r.drain()
	assert.Equal(t, spec.ID, w.result().ID)
	assert.Equal(t, core.RequestQueued, w.place(later).State)
	owners, err := w.cluster.Store.ListOwners(t.Context())
	require.NoError(t, err)
	assert.Len(t, owners, 1, "it deregistered")
}

func TestStopGivesBackWhatIsInHand(t *testing.T) {
	t.Parallel()
	w, spec, h := one(t, 2)
	r := w.start(nil)
	h.wait(t)
	r.stop()
	place := w.place(spec)
	assert.Equal(t, core.RequestQueued, place.State)
	assert.Zero(t, place.Attempts, "a release is no attempt")
	assert.Equal(t, map[core.VMState]int{core.VMDirty: 1, core.VMClean: 1}, w.vmStates())
	assert.Zero(t, w.ledger.tries.Load())
	owners, err := w.cluster.Store.ListOwners(t.Context())
	require.NoError(t, err)
	assert.Len(t, owners, 1, "it deregistered")
}

func TestDrainBeforeTheStart(t *testing.T) {
	t.Parallel()
	w, spec, _ := one(t, 1)
	r, err := testrunner.New(w.config(), testrunner.Deps{
		Owners: w.cluster.Store, Claims: w.cluster.Store, Pools: w.cluster.Store, Output: w.output, Store: w.ledger, Blobs: w.blobs,
		Dial: w.dial, Log: quiet(),
	})
	require.NoError(t, err)
	r.Drain()
	require.NoError(t, r.Run(t.Context()))
	assert.Equal(t, core.RequestQueued, w.place(spec).State)
}

// Live output is a beginning of the whole, then an end that says how it went.
func TestLiveOutput(t *testing.T) {
	t.Parallel()
	w, spec, _ := one(t, 1)
	whole := strings.Repeat("0123456789", 10_000)
	w.script.run = func(_ context.Context, _ int, _ agent.Run, sink func(string, []byte)) (agent.Exit, error) {
		for rest := []byte(whole); len(rest) > 0; rest = rest[1000:] {
			sink(agent.Stdout, rest[:1000])
		}
		sink(agent.Stderr, []byte("oops"))
		return agent.Exit{}, nil
	}
	r := w.start(nil)
	got := w.result()
	r.drain()
	chunks, err := w.output.Read(t.Context(), spec.Key(), got.Token, "", time.Millisecond)
	require.NoError(t, err)
	streams := map[string]string{}
	for _, c := range chunks {
		assert.LessOrEqual(t, len(c.Data), 32<<10)
		streams[c.Stream] += string(c.Data)
	}
	assert.Equal(t, map[string]string{"stdout": whole, "stderr": "oops", "end": "completed"}, streams)
	assert.Equal(t, testrunner.StreamEnd, chunks[len(chunks)-1].Stream)
	assert.Less(t, len(chunks), 50, "small writes go together")
}

func TestLiveOutputOfAnAttemptThatFailed(t *testing.T) {
	t.Parallel()
	w, spec, _ := one(t, 2)
	w.script.run = func(_ context.Context, n int, _ agent.Run, sink func(string, []byte)) (agent.Exit, error) {
		if n == 1 {
			sink(agent.Stdout, []byte("lost"))
			return agent.Exit{}, core.Errorf(core.CodeBadVM, "vm", "gone")
		}
		return agent.Exit{}, nil
	}
	r := w.start(nil)
	h := w.result()
	r.drain()
	assert.Equal(t, 2, h.Attempt)
	assert.Empty(t, h.Stdout, "of an attempt that failed nothing is mixed in")
	keys, err := w.redis.Admin.Keys(t.Context(), w.redis.Namespace+":output:*").Result()
	require.NoError(t, err)
	assert.Len(t, keys, 2)
	for _, key := range keys {
		token := key[strings.LastIndexByte(key, ':')+1:]
		chunks, err := w.output.Read(t.Context(), spec.Key(), token, "", time.Millisecond)
		require.NoError(t, err)
		last := chunks[len(chunks)-1]
		if token == h.Token {
			assert.Equal(t, "completed", string(last.Data))
		} else {
			assert.Equal(t, "queued", string(last.Data))
		}
	}
}

// Without live output a run goes on, and its result has everything.
func TestLiveOutputBroken(t *testing.T) {
	t.Parallel()
	w, _, _ := one(t, 1)
	w.output.broken.Store(true)
	w.script.run = says("out", "", agent.Exit{})
	r := w.start(nil)
	got := w.result()
	r.drain()
	assert.Equal(t, "out", got.Stdout)
	assert.Equal(t, core.RequestCompleted, got.State)
}
