// Package providertest is the conformance suite of VM providers: the life of a
// VM from creation to nothing, and attacks from inside it. Every provider passes
// all of it, on every machine that its Ready accepts.
package providertest

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent"
	"drover/core/service"
	"drover/vmfactory"
	"drover/vmfactory/providertest/probe"
	"drover/vmfactory/providertest/programs"
)

// New makes a provider on a run folder. The suite makes several on the same
// folder, in other processes too, and closes them.
type New func(t *testing.T, run string) vmfactory.Provider

// testTimeout is how long anything of the suite may take before it has failed.
const testTimeout = 5 * time.Minute

// Run runs the suite. It must be called by a top-level test, whose name it runs
// again in processes of its own.
func Run(t *testing.T, make New) {
	s := newSuite(t, make)
	if s.isChild() {
		s.child(t)
		return
	}
	t.Run("abandoned", s.abandoned)
	t.Run("life", s.life)
	t.Run("isolation", s.isolation)
	t.Run("limits", s.limits)
	t.Run("leftovers", s.leftovers)
	t.Run("reset", s.reset)
	t.Run("share", s.share)
	t.Run("anew", s.anew)
}

type suite struct {
	make   New
	top    string
	prefix string // of the provider's run folders: only it can end what lives in them
}

func newSuite(t *testing.T, make New) suite {
	t.Helper()
	scratch, err := service.NewScratch("drover-provider-") // t.TempDir's stay if the process is killed
	require.NoError(t, err)
	defer func() { require.NoError(t, scratch.Remove()) }()
	p := make(t, scratch.Dir)
	require.NoError(t, p.Close())
	return suite{make, t.Name(), "drover-run-" + p.Name() + "-"}
}

// Pool is what the suite's VMs are made of: small, so that attacks soon meet a limit.
func Pool() core.Pool {
	p := core.DefaultPool("probes")
	p.Limits = core.Limits{
		Timeout: 20 * time.Second, Memory: 128 << 20, Disk: 48 << 20, FileSize: 40 << 20, Pids: 48, OpenFiles: 128, Output: 64 << 10,
	}
	return p
}

// name returns an id that nothing else on the machine has.
func name() string {
	b := make([]byte, 6)
	_, _ = rand.Read(b) // never fails
	return "pt-" + hex.EncodeToString(b)
}

func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	t.Cleanup(cancel)
	return ctx
}

// Folder returns a run folder that VMs' users could reach if nothing held them:
// what is below it is guarded by the VM, not by the mode of some folder above.
// VMs that a failed test leaves in it are destroyed with the test, and those of a
// test whose process was killed by the next that asks for a folder.
func Folder(t *testing.T, make New) string {
	t.Helper()
	return newSuite(t, make).folder(t)
}

func (s suite) folder(t *testing.T) string {
	t.Helper()
	service.SweepScratch(s.prefix, func(dir string) error {
		err := s.clear(t, filepath.Join(dir, runName))
		if err != nil {
			t.Logf("%s, which a killed test left, stays: %v", dir, err)
		}
		return err
	})
	scratch, err := service.NewScratch(s.prefix)
	require.NoError(t, err)
	run := filepath.Join(scratch.Dir, runName)
	require.NoError(t, os.Mkdir(run, 0o700))
	for _, dir := range []string{scratch.Dir, run} {
		require.NoError(t, os.Chmod(dir, 0o711))
	}
	t.Cleanup(func() {
		if left, err := os.ReadDir(run); err == nil && len(left) > 0 {
			assert.NoError(t, s.clear(t, run))
		}
		require.NoError(t, scratch.Remove())
	})
	return run
}

// runName is the run folder in its scratch folder, which has a lock beside it.
const runName = "run"

// clear destroys the VMs of a run folder.
func (s suite) clear(t *testing.T, run string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	p := s.make(t, run)
	all, err := p.List(ctx)
	for _, one := range all {
		err = errors.Join(err, p.Destroy(ctx, one.ID))
	}
	return errors.Join(err, p.Close())
}

// provider makes a provider that is closed with the test.
func (s suite) provider(t *testing.T, run string) vmfactory.Provider {
	t.Helper()
	p := s.make(t, run)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

// vm is a VM that is ready.
type vm struct {
	id, run  string
	provider vmfactory.Provider
	*agent.Client
}

// ready makes a VM that is destroyed with the test.
func ready(t *testing.T, p vmfactory.Provider, run string, pool core.Pool) vm {
	t.Helper()
	ctx, id := bounded(t), name()
	require.NoError(t, p.Create(ctx, id, pool))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
		defer cancel()
		require.NoError(t, p.Destroy(ctx, id))
	})
	require.NoError(t, p.Prepare(ctx, id))
	c, err := agent.Dial(filepath.Join(run, id))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return vm{id, run, p, c}
}

// armed makes a VM that has an assignment and the probes.
func armed(t *testing.T, p vmfactory.Provider, run string, pool core.Pool) vm {
	t.Helper()
	v := ready(t, p, run, pool)
	require.NoError(t, v.Assign(bounded(t), "probes"))
	require.NoError(t, v.Stage(bounded(t), "work", bytes.NewReader(archive(t))))
	return v
}

// archive holds the program of all probes, as "probe".
var archive = func() func(t *testing.T) []byte {
	var once sync.Once
	var made bytes.Buffer
	return func(t *testing.T) []byte {
		t.Helper()
		once.Do(func() {
			text, err := os.ReadFile(programs.Prober(t))
			require.NoError(t, err)
			w := tar.NewWriter(&made)
			require.NoError(t, w.WriteHeader(&tar.Header{Name: "probe", Mode: 0o755, Size: int64(len(text)), Typeflag: tar.TypeReg}))
			_, err = w.Write(text)
			require.NoError(t, err)
			require.NoError(t, w.Close())
		})
		return made.Bytes()
	}
}()

// outcome is how a run ended, with what it wrote.
type outcome struct {
	agent.Exit
	stdout, stderr string
}

func (o outcome) String() string {
	return fmt.Sprintf("exit %d %s %+v\nstdout: %s\nstderr: %s", o.Code, o.Signal, o.Exit, o.stdout, o.stderr)
}

// do runs a command in the VM, under the pool's limits or these.
func (v vm) do(t *testing.T, limits core.Limits, args ...string) outcome {
	t.Helper()
	o, err := v.try(bounded(t), limits, nil, args...)
	require.NoError(t, err)
	return o
}

func (v vm) try(ctx context.Context, limits core.Limits, stdin io.Reader, args ...string) (outcome, error) {
	return v.start(ctx, agent.Run{Args: args, Stdin: stdin, Limits: limits})
}

func (v vm) start(ctx context.Context, run agent.Run) (outcome, error) {
	var stdout, stderr strings.Builder
	exit, err := v.Run(ctx, run, func(stream string, data []byte) {
		if stream == agent.Stdout {
			stdout.Write(data)
			return
		}
		stderr.Write(data)
	})
	return outcome{exit, stdout.String(), stderr.String()}, err
}

// shell runs a line of shell in the VM.
func (v vm) shell(t *testing.T, line string) outcome {
	t.Helper()
	return v.do(t, core.Limits{}, "/bin/sh", "-c", line)
}

// probe runs a probe in the VM.
func (v vm) probe(t *testing.T, name string, target probe.Target) outcome {
	t.Helper()
	return v.do(t, core.Limits{}, append([]string{agent.WorkDir + "/probe"}, probe.Args(name, target)...)...)
}
