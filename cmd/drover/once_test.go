package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest/tier"
)

// What runs while Redis loses its memory goes on, whatever its policy; what is lost with its testrunner runs again, unless
// it must not run twice.
func TestWhatMustNotRunTwice(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	for name, way := range map[string]struct {
		lose func(h *testCluster, runner *process)
		lost bool
	}{
		"its testrunner is killed": {func(_ *testCluster, runner *process) { runner.kill() }, true},
		"its testrunner is frozen": {func(h *testCluster, runner *process) {
			freeze(runner)
			h.awaitReaped(runner)
			thaw(runner)
		}, true},
		"Redis is flushed": {func(h *testCluster, _ *process) {
			require.NoError(h.t, h.cluster.Redis.Client().FlushAll(context.Background()).Err())
		}, false},
		"Redis restarts empty": {func(h *testCluster, _ *process) {
			require.NoError(h.t, h.redis.Kill())
			require.NoError(h.t, os.RemoveAll(filepath.Join(h.redis.Dir, "dump.rdb")))
			require.NoError(h.t, h.redis.Restart(context.Background()))
		}, false},
		"Redis is set back": {func(h *testCluster, _ *process) {
			require.NoError(h.t, h.redis.Kill())
			require.NoError(h.t, h.redis.Restart(context.Background()))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newRedis(t, "--appendonly", "no")
			h := newTestClusterOn(t, server.URL(), lateSoon...)
			h.redis = server
			h.pool()
			others := h.startAll("vmfactory", "overseer")
			runner := h.start("testrunner")
			await(t, "it is there", func() bool { return h.owner(runner).Name != "" })
			require.NoError(t, h.cluster.Redis.Client().Save(t.Context()).Err()) // the memory to which it is set back
			ids := map[string]string{}
			for _, policy := range []string{core.OnHostLossFail, core.OnHostLossRequeue} {
				row, _, err := h.cluster.Intake.Submit(t.Context(), core.Spec{
					Pool: "default", Submitter: "ann", OnHostLoss: policy, Command: []string{"sh", "-c", "sleep 4; echo once"},
				})
				require.NoError(t, err)
				ids[policy] = row.Spec.ID
				h.awaitRun(row.Spec.ID)
			}
			way.lose(h, runner)
			others = append(others, h.start("testrunner"))
			h.awaitLeft(0)
			once, again := h.tries(ids[core.OnHostLossFail]), h.tries(ids[core.OnHostLossRequeue])
			require.Equal(t, core.RequestCompleted, again[0].Result.State)
			if way.lost {
				require.Equal(t, core.RequestFailed, once[0].Result.State)
				require.Contains(t, once[0].Result.Reason, "must not run twice")
				require.Equal(t, 2, again[0].Result.Attempt)
			} else {
				h.requireOneTry([]string{ids[core.OnHostLossFail], ids[core.OnHostLossRequeue]})
				require.Equal(t, core.RequestCompleted, once[0].Result.State)
				require.Equal(t, "once\n", once[0].Result.Stdout)
				require.Contains(t, runner.out.String(), "Redis lost its memory")
			}
			select {
			case <-runner.done:
			default:
				others = append(others, runner)
			}
			h.end(others...)
		})
	}
}
