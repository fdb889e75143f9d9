package local

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent"
	"drover/core/agent/wire"
	"drover/vmfactory/cores"
	"drover/vmfactory/providertest"
)

// A VM of a quiet pool runs on its cores and cannot leave them; others run on any, and so does a quiet one where there
// are none to spare.
func TestQuiet(t *testing.T) {
	t.Parallel()
	providertest.Need(t, runtime.NumCPU() > 1, "two processors")
	// The test's host says that processor 1 is two cores, so that there are cores to spare.
	for name, c := range map[string]struct {
		host  *cores.Host
		quiet bool
		held  string
		says  string
	}{
		"quiet":                {cores.Of(0, 1, 1), true, wire.HeldByAffinity, "1\n1\n"},
		"not quiet":            {cores.Of(0, 1, 1), false, "", ""},
		"quiet, none to spare": {cores.Of(0, 1), true, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t, Config{Run: t.TempDir()})
			p.traces.Cores = c.host
			pool := core.DefaultPool("p")
			pool.Quiet = c.quiet
			require.NoError(t, p.Create(t.Context(), "vm", pool))
			t.Cleanup(func() { require.NoError(t, p.Destroy(context.WithoutCancel(t.Context()), "vm")) })
			require.NoError(t, p.Prepare(t.Context(), "vm"))
			a, err := agent.Dial(p.traces.Path("vm"))
			require.NoError(t, err)
			defer a.Close()
			require.NoError(t, a.Assign(t.Context(), "test"))
			var said strings.Builder
			// The kernel does not refuse taskset's call: it does nothing.
			exit, err := a.Run(t.Context(), agent.Run{Args: []string{"/bin/sh", "-c", "nproc; (taskset -p -c 0 $$ || taskset -c 0 true) >/dev/null 2>&1; " +
				"while read -r key value; do [ $key != Cpus_allowed_list: ] || echo $value; done </proc/self/status"}},
				func(_ string, text []byte) { said.Write(text) })
			require.NoError(t, err)
			held, told := exit.HeldBy[wire.LimitCores]
			assert.Equal(t, c.quiet, told)
			assert.Equal(t, c.held, held)
			if c.says != "" {
				assert.Equal(t, c.says, said.String())
			} else {
				assert.NotEqual(t, "1\n1\n", said.String())
			}
		})
	}
}
