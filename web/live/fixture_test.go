package live_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/oklog/ulid/v2"
	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"drover/core"
	"drover/core/account"
	"drover/core/blobs"
	"drover/core/classes"
	"drover/core/coretest"
	"drover/core/requests"
	"drover/core/requests/intake"
	"drover/core/school"
	"drover/core/store/sqlite"
	"drover/core/store/sqlite/sqlitetest"
	"drover/web"
	"drover/web/api"
	"drover/web/client"
	"drover/web/live"
	"drover/web/services"
	"drover/web/session"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/alexedwards/scs/v2/memstore.(*MemStore).startCleanup")) // of the store that scs.New makes
}

const pool = "p1"

// fixture is a site with a cluster of one host, whose runner a test plays. In cs101 tess
// teaches, ann and cleo learn; olga is an operator and rosa may run things.
type fixture struct {
	t       *testing.T
	b       *coretest.Backend
	cluster *coretest.Cluster
	store   *sqlite.Store
	in      *intake.Intake
	reg     *classes.Service
	account *account.Service
	streams *live.Streams
	url     string
	stop    func() // the site
	seq     int64

	printed map[string]string // by token

	mu     sync.Mutex
	people map[string]*http.Client // signed in
}

func newFixture(t *testing.T, b *coretest.Backend, change ...func(s *live.Streams)) *fixture {
	t.Helper()
	ctx := t.Context()
	store := sqlitetest.Open(t)
	blobs, err := blobs.Open(ctx, "mem://")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, blobs.Close()) })
	hasher, err := account.NewHasher(account.Cost{Memory: 64, Iterations: 1})
	require.NoError(t, err)
	log := logrus.New()
	log.SetOutput(io.Discard)

	w := &fixture{t: t, b: b, store: store, printed: map[string]string{}, people: map[string]*http.Client{}}
	w.cluster = coretest.NewCluster(t, b.Open(t), "h1", pool)
	redis := w.cluster.Store
	w.in = &intake.Intake{Store: store, Queue: redis, Pools: redis, Tasks: redis, Blobs: blobs}
	require.NoError(t, w.in.SetPool(ctx, core.DefaultPool(pool)))
	w.reg = &classes.Service{Store: store, Intake: w.in, Blobs: blobs}
	w.account = &account.Service{Store: store, Limits: redis, Hasher: hasher}
	service := &requests.Service{
		Store: store, Intake: w.in, Queue: redis, Cluster: redis, Output: redis, Blobs: blobs, Submissions: w.reg,
		Watch: &requests.Watch{Feed: redis, Last: redis.LastEvents},
	}
	w.background(service.Watch.Run)
	keeper := &session.Keeper{Sessions: session.New(redis, false, log), Accounts: w.account, Actors: w.reg, Log: log}
	w.streams = &live.Streams{Requests: service, Classes: w.reg, Keeper: keeper, Log: log}
	for _, c := range change {
		c(w.streams)
	}
	w.enrol()
	w.site(log, keeper, services.Deps{Classes: w.reg, Accounts: w.account, Requests: service, Live: w.streams, Log: log})
	return w
}

// background runs a loop until the test ends, or stop is called.
func (w *fixture) background(run func(ctx context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(w.t, <-done)
	})
	w.t.Cleanup(stop)
	return stop
}

func (w *fixture) enrol() {
	w.t.Helper()
	ctx := w.t.Context()
	_, err := w.store.PutClass(ctx, school.Class{Handle: "cs101", Title: "Class"})
	require.NoError(w.t, err)
	for handle, roles := range map[string][]core.UserRole{"olga": {core.RoleOperator}, "rosa": {core.RoleRunner}, "tess": nil, "ann": nil, "cleo": nil} {
		_, err := w.store.PutUser(ctx, school.User{Handle: handle, Email: handle + "@school.example", Roles: roles})
		require.NoError(w.t, err)
	}
	for handle, role := range map[string]core.UserRole{"tess": core.RoleTeacher, "ann": core.RoleStudent, "cleo": core.RoleStudent} {
		require.NoError(w.t, w.store.Enrol(ctx, school.Enrolment{Class: "cs101", User: handle, Role: role}))
	}
}

// site serves API and events, and lets users in by their name alone.
func (w *fixture) site(log logrus.FieldLogger, keeper *session.Keeper, p services.Deps) {
	w.t.Helper()
	s, err := web.Listen("127.0.0.1:0", nil, log)
	require.NoError(w.t, err)
	w.url = "http://" + s.Addr()
	at, err := url.Parse(w.url)
	require.NoError(w.t, err)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /in/{user}", func(_ http.ResponseWriter, r *http.Request) {
		user := r.PathValue("user")
		in, err := w.account.SignInOIDC(r.Context(), account.Claim{Issuer: "https://id.example", Subject: user, Email: user + "@school.example", Verified: true})
		if err == nil {
			err = keeper.Begin(r.Context(), in)
		}
		if err != nil {
			panic(err)
		}
	})
	mux.HandleFunc("POST /out", func(_ http.ResponseWriter, r *http.Request) { _ = keeper.End(r.Context()) })
	h, err := web.Handler(web.Config{URL: at, Log: log}, web.Handlers{
		API: keeper.Programs(api.New(p)), Events: keeper.Browsers(w.streams.Pages()), Pages: keeper.Browsers(mux),
		Judge0: http.NotFoundHandler(), Tango: http.NotFoundHandler(), Jobe: http.NotFoundHandler(),
	})
	require.NoError(w.t, err)
	w.stop = w.background(s.Service(h).Run)
}

// as returns a user's browser.
func (w *fixture) as(user string) *http.Client {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.people[user]; c != nil {
		return c
	}
	jar, err := cookiejar.New(nil)
	require.NoError(w.t, err)
	transport := &http.Transport{}
	w.t.Cleanup(transport.CloseIdleConnections)
	c := &http.Client{Jar: jar, Transport: transport}
	w.people[user] = c
	w.post(c, "/in/"+user)
	return c
}

func (w *fixture) post(c *http.Client, path string) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.url+path, http.NoBody)
	require.NoError(w.t, err)
	a, err := c.Do(r)
	require.NoError(w.t, err)
	require.NoError(w.t, a.Body.Close())
	require.Equal(w.t, http.StatusOK, a.StatusCode)
}

// client returns a program of a user's.
func (w *fixture) client(user string) *client.Client {
	w.t.Helper()
	secret, _, err := w.account.IssueToken(w.t.Context(), core.Actor{Handle: user}, "laptop", []school.Scope{school.ScopeRead}, 0)
	require.NoError(w.t, err)
	c, err := client.New(client.Options{Server: w.url, Token: secret, Timeout: -1})
	require.NoError(w.t, err)
	w.t.Cleanup(func() { require.NoError(w.t, c.Close()) })
	return c
}

// stream is an open stream of events.
type stream struct {
	t      *testing.T
	answer *http.Response
	lines  *bufio.Reader
	last   string // id
}

// open opens a stream after the event with the id last.
func (w *fixture) open(user, path, last string) *stream {
	w.t.Helper()
	a := w.ask(user, path, last)
	require.Equal(w.t, http.StatusOK, a.StatusCode, "%s %s", user, path)
	require.Equal(w.t, "text/event-stream", a.Header.Get("Content-Type"))
	return &stream{t: w.t, answer: a, lines: bufio.NewReader(a.Body)}
}

func (w *fixture) ask(user, path, last string) *http.Response {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.url+path, http.NoBody)
	require.NoError(w.t, err)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	r.Header.Set("Accept-Encoding", "gzip")
	a, err := w.as(user).Do(r)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = a.Body.Close() })
	return a
}

// status is how a stream is refused.
func (w *fixture) status(user, path, last string) int {
	w.t.Helper()
	a := w.ask(user, path, last)
	require.NoError(w.t, a.Body.Close())
	return a.StatusCode
}

// next returns an event in short; "" is the end of the stream.
func (s *stream) next() string {
	s.t.Helper()
	id, kind, data := "", "", ""
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			return ""
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "id":
			id = value
		case "event":
			kind = value
		case "data":
			data = value
		case "":
			if kind != "" { // what breaks off before is no event
				s.last = id
				return strings.TrimSpace(kind + " " + strings.TrimSuffix(data, "{}"))
			}
		}
	}
}

// until reads events up to the one that is wanted, which is the last.
func (s *stream) until(want string) (all []string) {
	s.t.Helper()
	for {
		e := s.next()
		require.NotEmpty(s.t, e, "it ended before %s: %q", want, all)
		if all = append(all, e); e == want {
			return all
		}
	}
}

// outputUntil is until without changes of state, of which a busy machine tells late.
func (s *stream) outputUntil(want string) []string {
	s.t.Helper()
	return slices.DeleteFunc(s.until(want), func(e string) bool { return e == "changed" })
}

func (s *stream) close() { require.NoError(s.t, s.answer.Body.Close()) }

// submit requests something, changed as one likes, without asking who may.
func (w *fixture) submit(submitter string, change ...func(*core.Spec)) core.Spec {
	w.t.Helper()
	s := core.Spec{ID: newID(), Pool: pool, Submitter: submitter, Command: []string{"true"}}
	for _, c := range change {
		c(&s)
	}
	row, _, err := w.in.Submit(w.t.Context(), s)
	require.NoError(w.t, err)
	return row.Spec
}

func newID() string { return strings.ToLower(ulid.Make().String()) }

// claim has the runner take what is next.
func (w *fixture) claim() core.Claim {
	w.t.Helper()
	w.cluster.AddVMs(w.t, 1)
	w.seq++
	got := w.cluster.Exchange(w.t, w.seq, 1).Claims
	require.Len(w.t, got, 1)
	return got[0]
}

func (w *fixture) print(c core.Claim, words ...string) {
	w.t.Helper()
	for _, word := range words {
		chunk := core.OutputChunk{Stream: "stdout", Offset: int64(len(w.printed[c.Token])), Data: []byte(word)}
		require.NoError(w.t, w.cluster.Store.Append(w.t.Context(), c.Key, c.Token, []core.OutputChunk{chunk}))
		w.printed[c.Token] += word
	}
}

// end records the end of a claim.
func (w *fixture) end(c core.Claim) {
	w.t.Helper()
	s := c.ReadSpec()
	require.NoError(w.t, w.cluster.Store.Append(w.t.Context(), c.Key, c.Token, []core.OutputChunk{{Stream: "end", Offset: int64(len(w.printed[c.Token]))}}))
	_, err := w.store.Record(w.t.Context(), core.Result{
		ID: s.ID, Generation: s.Generation, State: core.RequestCompleted, Token: c.Token, VM: c.VM, Host: "h1", Pool: s.Pool,
		Stdout: w.printed[c.Token], Times: core.Times{Submitted: s.Submitted, Claimed: 10, Started: 20, Finished: 1010},
	})
	require.NoError(w.t, err)
	w.seq++
	w.cluster.Exchange(w.t, w.seq, 0, core.Finish{Key: c.Key, Token: c.Token, Outcome: core.OutcomeDone})
}

// graded makes a submission of ann's, to an assignment that shows students what the harness
// prints, or not.
func (w *fixture) graded(show bool, change ...func(*core.Spec)) school.Submission {
	w.t.Helper()
	ctx, handle := w.t.Context(), fmt.Sprintf("hw-%t", show)
	_, err := w.store.PutAssignment(ctx, school.Assignment{
		Class: "cs101", Handle: handle, Title: handle, Pool: pool, Priority: core.PriorityNormal, ShowOutput: show,
	})
	require.NoError(w.t, err)
	id := newID()
	sub := school.Submission{ID: id, Class: "cs101", Assignment: handle, User: "ann", Kind: "public", Files: []core.File{}, At: 1, Request: id}
	spec := core.Spec{ID: id, Pool: pool, Submitter: "ann", Command: []string{"true"}, Submission: id, Assignment: "cs101/" + handle}
	for _, c := range change {
		c(&spec)
	}
	require.NoError(w.t, w.in.SubmitWith(ctx, spec, func(ctx context.Context, spec core.Spec) (created bool, err error) {
		_, created, err = w.store.CreateSubmission(ctx, sub, &spec)
		return created, err
	}))
	return sub
}
