package requests_test

import (
	"cmp"
	"context"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"drover/core"
	"drover/core/blobs"
	"drover/core/coretest"
	"drover/core/requests"
	"drover/core/requests/intake"
	"drover/core/school"
	"drover/core/store/sqlite/sqlitetest"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	pool  = "p1"
	start = int64(1_700_000_000_000)
)

// fixture is a Service on a real store and a Redis, with a host that can run what waits.
type fixture struct {
	t       *testing.T
	b       *coretest.Backend
	cluster *coretest.Cluster
	store   school.ResultStore
	in      *intake.Intake
	service *requests.Service
	seq     int64

	printed map[string]string // by token

	mu  sync.Mutex
	now time.Time
}

func newFixture(t *testing.T) *fixture { return fixtureOn(t, coretest.Real(t)) }

func fixtureOn(t *testing.T, b *coretest.Backend) *fixture {
	t.Helper()
	ctx := t.Context()
	store := sqlitetest.Open(t)
	blobs, err := blobs.Open(ctx, "mem://")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, blobs.Close()) })
	w := &fixture{t: t, b: b, now: time.UnixMilli(start), printed: map[string]string{}}
	w.cluster = coretest.NewCluster(t, b.Open(t), "h1", pool)
	redis := w.cluster.Store
	w.store = store
	w.in = &intake.Intake{Store: store, Queue: redis, Pools: redis, Tasks: redis, Blobs: blobs, Now: w.clock}
	w.service = &requests.Service{
		Store: store, Intake: w.in, Queue: redis, Cluster: redis, Output: redis, Blobs: blobs, Now: w.clock, Submissions: submissions{w},
	}
	w.pool(func(*core.Pool) {})
	return w
}

func (w *fixture) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(time.Millisecond)
	return w.now
}

func (w *fixture) pool(change func(*core.Pool)) {
	w.t.Helper()
	p := core.DefaultPool(pool)
	change(&p)
	require.NoError(w.t, w.in.SetPool(w.t.Context(), p))
}

// people are the columns of the table of rights, by its names.
func as(handle string) core.Actor {
	a := core.Actor{Handle: handle, In: map[string]core.UserRole{}}
	for who, role := range map[string]core.UserRole{
		"root": core.RoleAdmin, "olga": core.RoleOperator, "otto": core.RoleObserver, "rosa": core.RoleRunner,
	} {
		if who == handle {
			a.Roles = []core.UserRole{role}
		}
	}
	for who, role := range map[string]core.UserRole{
		"tess": core.RoleTeacher, "tina": core.RoleAssistant, "ann": core.RoleStudent, "cleo": core.RoleStudent,
	} {
		if who == handle {
			a.In["cs101"] = role
		}
	}
	for who, role := range map[string]core.UserRole{"theo": core.RoleTeacher, "eve": core.RoleStudent} {
		if who == handle {
			a.In["cs202"] = role
		}
	}
	if handle == "left" {
		a.Handle = "ann"
	}
	return a
}

// submissions are those of the requests that grade: each is its request's submitter's, and
// shows what its harness prints in the assignment cs101/open.
type submissions struct{ w *fixture }

func (s submissions) WatchSubmission(ctx context.Context, a core.Actor, id string) (string, bool, error) {
	row, err := s.w.store.Get(ctx, id)
	if err != nil || core.Allow(a, core.ActSubmissionView, core.Object{Class: "cs101", Owner: row.Spec.Submitter}) != nil {
		return "", false, core.Errorf(core.CodeNotFound, id, "there is no submission %s", id)
	}
	return id, row.Spec.Assignment == "cs101/open" || a.StaffOf("cs101"), nil
}

func newID() string { return strings.ToLower(ulid.Make().String()) }

// submit requests something, changed as one likes, without asking who may.
func (w *fixture) submit(submitter string, change ...func(*core.Spec)) core.Spec {
	w.t.Helper()
	s := core.Spec{ID: newID(), Pool: pool, Submitter: submitter, Command: []string{"true"}, Env: []string{"KEY=secret"}}
	for _, c := range change {
		c(&s)
	}
	row, _, err := w.in.Submit(w.t.Context(), s)
	require.NoError(w.t, err)
	return row.Spec
}

// grading makes a request one that grades a submission to an assignment.
func grading(assignment string) func(*core.Spec) {
	return func(s *core.Spec) { s.Submission, s.Assignment = s.ID, assignment }
}

// claim has the runner take what is next.
func (w *fixture) claim() core.Claim {
	w.t.Helper()
	w.cluster.AddVMs(w.t, 1)
	w.seq++
	got := w.cluster.Exchange(w.t, w.seq, 1).Claims
	require.Len(w.t, got, 1)
	return got[0]
}

// end records the end of a claim, changed as one likes.
func (w *fixture) end(c core.Claim, change ...func(*core.Result)) {
	w.t.Helper()
	s := c.ReadSpec()
	score, most := 7.0, 10.0
	r := core.Result{
		ID: s.ID, Generation: s.Generation, State: core.RequestCompleted, Token: c.Token, VM: c.VM, Host: "h1", Pool: s.Pool,
		Score: &score, MaxScore: &most, Stdout: cmp.Or(w.printed[c.Token], "printed"), Times: core.Times{Submitted: s.Submitted, Claimed: 10, Started: 20, Finished: 1010},
	}
	for _, one := range change {
		one(&r)
	}
	_, err := w.store.Record(w.t.Context(), r)
	require.NoError(w.t, err)
	w.seq++
	w.cluster.Exchange(w.t, w.seq, 0, core.Finish{Key: c.Key, Token: c.Token, Outcome: core.OutcomeDone})
}

func uploads(all ...intake.Upload) iter.Seq2[intake.Upload, error] {
	return func(yield func(intake.Upload, error) bool) {
		for _, u := range all {
			if !yield(u, nil) {
				return
			}
		}
	}
}

func file(path, content string) intake.Upload {
	return intake.Upload{Path: path, Content: strings.NewReader(content)}
}

func requireCode(t *testing.T, code core.Code, err error) {
	t.Helper()
	require.Equal(t, code, core.CodeOf(err), "%v", err)
}

func done[T any](_ T, err error) error { return err }
