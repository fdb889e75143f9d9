package providertest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/vmfactory/providertest/probe"
)

// roomy is a pool whose VMs can keep a state that holds the probe, and of whose memory
// a run can have a part that a probe goes well beyond, also with files.
func roomy() core.Pool {
	p := Pool()
	p.Limits.Disk, p.Limits.FileSize, p.Limits.Memory = 160<<20, 160<<20, 256<<20
	return p
}

// reset is that a run finds nothing of those before it, wherever a job can write.
func (s suite) reset(t *testing.T) {
	t.Parallel()
	run := s.folder(t)
	v := armed(t, s.provider(t, run), run, roomy())
	o := v.shell(t, "echo built > built; mkdir sub; echo deep > sub/file")
	require.Zero(t, o.Code, "%s", o)
	require.NoError(t, v.Keep(bounded(t), "built"))
	look := func() string { return v.probe(t, "traces", probe.Target{}).stdout }
	require.Equal(t, probe.Held, look())
	require.Contains(t, look(), "got through: found", "without a reset what was left is there")
	for range 2 {
		o = v.shell(t, `(sleep 1000 &); echo spoilt > built; rm -r sub; chmod 0 .`)
		require.Zero(t, o.Code, "%s", o)
		require.NoError(t, v.Reset(bounded(t), "built"))
		assert.Equal(t, probe.Held, look())
		o = v.shell(t, `cat built sub/file`)
		assert.Equal(t, "built\ndeep\n", o.stdout, "%s", o)
	}
	require.NoError(t, v.Reset(bounded(t), ""))
	assert.Empty(t, v.shell(t, "ls").stdout)
	alive(t, v)
}
