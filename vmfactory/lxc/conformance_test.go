package lxc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest/tier"
	"drover/core/service"
	"drover/vmfactory/providertest"
	"drover/vmfactory/providertest/attack"
	"drover/vmfactory/selftest"
)

// TestConformance runs the suite on real containers.
func TestConformance(t *testing.T) {
	tier.OnlyInAll(t, tier.LXC)
	t.Parallel()
	able(t)
	providertest.Run(t, newLXC)
}

// TestAttacks puts real containers to all attacks.
func TestAttacks(t *testing.T) {
	tier.OnlyInAll(t, tier.LXC)
	t.Parallel()
	able(t)
	attack.Run(t, newLXC, attack.LXC)
}

// TestObjects has real containers make all kinds of objects.
func TestObjects(t *testing.T) { //nolint:paralleltest // it compares the memory of the whole host
	tier.OnlyInAll(t, tier.LXC)
	able(t)
	attack.Objects(t, newLXC)
}

// TestSelfTest shows that a host with real containers proves itself, firmly.
func TestSelfTest(t *testing.T) {
	tier.OnlyInAll(t, tier.LXC)
	t.Parallel()
	run := t.TempDir()
	p := newLXC(t, run)
	defer func() { require.NoError(t, p.Close()) }()
	res := selftest.Run(t.Context(), p, run, core.DefaultPool("p"), "trial")
	t.Logf("%d ms", res.TookMs)
	require.Equal(t, core.VerdictHeld, res.Verdict(), "%+v", res)
}

// able skips a test as a whole where no container can be made. It leaves no folder
// to the test's end, which a process that the suite kills does not come to.
func able(t *testing.T) {
	t.Helper()
	scratch, err := service.NewScratch("drover-able-")
	require.NoError(t, err)
	defer func() { require.NoError(t, scratch.Remove()) }()
	require.NoError(t, newLXC(t, scratch.Dir).Close())
}
