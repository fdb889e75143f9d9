package lxc

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"drover/core"
	"drover/core/coretest/tier"
	"drover/vmfactory"
	"drover/vmfactory/providertest"
	"drover/vmfactory/providertest/programs"
)

func TestMain(m *testing.M) {
	unix.Umask(0o077) // as drover has it
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		removeFixtures()
		os.Exit(code)
	}))
}

func newLXC(t *testing.T, run string) vmfactory.Provider {
	t.Helper()
	tier.Need(t, tier.LXC)
	providertest.Need(t, linked, "a build with -tags lxc, and lxc-dev")
	providertest.Need(t, os.Geteuid() == 0, "root")
	p, err := New(Config{Run: run, Images: oneImage{image(t)}, Agent: programs.Agent(t)})
	require.NoError(t, err)
	if err := p.Ready(t.Context()); err != nil {
		require.NoError(t, p.Close())
		providertest.Need(t, false, "a machine that can make containers: "+err.Error())
	}
	return imaged{p}
}

// imaged gives pools that name no image, as the suite's, the tests' own.
type imaged struct{ *Provider }

func (i imaged) Create(ctx context.Context, id string, pool core.Pool) error {
	return i.Provider.Create(ctx, id, named(pool))
}

func (i imaged) Image(ctx context.Context, pool core.Pool) (string, error) {
	return i.Provider.Image(ctx, named(pool))
}

func named(pool core.Pool) core.Pool {
	pool.Image = "test"
	return pool
}
