package judge0_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"drover/core"
	"drover/core/blobstore"
	"drover/core/coretest"
	"drover/core/intake"
	"drover/core/resultstore/sqlite"
	"drover/web/caller"
	"drover/web/judge0"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const pool = "judge0"

// world is a door on a real store and intake, whose requests run as plain processes of
// this machine once they are submitted.
type world struct {
	t     *testing.T
	door  *judge0.Door
	store core.ResultStore
	blobs core.Blobs
	in    *intake.Intake
	pools core.Pool

	held   bool // requests wait, and are not run
	change func(*core.Result)
}

func newWorld(t *testing.T, change ...func(*judge0.Config, *core.Pool)) *world {
	t.Helper()
	ctx := t.Context()
	store, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "store.db"), sqlite.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	blobs, err := blobstore.Open(ctx, "mem://")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, blobs.Close()) })
	herd := coretest.NewHerd(t, coretest.Mini(t).Open(t), "h1", pool)
	w := &world{t: t, store: store, blobs: blobs, pools: core.DefaultPool(pool)}
	w.pools.Limits.Timeout, w.pools.Limits.Memory, w.pools.Limits.Pids = time.Minute, 1<<30, 200
	w.in = &intake.Intake{Store: store, Queue: herd.Store, Pools: herd.Store, Tasks: herd.Store, Blobs: blobs}
	cfg := judge0.Config{Requests: w, Keys: w, Blobs: blobs, Pool: pool, Version: "test", Log: quiet()}
	for _, c := range change {
		c(&cfg, &w.pools)
	}
	require.NoError(t, w.in.SetPool(ctx, w.pools))
	w.door, err = judge0.New(cfg)
	require.NoError(t, err)
	return w
}

func quiet() *logrus.Logger {
	log := logrus.New()
	log.SetOutput(io.Discard)
	return log
}

// ByToken knows the keys ann, bob, who are runners, olga, an operator, and nora, who has no role.
func (w *world) ByToken(_ context.Context, secret string) (*caller.Caller, error) {
	scopes := []core.Scope{core.ScopeRead, core.ScopeSubmit}
	roles := map[string][]core.UserRole{"ann": {core.RoleRunner}, "bob": {core.RoleRunner}, "olga": {core.RoleOperator}, "nora": nil, "reader": {core.RoleRunner}}
	own, known := roles[secret]
	if !known {
		return nil, core.Errorf(core.CodeNotFound, "", "no such token")
	}
	if secret == "reader" {
		scopes = scopes[:1]
	}
	return &caller.Caller{Actor: core.Actor{Handle: secret, Roles: own}, Token: "t", Scopes: scopes}, nil
}

func (w *world) Submit(ctx context.Context, a core.Actor, spec core.Spec) (core.Row, error) {
	if err := core.Allow(a, core.ActRequestCreate, core.Object{}); err != nil {
		return core.Row{}, err
	}
	row, created, err := w.in.Submit(ctx, spec)
	if err == nil && created && !w.held {
		w.run(row.Spec)
	}
	return row, err
}

func (w *world) Get(ctx context.Context, a core.Actor, id string) (core.Row, error) {
	row, err := w.store.Get(ctx, id)
	if err == nil {
		err = core.Allow(a, core.ActRequestView, core.Object{Owner: row.Spec.Submitter})
	}
	return row, err
}

func (w *world) Wait(ctx context.Context, _ core.Actor, id string) error {
	row, err := w.store.Get(ctx, id)
	if err == nil && !row.State.Terminal() {
		<-ctx.Done()
		err = ctx.Err()
	}
	return err
}

func (w *world) Cancel(ctx context.Context, a core.Actor, id string) error {
	_, err := w.in.Cancel(ctx, id, a.Handle)
	return err
}

func (w *world) Pool(context.Context, string) (core.Pool, error) { return w.pools, nil }

// run runs a request as a testrunner would, but in a folder of this machine.
func (w *world) run(spec core.Spec) {
	w.t.Helper()
	dir := w.t.TempDir()
	for _, f := range spec.Files {
		at := filepath.Join(dir, f.Path)
		require.NoError(w.t, os.MkdirAll(filepath.Dir(at), 0o700))
		require.NoError(w.t, os.WriteFile(at, w.blob(f.Digest), os.FileMode(max(f.Mode, 0o600))))
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), spec.Limits.Timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, spec.Command[0], spec.Command[1:]...) //nolint:gosec // the test's own
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	if spec.Stdin != nil {
		cmd.Stdin = bytes.NewReader(w.blob(spec.Stdin.Digest))
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	began := time.Now()
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil {
		require.True(w.t, errors.As(err, &exit), "%v", err)
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage) //nolint:forcetypeassert // on Linux it is
	r := core.Result{
		ID: spec.ID, Generation: 1, State: core.RequestCompleted, ExitCode: max(cmd.ProcessState.ExitCode(), 0), Pool: spec.Pool, VM: "vm", Token: "1",
		Stdout: stdout.String(), Stderr: stderr.String(), Attempt: 1, Times: core.Times{Submitted: spec.Submitted, Started: 1, Finished: 2},
		Usage: core.Usage{
			CPUMs:  (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Milliseconds(),
			WallMs: time.Since(began).Milliseconds(), MemoryPeakBytes: usage.Maxrss * 1024,
		},
	}
	for _, path := range spec.Collect {
		if content, err := os.ReadFile(filepath.Join(dir, path)); err == nil { //nolint:gosec // the test's own
			digest, size, err := w.blobs.Put(w.t.Context(), bytes.NewReader(content), 1<<20)
			require.NoError(w.t, err)
			r.Files = append(r.Files, core.File{Path: path, Digest: digest, Size: size})
		}
	}
	if w.change != nil {
		w.change(&r)
	}
	_, err = w.store.Record(w.t.Context(), r)
	require.NoError(w.t, err)
}

func (w *world) blob(digest string) []byte {
	w.t.Helper()
	in, err := w.blobs.Open(w.t.Context(), digest)
	require.NoError(w.t, err)
	defer in.Close() //nolint:errcheck // only read from
	content, err := io.ReadAll(in)
	require.NoError(w.t, err)
	return content
}
