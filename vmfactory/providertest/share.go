package providertest

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent"
	"drover/core/agent/wire"
	"drover/vmfactory/providertest/probe"
)

// share is that a run has no more than its own share of the limits, by whatever it
// tries, and that the verdict is no matter of chance where the kernel holds it.
func (s suite) share(t *testing.T) {
	t.Parallel()
	run := s.folder(t)
	p := s.provider(t, run)
	most := roomy().Limits
	const tries = 5
	for name, c := range map[string]struct {
		probe  string
		share  core.Limits
		target probe.Target
		limit  string // that ends the run; "" is none
	}{
		"memory, all of it":     {"memory", core.Limits{Memory: most.Memory / 2}, probe.Target{Most: most.Memory / 2}, core.LimitMemory},
		"memory, less":          {"memory", core.Limits{Memory: most.Memory / 4 * 3}, probe.Target{Most: 8 << 20}, ""},
		"memory by many":        {"memory-by-many", core.Limits{Memory: most.Memory / 2}, probe.Target{Most: most.Memory / 8 * 7}, core.LimitMemory},
		"a file without a name": {"memory-file", core.Limits{Memory: most.Memory / 2}, probe.Target{Most: most.Memory / 4 * 3}, core.LimitMemory},
		"forks":                 {"forks", core.Limits{Pids: most.Pids / 2}, probe.Target{Most: int64(3 * most.Pids)}, core.LimitPids},
		"fewer forks":           {"forks", core.Limits{Pids: most.Pids}, probe.Target{Most: 2}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := armed(t, p, run, roomy())
			require.NoError(t, v.Keep(bounded(t), "probe"))
			whole := v.shell(t, ":").HeldBy
			target := c.target
			if c.limit == core.LimitMemory && whole[core.LimitMemory] != wire.HeldByCgroup {
				target.Most += 64 << 20 // between two looks of a watchdog only what is well over the limit is proven
			}
			for range tries {
				o := v.shared(t, agent.Run{Share: c.share}, probe.Args(c.probe, target)...)
				if whole[core.LimitMemory] == wire.HeldByCgroup {
					assert.Equal(t, wire.HeldByCgroup, o.HeldBy[core.LimitMemory], "what holds the pool's limit holds a run's own")
				}
				switch {
				case c.limit == "":
					assert.Empty(t, o.Limit(), "%s", o)
					assert.Contains(t, o.stdout, "got through", "%s", o)
				case o.HeldBy[c.limit] == wire.HeldByCgroup:
					assert.Equal(t, c.limit, o.Limit(), "%s", o)
				default:
					bound(t, o, c.limit)
				}
				require.NoError(t, v.Reset(bounded(t), "probe"))
			}
		})
	}
	for _, name := range []string{"unwaited", "unwaited-flag"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := armed(t, p, run, Pool())
			o := v.shared(t, agent.Run{CPU: 300 * time.Millisecond, Share: core.Limits{Timeout: testTimeout / 2}}, probe.Args(name, probe.Target{Most: 100})...)
			assert.True(t, o.TimedOut, "%s", o)
			assert.Less(t, strings.Count(o.stdout, "slice"), 60, "children that computed for a tenth of a second each")
		})
	}
}

// shared runs the probe that is kept as one of several runs.
func (v vm) shared(t *testing.T, run agent.Run, args ...string) outcome {
	t.Helper()
	run.Args = append([]string{agent.WorkDir + "/probe"}, args...)
	o, err := v.start(bounded(t), run)
	require.NoError(t, err)
	return o
}
