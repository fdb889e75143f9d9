// Package compattest gives the tests of compatible APIs what compatible APIs stand before: real services on a real
// store and a Redis, users with tokens, and a runner that runs what is submitted as plain
// processes of this machine.
package compattest

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

	"drover/core"
	"drover/core/account"
	"drover/core/blobs"
	"drover/core/classes"
	"drover/core/coretest"
	"drover/core/requests"
	"drover/core/requests/intake"
	"drover/core/school"
	"drover/core/service/guard"
	"drover/core/store/sqlite"
	"drover/core/store/sqlite/sqlitetest"
	"drover/web/caller"
	"drover/web/services"
	"drover/web/session"
)

// Fixture is what a compatible API stands before.
type Fixture struct {
	T       testing.TB
	Deps    services.Deps
	Cluster *coretest.Cluster
	Store   *sqlite.Store
	Blobs   core.Blobs

	Intake *intake.Intake
	Keeper *session.Keeper
	Tokens map[string]string // by the names that tests use in their place

	Held   bool               // what is submitted waits, and is not run
	Change func(*core.Result) // of what is run; nil changes nothing

	seq int64
}

// New makes a fixture with one pool. Its users are ann, bob and, with no role, nora, and
// olga, an operator. Each has a token for reading and submitting under its own name; ann
// has one for reading alone too, "reader", one for submitting alone, "writer", and one for
// neither, "teacher".
func New(t testing.TB, p core.Pool) *Fixture {
	t.Helper()
	ctx := t.Context()
	store := sqlitetest.Open(t)
	blobs, err := blobs.Open(ctx, "mem://")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, blobs.Close()) })
	cluster := coretest.NewCluster(t, coretest.Mini(t).Open(t), "h1", p.Name)
	redis := cluster.Store
	w := &Fixture{T: t, Cluster: cluster, Store: store, Blobs: blobs, Tokens: map[string]string{}}
	w.Intake = &intake.Intake{Store: store, Queue: redis, Pools: redis, Tasks: redis, Blobs: blobs}
	require.NoError(t, w.Intake.SetPool(ctx, p))
	log := logrus.New()
	log.SetOutput(io.Discard)
	w.Deps = services.Deps{
		Classes:  &classes.Service{Store: store, Intake: w.Intake, Blobs: blobs},
		Requests: &requests.Service{Store: store, Intake: running{w.Intake, w}, Queue: redis, Cluster: redis, Output: redis, Blobs: blobs},
		Accounts: &account.Service{Store: store, Limits: redis}, Limits: redis, Log: log,
	}
	w.Keeper = &session.Keeper{Accounts: w.Deps.Accounts, Actors: w.Deps.Classes, Log: log}
	for _, u := range []school.User{
		{Handle: "ann", Roles: []core.UserRole{core.RoleRunner}},
		{Handle: "bob", Roles: []core.UserRole{core.RoleRunner}},
		{Handle: "olga", Roles: []core.UserRole{core.RoleOperator}},
		{Handle: "nora"},
	} {
		w.User(u)
		w.Token(u.Handle, u.Handle, school.ScopeRead, school.ScopeSubmit)
	}
	w.Token("reader", "ann", school.ScopeRead)
	w.Token("writer", "ann", school.ScopeSubmit)
	w.Token("teacher", "ann", school.ScopeTeach)
	return w
}

// User makes a user, or changes the one that is there.
func (w *Fixture) User(u school.User) {
	w.T.Helper()
	if had, err := w.Store.GetUser(w.T.Context(), u.Handle); err == nil {
		u.Revision, u.Created = had.Revision, had.Created
	} else {
		u.Created = time.Now().UnixMilli()
	}
	_, err := w.Store.PutUser(w.T.Context(), u)
	require.NoError(w.T, err)
}

// Token makes a token of a user, and gives it a name for ByToken.
func (w *Fixture) Token(name, user string, scopes ...school.Scope) school.Token {
	w.T.Helper()
	secret, t, err := w.Deps.Accounts.IssueToken(w.T.Context(), core.Actor{Handle: user}, name, scopes, 0)
	require.NoError(w.T, err)
	w.Tokens[name] = secret
	return t
}

// ByToken is the keeper's, and knows tokens by the names that tests use for them.
func (w *Fixture) ByToken(ctx context.Context, secret string) (*caller.Caller, error) {
	if whole, ok := w.Tokens[secret]; ok {
		secret = whole
	}
	return w.Keeper.ByToken(ctx, secret)
}

// running is an intake that runs what it takes.
type running struct {
	*intake.Intake
	w *Fixture
}

// Submit is the intake's.
func (r running) Submit(ctx context.Context, spec core.Spec) (core.Row, bool, error) {
	row, is, err := r.Intake.Submit(ctx, spec)
	if is && err == nil && !r.w.Held {
		r.w.Run(row.Spec)
	}
	return row, is, err
}

// SubmitBatch is the intake's.
func (r running) SubmitBatch(ctx context.Context, b core.Batch) (core.Batch, bool, error) {
	b, is, err := r.Intake.SubmitBatch(ctx, b)
	for job := 0; is && err == nil && !r.w.Held && job < b.Jobs; job++ {
		var row core.Row
		id := ""
		if id, err = intake.JobID(b.ID, job); err == nil {
			row, err = r.w.Store.Get(ctx, id)
		}
		if err == nil {
			r.w.Run(row.Spec)
		}
	}
	return b, is, err
}

// Run runs a request as a testrunner would, but in a folder of this machine.
func (w *Fixture) Run(spec core.Spec) {
	w.T.Helper()
	w.Cluster.AddVMs(w.T, 1)
	w.seq++
	claims := w.Cluster.Exchange(w.T, w.seq, 1).Claims
	require.Len(w.T, claims, 1)
	claim := claims[0]
	require.Equal(w.T, spec.Key(), claim.Key)
	dir := w.T.TempDir()
	for _, f := range spec.Files {
		at := filepath.Join(dir, f.Path)
		require.NoError(w.T, os.MkdirAll(filepath.Dir(at), 0o700))
		require.NoError(w.T, os.WriteFile(at, w.Blob(f.Digest), os.FileMode(max(f.Mode, 0o600))))
	}
	r := w.process(spec, dir)
	r.ID, r.Generation, r.Pool, r.VM, r.Token, r.Attempt = spec.ID, spec.Generation, spec.Pool, claim.VM, claim.Token, 1
	for _, path := range spec.Collect {
		if content, err := os.ReadFile(filepath.Join(dir, path)); err == nil {
			digest, size, err := w.Blobs.Put(w.T.Context(), bytes.NewReader(content), 1<<20)
			require.NoError(w.T, err)
			r.Files = append(r.Files, core.File{Path: path, Digest: digest, Size: size})
		}
	}
	if w.Change != nil {
		w.Change(&r)
	}
	_, err := w.Store.Record(w.T.Context(), r)
	require.NoError(w.T, err)
	w.seq++
	w.Cluster.Exchange(w.T, w.seq, 0, core.Finish{Key: claim.Key, Token: claim.Token, Outcome: core.OutcomeDone})
}

// process runs the command and tells what became of it.
func (w *Fixture) process(spec core.Spec, dir string) core.Result {
	w.T.Helper()
	cmd := exec.CommandContext(w.T.Context(), spec.Command[0], spec.Command[1:]...)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	// As in a VM: what started the test, such as make, is nothing to it.
	cmd.Env = append([]string{"PATH=" + w.clock() + ":" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + os.TempDir(), "LANG=C.UTF-8"}, spec.Env...)
	if spec.Stdin != nil {
		cmd.Stdin = bytes.NewReader(w.Blob(spec.Stdin.Digest))
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	began := time.Now()
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil {
		require.ErrorAs(w.T, err, &exit)
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage) //nolint:errcheck,forcetypeassert // on Linux it is
	return core.Result{
		State: core.RequestCompleted, ExitCode: max(cmd.ProcessState.ExitCode(), 0), Stdout: stdout.String(), Stderr: stderr.String(),
		Times: core.Times{Submitted: spec.Submitted, Started: 1, Finished: 2},
		Usage: core.Usage{
			CPUMs:  (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Milliseconds(),
			WallMs: time.Since(began).Milliseconds(), MemoryPeakBytes: usage.Maxrss * 1024,
		},
	}
}

// clock is a folder with a timeout that gives an hour to what may take longer than two seconds: on a busy machine they
// are short, and only what is about time is given less. In the end it kills all that has been started, as a VM's end does.
func (w *Fixture) clock() string {
	w.T.Helper()
	whole, err := exec.LookPath("timeout")
	require.NoError(w.T, err)
	dir := w.T.TempDir()
	script := `#!/bin/sh
signal=$2 seconds=$3
shift 3
exec 4<&0 # which is none of a command in the background
case $seconds in [012] | [01].*) ;; *) seconds=3600 ;; esac
` + whole + ` -s "$signal" "$seconds" "$@" <&4 4<&- &
exec 2>/dev/null # what this shell says of signals is not the program's
wait $!
status=$?
kill -KILL -$!
exit $status
`
	require.NoError(w.T, guard.WriteProgram(w.T.Context(), filepath.Join(dir, "timeout"), []byte(script)))
	return dir
}

// Blob is what is stored under a digest.
func (w *Fixture) Blob(digest string) []byte {
	w.T.Helper()
	in, err := w.Blobs.Open(w.T.Context(), digest)
	require.NoError(w.T, err)
	defer func() { require.NoError(w.T, in.Close()) }()
	content, err := io.ReadAll(in)
	require.NoError(w.T, err)
	return content
}
