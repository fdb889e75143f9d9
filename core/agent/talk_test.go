package agent_test

import (
	"context"
	"io"
	"os/exec"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent"
	"drover/core/coretest/tier"
)

// starve keeps all processors of the host busy until the test ends. The hogs are as nice as the runs that they starve, so
// that agents and other tests go on.
func starve(t *testing.T) {
	t.Helper()
	for range 2 * runtime.NumCPU() {
		hog := exec.CommandContext(t.Context(), "nice", "-n", "10", "sh", "-c", "while :; do :; done")
		require.NoError(t, hog.Start())
		t.Cleanup(func() { _ = hog.Wait() }) // the context is over by then, and has killed it
	}
}

// A run that waits for another, which is starved, has the time back that the other has lost; without that its time is up.
func TestARunWaitsForItsStarvedPartner(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Long)
	one, other := talker(t), talker(t)
	ctx := t.Context()
	starve(t)
	var ended sync.WaitGroup
	defer ended.Wait()
	busy, over := context.WithCancel(ctx)
	defer over()
	ended.Go(func() {
		_, _ = other.client.Run(busy, agent.Run{Args: []string{"sh", "-c", "while :; do :; done"}, Late: func() {}}, nil)
	})
	var lost time.Duration
	for lost < 2*time.Second { // that it is starved is the event
		if now, err := other.client.Lost(ctx); err == nil {
			lost = now
		} else {
			require.True(t, core.Is(err, core.CodeConflict), "it has not begun: %v", err)
		}
	}
	// So that the agent, which is starved as well, has a processor before thrice that.
	one.waitsForItsPartner(t, 3*time.Second, lost)
}

func TestARunWaitsForItsPartner(t *testing.T) {
	t.Parallel()
	v := talker(t)
	_, err := v.client.Lost(t.Context())
	require.True(t, core.Is(err, core.CodeConflict), "nothing runs: %v", err)
	v.waitsForItsPartner(t, 2*time.Second, time.Minute)
}

// talker is a VM with one of two runs that talk to each other.
func talker(t *testing.T) *vm {
	t.Helper()
	v := start(t, plain, nil)
	require.NoError(t, v.client.Assign(t.Context(), "job"))
	return v
}

// waitsForItsPartner requires that a run which waits goes on after its limit if its partner has lost time, and only then.
func (v *vm) waitsForItsPartner(t *testing.T, limit, lost time.Duration) {
	t.Helper()
	talk := func(partner time.Duration) agent.Exit {
		stdin, in := io.Pipe()
		defer in.Close()
		asked := 0
		var told sync.WaitGroup
		defer told.Wait()
		exit, err := v.client.Run(t.Context(), agent.Run{
			Args: []string{"cat"}, Stdin: stdin, Share: core.Limits{Timeout: limit}, Stretch: 2 * limit,
			Late: func() {
				if asked++; asked > 1 {
					return // the bound ends it
				}
				told.Go(func() {
					_ = v.client.PutOff(t.Context(), partner) // an error is the run's end, which is looked at
					if partner > 0 {
						_ = in.Close()
					}
				})
			},
		}, nil)
		require.NoError(t, err)
		require.Positive(t, asked)
		return exit
	}
	exit := talk(0)
	require.True(t, exit.TimedOut)
	require.Zero(t, exit.PartnerMs)
	exit = talk(lost)
	require.False(t, exit.TimedOut)
	require.GreaterOrEqual(t, exit.WallMs, limit.Milliseconds())
	require.Positive(t, exit.PartnerMs)
	require.LessOrEqual(t, exit.LostMs, 2*limit.Milliseconds())
}
