// Package programs gives tests what VMs get of drover: static programs, built without the
// race detector. It makes them several times as large and slow, and in a VM nobody would
// see what it reports.
package programs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/stretchr/testify/require"

	"drover/vmfactory/program"
)

// Known is, in the environment, the folder of the programs that a test's process was given:
// one of a user who cannot build them, or cannot get to where they are.
const Known = "DROVER_TEST_PROGRAMS"

const prober = "prober"

// Agent is the program that VMs start, drover-agent.
func Agent(t testing.TB) string {
	t.Helper()
	return filepath.Join(folder(t), program.Name)
}

// Prober is the program of all probes.
func Prober(t testing.TB) string {
	t.Helper()
	return filepath.Join(folder(t), prober)
}

func folder(t testing.TB) string {
	t.Helper()
	dir, err := built()
	require.NoError(t, err)
	return dir
}

// Copy puts them into a folder that others can get to, for a process that has it as Known.
func Copy(t testing.TB, to string) {
	t.Helper()
	for _, name := range []string{program.Name, prober} {
		said, err := exec.CommandContext(t.Context(), "cp", filepath.Join(folder(t), name), to).CombinedOutput() // a program that a fork of ours had open could not start
		require.NoError(t, err, "%s", said)
		require.NoError(t, os.Chmod(filepath.Join(to, name), 0o755))
	}
}

// built builds them into .cache at the top of the source tree, where all packages' tests
// have them from the first: go build leaves alone what is as it would make it.
var built = sync.OnceValues(func() (string, error) {
	if dir := os.Getenv(Known); dir != "" {
		return dir, nil
	}
	const limit, look = 10 * time.Minute, 20 * time.Millisecond
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	said, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("find the source tree: %w", err)
	}
	dir := filepath.Join(strings.TrimSpace(string(said)), ".cache", "programs")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	lock := flock.New(filepath.Join(dir, "lock"))
	if ok, err := lock.TryLockContext(ctx, look); !ok {
		return "", err
	}
	if err := os.Chmod(dir, 0o755); err != nil { // whatever the umask
		return "", errors.Join(err, lock.Close())
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", `umask 022; exec go build -ldflags="-s -w" -o "$@"`, "sh",
		dir+"/", "drover/cmd/"+program.Name, "drover/vmfactory/providertest/"+prober)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", errors.Join(fmt.Errorf("%w: %s", err, said), lock.Close())
	}
	return dir, errors.Join(os.Setenv(Known, dir), lock.Close()) // for the processes that the test starts
})
