package providertest

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core/agent"
	"drover/vmfactory/providertest/probe"
)

// anew is that a run after a reset sees the VM as the first one saw it, whatever those
// between have tried to leave.
func (s suite) anew(t *testing.T) {
	t.Parallel()
	run := s.folder(t)
	pool := roomy()
	pool.Limits.Output = 8 << 20
	v := armed(t, s.provider(t, run), run, pool)
	require.NoError(t, v.Keep(bounded(t), "probe"))
	require.NoError(t, v.Reset(bounded(t), "probe"))
	look := func() map[string]string {
		t.Helper()
		o := v.shared(t, agent.Run{Share: pool.Limits}, probe.Args("sight", probe.Target{})...)
		require.Zero(t, o.Code, "%s", o.stderr)
		require.False(t, o.Truncated)
		return lines(t, strings.TrimSuffix(o.stdout, probe.Held))
	}
	first := look()
	require.Greater(t, len(first), 300, "it sees little")
	for range 2 {
		o := v.shared(t, agent.Run{Share: pool.Limits}, probe.Args("stains", probe.Target{})...)
		require.Zero(t, o.Code, "%s", o.stderr)
		for range 2 { // what starts commands takes turns
			require.NoError(t, v.Reset(bounded(t), "probe"))
			again := look()
			for _, name := range slices.Sorted(maps.Keys(first)) {
				assert.Equal(t, first[name], again[name], name)
				delete(again, name)
			}
			assert.Empty(t, again, "what was not there before")
		}
		require.NoError(t, v.Reset(bounded(t), "probe"))
	}
	alive(t, v)
}

// lines are what a probe said by name.
func lines(t *testing.T, text string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(line, " = ")
		require.True(t, ok, "%q", line)
		all[name] = value
	}
	return all
}
