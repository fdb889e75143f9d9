package lxc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"drover/core"
	"drover/vmfactory"
	"drover/vmfactory/program"
	"drover/vmfactory/providertest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		removeFixtures()
		os.Exit(code)
	}))
}

// guestFile builds the guest program, once for all tests and the processes that
// they start.
var guestFile = sync.OnceValues(func() (string, error) {
	const known = "DROVER_TEST_GUEST"
	if path := os.Getenv(known); path != "" {
		return path, nil
	}
	dir, err := os.MkdirTemp("", "drover-guest-")
	if err != nil {
		return "", err
	}
	made = append(made, dir)
	path := filepath.Join(dir, program.Name)
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", path, "drover/cmd/drover-guest")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, errors.Join(os.Chmod(dir, 0o755), os.Setenv(known, path))
})

func newLXC(t *testing.T, run string) vmfactory.Provider {
	t.Helper()
	providertest.Need(t, linked, "a build with -tags lxc, and lxc-dev")
	providertest.Need(t, os.Geteuid() == 0, "root")
	program, err := guestFile()
	require.NoError(t, err)
	p, err := New(Config{Run: run, Images: oneImage{image(t)}, Guest: program})
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
