package classes_test

import (
	"bytes"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"drover/core"
	"drover/core/blobs"
	"drover/core/classes"
	"drover/core/coretest"
	"drover/core/harness"
	"drover/core/harness/cases"
	"drover/core/requests/intake"
	"drover/core/school"
	"drover/core/store/sqlite/sqlitetest"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a school: a Service on a real store and Redis, users of every role, the
// classes cs101 and cs202, and assignments. In cs101 tess teaches, tina assists,
// ann and cleo learn; in cs202 theo teaches and eve learns.
type fixture struct {
	t       *testing.T
	log     *steps
	cluster *coretest.Cluster
	store   school.ResultStore
	in      *intake.Intake
	reg     *classes.Service
	seq     int64

	mu  sync.Mutex
	now time.Time
}

const (
	pool   = "p1"
	hour   = int64(3600_000)
	day    = 24 * hour
	start  = int64(1_700_000_000_000)
	theDue = start + day
	theEnd = start + 2*day
)

func newFixture(t *testing.T) *fixture {
	t.Helper()
	ctx := t.Context()
	store := sqlitetest.Open(t)
	blobs, err := blobs.Open(ctx, "mem://")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, blobs.Close()) })
	w := &fixture{t: t, now: time.UnixMilli(start)}
	w.cluster = coretest.NewCluster(t, coretest.Real(t).Open(t), "h1", pool)
	w.store = store
	w.in = &intake.Intake{Store: store, Queue: w.cluster.Store, Pools: w.cluster.Store, Tasks: w.cluster.Store, Blobs: blobs, Now: w.clock}
	w.log = &steps{}
	w.reg = &classes.Service{Store: watched{store, w.log}, Intake: intaking{w.in, w.log}, Blobs: blobs, Now: w.clock}
	require.NoError(t, w.in.SetPool(ctx, core.DefaultPool(pool)))
	w.people()
	return w
}

// people fills the roster, at once what does not need what was before: the store
// waits for its disk once for all of it.
func (w *fixture) people() {
	w.t.Helper()
	ctx, store := w.t.Context(), w.reg.Store
	var there errgroup.Group
	for handle, roles := range map[string][]core.UserRole{
		"root": {core.RoleAdmin}, "olga": {core.RoleOperator}, "otto": {core.RoleObserver}, "rosa": {core.RoleRunner},
		"tess": nil, "tina": nil, "ann": nil, "cleo": nil, "theo": nil, "eve": nil, "nick": nil,
	} {
		there.Go(func() error {
			return done(store.PutUser(ctx, school.User{Handle: handle, Email: handle + "@example.org", Roles: roles, Created: start}))
		})
	}
	for _, class := range []string{"cs101", "cs202"} {
		there.Go(func() error {
			return done(store.PutClass(ctx, school.Class{Handle: class, Title: "Class " + class, Created: start}))
		})
	}
	require.NoError(w.t, there.Wait())
	var enrolled errgroup.Group
	for _, e := range []school.Enrolment{
		{Class: "cs101", User: "tess", Role: core.RoleTeacher},
		{Class: "cs101", User: "tina", Role: core.RoleAssistant},
		{Class: "cs101", User: "ann", Role: core.RoleStudent},
		{Class: "cs101", User: "cleo", Role: core.RoleStudent},
		{Class: "cs202", User: "theo", Role: core.RoleTeacher},
		{Class: "cs202", User: "eve", Role: core.RoleStudent},
	} {
		enrolled.Go(func() error { return store.Enrol(ctx, e) })
	}
	require.NoError(w.t, enrolled.Wait())
	w.log.clear()
}

func (w *fixture) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(time.Millisecond)
	return w.now
}

func (w *fixture) pass(ms int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(time.Duration(ms) * time.Millisecond)
}

// as returns a user as one who acts.
func (w *fixture) as(handle string) core.Actor {
	w.t.Helper()
	a, err := w.reg.Actor(w.t.Context(), handle)
	require.NoError(w.t, err)
	return a
}

// assignment makes one of cs101, changed as one likes.
func (w *fixture) assignment(handle string, change ...func(as *school.Assignment)) school.Assignment {
	w.t.Helper()
	as := school.Assignment{
		Class: "cs101", Handle: handle, Title: "The " + handle, Due: theDue, Cutoff: theEnd,
		AllowFinal: true, Pool: pool, Priority: core.PriorityNormal, Created: start,
	}
	for _, c := range change {
		c(&as)
	}
	var err error
	as.Revision, err = w.reg.Store.PutAssignment(w.t.Context(), as)
	require.NoError(w.t, err)
	w.log.clear()
	return as
}

func concealed(as *school.Assignment) { as.HideUntil = start + day }

// graded makes an assignment with a harness.
func (w *fixture) graded(handle string, change ...func(as *school.Assignment)) school.Assignment {
	w.t.Helper()
	w.assignment(handle, change...)
	as, err := w.reg.SetHarness(w.t.Context(), w.as("tess"), "cs101", handle, bytes.NewReader(harnessTar(w.t)))
	require.NoError(w.t, err)
	w.log.clear()
	return as
}

// harnessTar is a harness as the command line packs it.
func harnessTar(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, harness.MainFile), []byte("#!/bin/sh\n"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, harness.ConfigFile), []byte(`{"drover/timeout":5}`), 0o644))
	p, err := harness.Pack(dir)
	require.NoError(t, err)
	tar, err := io.ReadAll(p.Tar())
	require.NoError(t, err)
	return tar
}

// stockTar is a harness that drover grades by itself.
func stockTar(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, cases.File), []byte("run: ./a.out\ngroups:\n- name: all\n  tests:\n  - name: one\n    output: x\n"), 0o644))
	p, err := harness.Pack(dir)
	require.NoError(t, err)
	tar, err := io.ReadAll(p.Tar())
	require.NoError(t, err)
	return tar
}

// files are what somebody submits: path and content in turn.
func files(pairs ...string) iter.Seq2[intake.Upload, error] {
	return func(yield func(intake.Upload, error) bool) {
		for i := 0; i < len(pairs); i += 2 {
			if !yield(intake.Upload{Path: pairs[i], Content: strings.NewReader(pairs[i+1])}, nil) {
				return
			}
		}
	}
}

func newSubmission(assignment string) classes.NewSubmission {
	return classes.NewSubmission{Class: "cs101", Assignment: assignment, Files: files("main.py", "print()")}
}

// submit submits something for an assignment of cs101.
func (w *fixture) submit(user, assignment string) school.Submission {
	w.t.Helper()
	s, err := w.reg.Submit(w.t.Context(), w.as(user), newSubmission(assignment))
	require.NoError(w.t, err)
	w.log.clear()
	return s
}

// grade ends what waits, as a testrunner does.
func (w *fixture) grade(change func(r *core.Result)) {
	w.t.Helper()
	w.cluster.AddVMs(w.t, 1)
	w.seq++
	for _, c := range w.cluster.Exchange(w.t, w.seq, 1).Claims {
		score, most := 7.0, 10.0
		r := core.Result{
			ID: c.ReadSpec().ID, Generation: c.ReadSpec().Generation, State: core.RequestCompleted, Token: c.Token, VM: c.VM,
			Score: &score, MaxScore: &most, Stdout: "hidden test 3", Host: "h1",
		}
		if change != nil {
			change(&r)
		}
		_, err := w.store.Record(w.t.Context(), r)
		require.NoError(w.t, err)
		w.seq++
		w.cluster.Exchange(w.t, w.seq, 0, core.Finish{Key: c.Key, Token: c.Token, Outcome: core.OutcomeDone})
	}
}

// task puts a task of ann's about cs101/hw1 into the store, changed as one likes.
func (w *fixture) task(change ...func(t *core.Task)) core.Task {
	w.t.Helper()
	t := core.Task{
		ID: newID(), Generation: 1, Kind: school.KindArchive, Args: []byte(`{"class":"cs101","assignment":"hw1","user":"ann"}`),
		Priority: core.PriorityNormal, Requester: "ann", About: "cs101/hw1", Created: start, State: core.TaskQueued,
	}
	for _, c := range change {
		c(&t)
	}
	_, err := w.store.CreateTask(w.t.Context(), t)
	require.NoError(w.t, err)
	w.log.clear()
	return t
}

// endTask records a task's end, with a file if it is done.
func (w *fixture) endTask(id string, state core.TaskState) {
	w.t.Helper()
	end := core.TaskEnd{ID: id, Generation: 1, State: state}
	if state == core.TaskDone {
		digest, size, err := w.reg.Blobs.Put(w.t.Context(), strings.NewReader("a zip"), 100)
		require.NoError(w.t, err)
		end.Download = &core.Download{Name: "a.zip", Type: "application/zip", Digest: digest, Size: size, Expires: start + hour}
	}
	_, err := w.store.EndTask(w.t.Context(), end)
	require.NoError(w.t, err)
	w.log.clear()
}

// entries are the audit log's sentences, oldest first, each with who did it.
func (w *fixture) entries() []string {
	w.t.Helper()
	all, err := w.reg.Store.ListAuditEntries(w.t.Context(), core.AuditFilter{Limit: 1000})
	require.NoError(w.t, err)
	var texts []string
	for _, d := range slices.Backward(all) {
		texts = append(texts, d.Actor+" "+d.Text)
	}
	return texts
}

func newID() string { return strings.ToLower(ulid.Make().String()) }

func requireCode(t *testing.T, code core.Code, err error) {
	t.Helper()
	require.Equal(t, code, core.CodeOf(err), "%v", err)
}

func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
