package testrunner_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent"
	"drover/core/coretest"
	"drover/core/harness"
)

// apart is a request for a harness with a main whose submissions run in VMs of their own.
func (w *fixture) apart() core.Spec {
	w.t.Helper()
	config, err := harness.ParseConfig([]byte(`{"drover/peer": true}`))
	require.NoError(w.t, err)
	spec := coretest.Spec("r1", w.cluster.Pool, "ann")
	graded(w, &spec)
	spec.Input = harness.NewInput(config, harness.TestPublic)
	return spec
}

// oneCall is a call of drover-run; after it nobody calls any more.
func oneCall() func(context.Context) (*agent.Call, error) {
	called := false
	return func(ctx context.Context) (*agent.Call, error) {
		if called {
			<-ctx.Done()
			return nil, core.Wrap(context.Cause(ctx), core.CodeUnavailable, "", "the call was given up")
		}
		called = true
		ours, theirs := net.Pipe()
		go func() {
			_, _ = io.WriteString(theirs, "POST /box HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n\x00\x00\x00\x02{}\r\n0\r\n\r\n")
			_, _ = io.Copy(io.Discard, theirs)
		}()
		return agent.NewCall(ctx, ours)
	}
}

// The harness is in the peer, where no command runs but it; what it calls for runs in the VM, and counts as used.
func TestAHarnessAway(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.cluster.Peers = true
	answered := make(chan struct{})
	w.script.call = oneCall()
	w.script.answer = func(*agent.Call, core.Limits) (agent.Exit, error) {
		close(answered)
		return agent.Exit{CPUMs: 70, MemoryPeakBytes: 900}, nil
	}
	w.script.run = func(_ context.Context, _ int, run agent.Run, sink func(string, []byte)) (agent.Exit, error) {
		var input struct {
			Peer bool `json:"drover/peer"`
		}
		if err := json.NewDecoder(run.Stdin).Decode(&input); err != nil || !input.Peer || !run.Harness || !run.Away {
			return agent.Exit{Code: 1}, err
		}
		<-answered
		sink(agent.Stdout, []byte(report))
		return agent.Exit{CPUMs: 30, WallMs: 50, MemoryPeakBytes: 100}, nil
	}
	w.submit(w.apart())
	w.cluster.AddVMs(t, 1)
	w.start(nil)
	r := w.result()
	require.Equal(t, core.RequestCompleted, r.State, r.Reason)
	assert.Equal(t, core.Usage{CPUMs: 100, WallMs: 50, MemoryPeakBytes: 900}, r.Usage)
	w.mu.Lock()
	defer w.mu.Unlock()
	require.Len(t, w.vms, 2)
	require.Equal(t, core.PeerOf(w.vms[0].id), w.vms[1].id)
	assert.Equal(t, []string{"answer"}, w.vms[0].did)
	assert.Equal(t, []string{"stage harness main", "stage submission answer.sh"}, w.vms[1].did[:2])
	assert.True(t, w.vms[1].closed)
}

// What the harness's own VM runs out of is the harness's fault: nothing of the submission was there.
func TestAHarnessAwayThatGrows(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.cluster.Peers = true
	w.script.run = func(context.Context, int, agent.Run, func(string, []byte)) (agent.Exit, error) {
		return agent.Exit{Code: 137, Signal: "SIGKILL", MemoryExceeded: true}, nil
	}
	w.submit(w.apart())
	w.cluster.AddVMs(t, 1)
	w.start(nil)
	r := w.result()
	require.Equal(t, core.BlameHarness, r.Blame, r.Reason)
	require.Contains(t, r.Reason, "it took more memory than its limit")
}

// A VM that dies under a call costs a try and no verdict.
func TestAVMDiesUnderACall(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.cluster.Peers = true
	first := true
	w.script.call = oneCall()
	w.script.answer = func(*agent.Call, core.Limits) (agent.Exit, error) {
		return agent.Exit{}, core.Errorf(core.CodeBadVM, "vm", "VM vm does not answer")
	}
	w.script.run = func(ctx context.Context, _ int, _ agent.Run, sink func(string, []byte)) (agent.Exit, error) {
		if first {
			first = false
			return untilKilled(ctx, "vm")
		}
		sink(agent.Stdout, []byte(report))
		return agent.Exit{}, nil
	}
	w.submit(w.apart())
	w.cluster.AddVMs(t, 2)
	w.start(nil)
	r := w.result()
	require.Equal(t, core.RequestCompleted, r.State, r.Reason)
	require.Equal(t, 2, r.Attempt)
}

func TestAHarnessAwayNeedsAPoolWithPeers(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.submit(w.apart())
	w.cluster.AddVMs(t, 1)
	w.start(nil)
	r := w.result()
	require.Equal(t, core.BlameHarness, r.Blame)
	require.Contains(t, r.Reason, "it needs a VM of its own, and those of pool p1 have no peer")
}
