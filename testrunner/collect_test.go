package testrunner_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent"
	"drover/core/coretest"
)

type take = func(agent.Taken, io.Reader) error

// hands out two files and leaves a link.
func hands(want agent.Collection, take take) ([]agent.Skipped, error) {
	for _, path := range want.Paths {
		if err := take(agent.Taken{Path: path, Mode: 0o644, Size: int64(len(path))}, strings.NewReader(path)); err != nil {
			return nil, err
		}
	}
	if err := take(agent.Taken{Path: "out/empty"}, strings.NewReader("")); err != nil {
		return nil, err
	}
	return []agent.Skipped{{Path: "link", Why: "it is not a plain file"}}, nil
}

func TestCollects(t *testing.T) {
	t.Parallel()
	broken := core.Errorf(core.CodeBadVM, "vm", "VM vm does not answer")
	for name, c := range map[string]struct {
		run     agent.Exit
		collect func(n int, want agent.Collection, take take) ([]agent.Skipped, error)
		state   core.RequestState
		attempt int
	}{
		"what was asked for": {agent.Exit{}, func(_ int, w agent.Collection, t take) ([]agent.Skipped, error) { return hands(w, t) }, core.RequestCompleted, 1},
		"of a failed run": {
			agent.Exit{Code: 137, TimedOut: true}, func(_ int, w agent.Collection, t take) ([]agent.Skipped, error) { return hands(w, t) }, core.RequestTimedOut, 1,
		},
		"from another VM, if one is broken": {agent.Exit{}, func(n int, w agent.Collection, t take) ([]agent.Skipped, error) {
			if n == 1 {
				return nil, broken
			}
			return hands(w, t)
		}, core.RequestCompleted, 2},
		"from another VM, if one breaks in a file": {agent.Exit{}, func(n int, w agent.Collection, t take) ([]agent.Skipped, error) {
			if n == 1 {
				return nil, t(agent.Taken{Path: "a", Size: 9}, iotest.ErrReader(broken))
			}
			return hands(w, t)
		}, core.RequestCompleted, 2},
		"as far as VMs last": {agent.Exit{}, func(int, agent.Collection, take) ([]agent.Skipped, error) { return nil, broken }, core.RequestDead, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			calls := 0
			w.script.run = says("", "", c.run)
			w.script.collect = func(want agent.Collection, take take) ([]agent.Skipped, error) {
				calls++
				return c.collect(calls, want, take)
			}
			spec := coretest.Spec("r1", "p1", "ann")
			spec.Collect = []string{"a", "out/b"}
			w.cluster.AddVMs(t, 4)
			w.submit(spec)
			r := w.start(nil)
			got := w.result()
			r.drain()
			assert.Equal(t, c.state, got.State, got.Reason)
			assert.Equal(t, c.attempt, got.Attempt)
			if c.state == core.RequestDead {
				assert.Empty(t, got.Files)
				return
			}
			require.Len(t, got.Files, 3)
			assert.Equal(t, "out/b", got.Files[1].Path)
			assert.Equal(t, []core.LeftOut{{Path: "link", Why: "it is not a plain file"}}, got.LeftOut)
			in, err := w.blobs.Open(t.Context(), got.Files[1].Digest)
			require.NoError(t, err)
			text, err := io.ReadAll(in)
			require.NoError(t, err)
			assert.Equal(t, "out/b", string(text))
		})
	}
}

// Files of a run wait for the blob store as those of a request do.
func TestCollectedFilesWaitForTheBlobStore(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.script.run = says("", "", agent.Exit{})
	w.script.collect = func(want agent.Collection, take take) ([]agent.Skipped, error) { return hands(want, take) }
	spec := coretest.Spec("r1", "p1", "ann")
	spec.Collect = []string{"a"}
	w.blobs.down.Store(true)
	w.cluster.AddVMs(t, 2)
	w.submit(spec)
	r := w.start(nil)
	eventually(t, func() bool { return w.blobs.pings.Load() >= 2 })
	w.blobs.down.Store(false)
	got := w.result()
	r.drain()
	assert.Equal(t, core.RequestCompleted, got.State, got.Reason)
	assert.Equal(t, 1, got.Attempt)
	assert.Len(t, got.Files, 2)
	assert.Len(t, w.vms, 1, "the VM keeps them")
}

// A request that asks for nothing is asked for nothing.
func TestCollectsNothingUnasked(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.script.run = says("", "", agent.Exit{})
	w.script.collect = func(agent.Collection, take) ([]agent.Skipped, error) { return nil, errors.New("asked") }
	w.cluster.AddVMs(t, 1)
	w.submit(coretest.Spec("r1", "p1", "ann"))
	r := w.start(nil)
	got := w.result()
	r.drain()
	assert.Equal(t, core.RequestCompleted, got.State, got.Reason)
	assert.Empty(t, got.Files)
}
