package tango_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
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
	"drover/web/tango"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const pool = "autograding"

// world is a door on a real store and intake, whose requests run as plain processes of
// this machine, by a runner that claims them, once they are submitted.
type world struct {
	*requests.Desk

	t     *testing.T
	door  *tango.Door
	herd  *coretest.Herd
	seq   int64
	blobs core.Blobs

	held   bool // jobs wait, and are not run
	change func(*core.Result)
	now    time.Time
}

func newWorld(t *testing.T, change ...func(*tango.Config)) *world {
	t.Helper()
	ctx := t.Context()
	store, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "store.db"), sqlite.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	blobs, err := blobstore.Open(ctx, "mem://")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, blobs.Close()) })
	w := &world{t: t, herd: coretest.NewHerd(t, coretest.Mini(t).Open(t), "h1", pool), blobs: blobs, now: time.Now()}
	redis := w.herd.Store
	in := &intake.Intake{Store: store, Queue: redis, Pools: redis, Tasks: redis, Blobs: blobs}
	require.NoError(t, in.SetPool(ctx, core.DefaultPool(pool)))
	w.Desk = &requests.Desk{Store: store, Intake: in, Queue: redis, Herd: redis, Output: redis, Blobs: blobs}
	log := logrus.New()
	log.SetOutput(io.Discard)
	cfg := tango.Config{
		Requests: w, Keys: keys{}, Blobs: blobs, Shelf: &shelf{}, Images: map[string]string{"autograding_image": pool}, Version: "test", Log: log,
		Now: func() time.Time { return w.now },
	}
	for _, c := range change {
		c(&cfg)
	}
	w.door = tango.New(cfg)
	return w
}

// keys are ann and bob, who are runners, nora, who has no role, and reader, ann's for looking only.
type keys struct{}

func (keys) ByToken(_ context.Context, secret string) (*caller.Caller, error) {
	c := &caller.Caller{Actor: core.Actor{Handle: secret, Roles: []core.UserRole{core.RoleRunner}}, Token: "t", Scopes: []core.Scope{core.ScopeRead, core.ScopeSubmit}}
	switch secret {
	case "ann", "bob":
	case "nora":
		c.Actor.Roles = nil
	case "reader":
		c.Actor.Handle, c.Scopes = "ann", []core.Scope{core.ScopeRead}
	default:
		return nil, core.Errorf(core.CodeNotFound, "", "no such token")
	}
	return c, nil
}

// shelf is one in memory, that forgets nothing.
type shelf struct {
	mu    sync.Mutex
	texts map[string]map[string]string
	count map[string]int64
}

func (s *shelf) Put(_ context.Context, name, field, text string, most int, _ time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.texts == nil {
		s.texts = map[string]map[string]string{}
	}
	if s.texts[name] == nil {
		s.texts[name] = map[string]string{}
	}
	if _, there := s.texts[name][field]; !there && len(s.texts[name]) == most {
		return core.Errorf(core.CodeLimit, name, "%s is full", name)
	}
	s.texts[name][field] = text
	return nil
}

func (s *shelf) Get(_ context.Context, name string) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fields := map[string]string{}
	for field, text := range s.texts[name] {
		fields[field] = text
	}
	return fields, nil
}

func (s *shelf) Next(_ context.Context, name string, _ time.Duration) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count == nil {
		s.count = map[string]int64{}
	}
	s.count[name]++
	return s.count[name], nil
}

// SubmitStored is the desk's, and runs what was submitted.
func (w *world) SubmitStored(ctx context.Context, a core.Actor, spec core.Spec) (core.Row, error) {
	row, err := w.Desk.SubmitStored(ctx, a, spec)
	if err == nil && !w.held {
		w.run(row.Spec)
	}
	return row, err
}

// run runs a job as a testrunner would, but in a folder of this machine.
func (w *world) run(spec core.Spec) {
	w.t.Helper()
	w.herd.AddVMs(w.t, 1)
	w.seq++
	claims := w.herd.Exchange(w.t, w.seq, 1).Claims
	require.Len(w.t, claims, 1)
	claim := claims[0]
	dir := w.t.TempDir()
	for _, f := range spec.Files {
		at := filepath.Join(dir, f.Path)
		require.NoError(w.t, os.MkdirAll(filepath.Dir(at), 0o700))
		require.NoError(w.t, os.WriteFile(at, w.blob(f.Digest), 0o700))
	}
	cmd := exec.CommandContext(w.t.Context(), spec.Command[0], spec.Command[1:]...)
	cmd.Dir = dir
	stdout, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(w.t, err)
	}
	r := core.Result{
		ID: spec.ID, Generation: 1, State: core.RequestCompleted, ExitCode: cmd.ProcessState.ExitCode(), Pool: spec.Pool, VM: claim.VM, Token: claim.Token,
		Stdout: string(stdout), Attempt: 1, Times: core.Times{Submitted: spec.Submitted, Started: 1, Finished: 2},
	}
	for _, path := range spec.Collect {
		content, err := os.ReadFile(filepath.Join(dir, path)) //nolint:gosec // the test's own
		require.NoError(w.t, err)
		digest, size, err := w.blobs.Put(w.t.Context(), bytes.NewReader(content), 1<<20)
		require.NoError(w.t, err)
		r.Files = append(r.Files, core.File{Path: path, Digest: digest, Size: size})
	}
	if w.change != nil {
		w.change(&r)
	}
	_, err = w.Store.(core.ResultStore).Record(w.t.Context(), r) //nolint:forcetypeassert // newWorld made it
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

// ask makes one call; a method, a path and, after a space, the name of a file to upload.
func (w *world) ask(method, path, body string, filename ...string) (status int, answer string) {
	w.t.Helper()
	r := httptest.NewRequestWithContext(w.t.Context(), method, path, strings.NewReader(body))
	for _, name := range filename {
		r.Header.Set("Filename", name)
	}
	rec := httptest.NewRecorder()
	w.door.ServeHTTP(rec, r)
	return rec.Code, rec.Body.String()
}
