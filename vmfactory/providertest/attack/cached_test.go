package attack

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/vmfactory/providertest/probe"
	"drover/vmfactory/providertest/programs"
)

// TestRankSum shows that the comparison tells halves apart, and does not where there is nothing to tell.
func TestRankSum(t *testing.T) {
	t.Parallel()
	const bits = "0101010101010101010101010101010101010101"
	var all, none, few []float64
	for i := range len(bits) {
		all = append(all, float64(i%2))
		none = append(none, 7)
		few = append(few, float64(i/2))
	}
	assert.InDelta(t, 6.2, rankSum(bits, all), 0.1)
	assert.Zero(t, rankSum(bits, none))
	assert.InDelta(t, 0, rankSum(bits, few), 0.1)
	assert.Zero(t, rankSum(bits, nil))
}

// TestTell shows that names which the host keeps are told: nothing frees them between two programs of the host.
func TestTell(t *testing.T) {
	t.Parallel()
	s := newSet([]string{programs.Prober(t)})
	said, err := exec.CommandContext(t.Context(), programs.Prober(t), probe.Args("touch-items", s.target)...).CombinedOutput()
	require.NoError(t, err, "%s", said)
	said, err = exec.CommandContext(t.Context(), programs.Prober(t), probe.Args("measure-items", s.target)...).CombinedOutput()
	require.NoError(t, err, "%s", said)
	assert.Contains(t, s.distinguished(t, "another program", string(said)), "another program tells names by time")
}
