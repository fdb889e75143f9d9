package judge0_test

import (
	"bytes"
	"context"
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
	"drover/core/requests"
	"drover/core/resultstore/sqlite"
	"drover/web/caller"
	"drover/web/judge0"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const pool = "judge0"

// world is a door on a real store and intake, whose requests run as plain processes of
// this machine, by a runner that claims them, once they are submitted.
type world struct {
	*requests.Desk

	t     *testing.T
	herd  *coretest.Herd
	seq   int64
	door  *judge0.Door
	store core.ResultStore
	blobs core.Blobs

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
	w := &world{t: t, herd: herd, store: store, blobs: blobs}
	p := core.DefaultPool(pool)
	p.Limits.Timeout, p.Limits.Memory, p.Limits.Pids = time.Minute, 1<<30, 200
	in := &intake.Intake{Store: store, Queue: herd.Store, Pools: herd.Store, Tasks: herd.Store, Blobs: blobs}
	w.Desk = &requests.Desk{Store: store, Intake: in, Queue: herd.Store, Herd: herd.Store, Output: herd.Store, Blobs: blobs}
	cfg := judge0.Config{Requests: w, Keys: w, Blobs: blobs, Pool: pool, Version: "test", Log: quiet()}
	for _, c := range change {
		c(&cfg, &p)
	}
	require.NoError(t, in.SetPool(ctx, p))
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

// SubmitStored is the desk's, and runs what was submitted.
func (w *world) SubmitStored(ctx context.Context, a core.Actor, spec core.Spec) (core.Row, error) {
	row, err := w.Desk.SubmitStored(ctx, a, spec)
	if err == nil && !w.held {
		w.run(row.Spec)
	}
	return row, err
}

// run runs a request as a testrunner would, but in a folder of this machine.
func (w *world) run(spec core.Spec) {
	w.t.Helper()
	w.herd.AddVMs(w.t, 1)
	w.seq++
	claims := w.herd.Exchange(w.t, w.seq, 1).Claims
	require.Len(w.t, claims, 1)
	claim := claims[0]
	require.Equal(w.t, spec.Key(), claim.Key)
	dir := w.t.TempDir()
	for _, f := range spec.Files {
		at := filepath.Join(dir, f.Path)
		require.NoError(w.t, os.MkdirAll(filepath.Dir(at), 0o700))
		require.NoError(w.t, os.WriteFile(at, w.blob(f.Digest), os.FileMode(max(f.Mode, 0o600))))
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), spec.Limits.Timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, spec.Command[0], spec.Command[1:]...)
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
		require.ErrorAs(w.t, err, &exit)
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage) //nolint:forcetypeassert // on Linux it is
	r := core.Result{
		ID: spec.ID, Generation: 1, State: core.RequestCompleted, ExitCode: max(cmd.ProcessState.ExitCode(), 0), Pool: spec.Pool, VM: claim.VM, Token: claim.Token,
		Stdout: stdout.String(), Stderr: stderr.String(), Attempt: 1, Times: core.Times{Submitted: spec.Submitted, Started: 1, Finished: 2},
		Usage: core.Usage{
			CPUMs:  (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Milliseconds(),
			WallMs: time.Since(began).Milliseconds(), MemoryPeakBytes: usage.Maxrss * 1024,
		},
	}
	for _, path := range spec.Collect {
		if content, err := os.ReadFile(filepath.Join(dir, path)); err == nil {
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
	w.seq++
	w.herd.Exchange(w.t, w.seq, 0, core.Finish{Key: claim.Key, Token: claim.Token, Outcome: core.OutcomeDone})
}

func (w *world) blob(digest string) []byte {
	w.t.Helper()
	in, err := w.blobs.Open(w.t.Context(), digest)
	require.NoError(w.t, err)
	defer in.Close()
	content, err := io.ReadAll(in)
	require.NoError(w.t, err)
	return content
}
