package testrunner_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"drover/core"
	"drover/core/agent"
	"drover/core/coretest"
	"drover/core/redisstore"
	"drover/core/service/metric"
	"drover/core/store/sqlite/sqlitetest"
	"drover/testrunner"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a host with a pool, a real worker on a Redis, a real ledger that
// can be told to fail, and VMs that do what the test says.
type fixture struct {
	t       *testing.T
	redis   *coretest.Backend
	cluster *coretest.Cluster
	output  *output
	ledger  *ledger
	blobs   *blobs
	spool   string
	runner  *running // the latest

	mu     sync.Mutex
	script script
	vms    []*vm // in the order in which they were dialled
}

// script is what the agent of a VM does. A nil step succeeds.
type script struct {
	dial    error
	assign  error
	give    error
	take    error
	assigns func(context.Context) error
	slow    int // of how many VMs, the first, assigning takes forever
	stage   func(place string) error
	reset   func(n int) error                                                                              // n counts dialled VMs from 1
	run     func(ctx context.Context, n int, run agent.Run, sink func(string, []byte)) (agent.Exit, error) // n counts dialled VMs from 1

	lost    time.Duration // what each run has lost so far
	call    func(context.Context) (*agent.Call, error)
	answer  func(*agent.Call, core.Limits) (agent.Exit, error)
	collect func(want agent.Collection, take func(agent.Taken, io.Reader) error) ([]agent.Skipped, error)
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	b := coretest.Real(t)
	return newFixtureOn(t, b, b.Open(t))
}

func newFixtureOn(t *testing.T, b *coretest.Backend, redis *redisstore.Store) *fixture {
	t.Helper()
	return &fixture{
		t: t, redis: b, cluster: coretest.NewCluster(t, redis, "h1", "p1"), output: &output{Output: redis},
		ledger: &ledger{ResultStore: sqlitetest.Open(t), recorded: make(chan core.Result, 100)},
		blobs:  &blobs{files: map[string][]byte{}}, spool: filepath.Join(t.TempDir(), "spool"),
	}
}

// submit makes a request durable and queues it, as intake does.
func (w *fixture) submit(spec core.Spec) {
	w.t.Helper()
	_, _, err := w.ledger.Create(context.Background(), spec)
	require.NoError(w.t, err)
	w.cluster.Submit(w.t, spec)
}

func (w *fixture) config() testrunner.Config {
	return testrunner.Config{
		Registration: core.Registration{Owner: w.cluster.Runner, Host: w.cluster.Host, Machine: "m-h1", PID: 1, Version: "test", Beat: time.Minute},
		Pools:        []string{w.cluster.Pool}, Slots: 2, RunDir: "/nowhere", SpoolDir: w.spool, HandOver: time.Millisecond, Pause: time.Millisecond, Poll: 20 * time.Millisecond,
	}
}

// running is a runner at work.
type running struct {
	*testrunner.Runner
	t       *testing.T
	metrics *metric.Set
	kill    context.CancelFunc // ends its context
	ended   chan error
	once    sync.Once
}

func quiet() logrus.FieldLogger {
	log := logrus.New()
	log.SetOutput(io.Discard)
	return log
}

// lines are what a runner logs.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) debug() logrus.FieldLogger {
	log := logrus.New()
	log.SetOutput(l)
	log.SetLevel(logrus.DebugLevel)
	return log
}

// of counts the lines with all of the words.
func (l *lines) of(words ...string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, word) }) {
			n++
		}
	}
	return n
}

func (w *fixture) start(change func(*testrunner.Config, *testrunner.Deps)) *running {
	w.t.Helper()
	log := logrus.New()
	log.SetOutput(w.t.Output())
	cfg, metrics := w.config(), &metric.Set{}
	deps := testrunner.Deps{
		Owners: w.cluster.Store, Claims: w.cluster.Store, Pools: w.cluster.Store, Output: w.output, Store: w.ledger, Blobs: w.blobs,
		Dial: w.dial, Log: log, Metrics: metrics,
	}
	if change != nil {
		change(&cfg, &deps)
	}
	r, err := testrunner.New(cfg, deps)
	require.NoError(w.t, err)
	ctx, kill := context.WithCancel(context.Background())
	run := &running{Runner: r, t: w.t, metrics: metrics, kill: kill, ended: make(chan error, 1)}
	go func() { run.ended <- r.Run(ctx) }()
	w.t.Cleanup(run.stop)
	w.runner = run
	return run
}

// drain lets the runner finish its requests and end.
func (r *running) drain() {
	r.t.Helper()
	r.Drain()
	r.once.Do(func() { require.NoError(r.t, <-r.ended) })
}

// stop ends the runner's context and waits for its end.
func (r *running) stop() {
	r.kill()
	r.once.Do(func() { require.NoError(r.t, <-r.ended) })
}

// result waits for the next recorded result and returns the request's row.
func (w *fixture) result() core.Result {
	w.t.Helper()
	select {
	case r := <-w.ledger.recorded:
		return r
	case <-time.After(time.Minute):
		w.t.Fatal("no result was recorded")
		return core.Result{}
	}
}

func (w *fixture) place(spec core.Spec) core.Place {
	w.t.Helper()
	place, err := w.cluster.Store.Locate(context.Background(), spec.Key())
	require.NoError(w.t, err)
	return place
}

func (w *fixture) vmStates() map[core.VMState]int {
	w.t.Helper()
	all, err := w.cluster.Store.ListVMs(context.Background(), w.cluster.Host)
	require.NoError(w.t, err)
	states := map[core.VMState]int{}
	for _, v := range all {
		states[v.State]++
	}
	return states
}

// vm is the agent of one VM.
type vm struct {
	id       string
	n        int
	script   *script
	assigned string
	closed   bool
	mu       sync.Mutex
	staged   map[string]map[string]string // place → file → content
	ran      agent.Run
	did      []string // all but assignments
}

func (w *fixture) dial(dir string) (testrunner.VM, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.script.dial != nil {
		return nil, w.script.dial
	}
	v := &vm{id: filepath.Base(dir), n: len(w.vms) + 1, script: &w.script, staged: map[string]map[string]string{}}
	w.vms = append(w.vms, v)
	return v, nil
}

func (v *vm) Assign(ctx context.Context, assignment string) error {
	if v.n <= v.script.slow {
		<-ctx.Done()
		return ctx.Err()
	}
	if v.script.assigns != nil {
		if err := v.script.assigns(ctx); err != nil {
			return err
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.assigned != "" && v.assigned != assignment {
		return core.Errorf(core.CodeConflict, v.id, "assigned to %s", v.assigned)
	}
	v.assigned = assignment
	return v.script.assign
}

func (v *vm) Stage(_ context.Context, place string, archive io.Reader) error {
	if v.script.stage != nil {
		if err := v.script.stage(place); err != nil {
			return err
		}
	}
	files := map[string]string{}
	for r := tar.NewReader(archive); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		files[head.Name] = string(content)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.staged[place] != nil {
		return core.Errorf(core.CodeConflict, v.id, "%s is taken", place)
	}
	v.staged[place] = files
	v.did = append(v.did, "stage "+place+" "+strings.Join(slices.Sorted(maps.Keys(files)), " "))
	return nil
}

func (v *vm) Run(ctx context.Context, run agent.Run, sink func(string, []byte)) (agent.Exit, error) {
	if run.Reset != nil {
		if err := v.Reset(ctx, *run.Reset); err != nil {
			return agent.Exit{}, err
		}
	}
	v.mu.Lock()
	v.ran = run
	v.did = append(v.did, "run "+strings.Join(run.Args, " "))
	v.mu.Unlock()
	if v.script.run == nil {
		return agent.Exit{}, nil
	}
	return v.script.run(ctx, v.n, run, sink)
}

func (v *vm) Lay(_ context.Context, place string, archive io.Reader) error {
	var names []string
	for r := tar.NewReader(archive); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		names = append(names, head.Name)
	}
	slices.Sort(names)
	v.note("lay", place, strings.Join(names, " "))
	return nil
}

func (v *vm) Keep(_ context.Context, name string) error {
	v.note("keep", name)
	return nil
}

func (v *vm) Give(_ context.Context, name string, to io.Writer, _ int64) (int64, error) {
	v.note("give", name)
	if v.script.give != nil {
		return 0, v.script.give
	}
	n, err := io.WriteString(to, "the state "+name)
	return int64(n), err
}

func (v *vm) Take(_ context.Context, name string, from io.Reader) error {
	text, err := io.ReadAll(from)
	if err == nil {
		err = v.script.take
	}
	v.note("take", name+":", string(text))
	return err
}

func (v *vm) Reset(_ context.Context, kept string) error {
	v.note("reset", kept)
	if v.script.reset != nil {
		return v.script.reset(v.n)
	}
	return nil
}

// note remembers what the VM was asked to do.
func (v *vm) note(words ...string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.did = append(v.did, strings.Join(words, " "))
}

func (v *vm) Collect(_ context.Context, _ string, want agent.Collection, take func(agent.Taken, io.Reader) error) ([]agent.Skipped, error) {
	if v.script.collect == nil {
		return nil, errors.New("nobody asked for files")
	}
	return v.script.collect(want, take)
}

// Lost says what the script says.
func (v *vm) Lost(context.Context) (time.Duration, error) { return v.script.lost, nil }

// PutOff notes by how much.
func (v *vm) PutOff(_ context.Context, lost time.Duration) error {
	v.note("put off", lost.String())
	return nil
}

func (v *vm) NextCall(ctx context.Context) (*agent.Call, error) {
	if v.script.call == nil {
		<-ctx.Done()
		return nil, core.Wrap(context.Cause(ctx), core.CodeUnavailable, "", "the call was given up")
	}
	return v.script.call(ctx)
}

func (v *vm) Answer(call *agent.Call, limits core.Limits) (agent.Exit, error) {
	v.note("answer")
	return v.script.answer(call, limits)
}

func (v *vm) Close() { v.closed = true }

// untilKilled is a run that ends when it is killed.
func untilKilled(ctx context.Context, vm string) (agent.Exit, error) {
	<-ctx.Done()
	return agent.Exit{}, core.Wrap(context.Cause(ctx), core.CodeUnavailable, vm, "the call was given up")
}

// ledger is a result store that tells of recorded results and fails on demand.
type ledger struct {
	core.ResultStore
	recorded chan core.Result
	refuse   atomic.Pointer[func(core.Result) error]
	tries    atomic.Int64
	away     atomic.Int64 // for how many more beginnings it does not answer
}

func (l *ledger) BeginRequest(ctx context.Context, key, by string) (bool, error) {
	if l.away.Load() > 0 {
		l.away.Add(-1)
		return false, core.Errorf(core.CodeUnavailable, key, "the store is away")
	}
	return l.ResultStore.BeginRequest(ctx, key, by)
}

func (l *ledger) fail(with func(core.Result) error) { l.refuse.Store(&with) }

func (l *ledger) Record(ctx context.Context, r core.Result) (bool, error) {
	l.tries.Add(1)
	if refuse := l.refuse.Load(); refuse != nil && *refuse != nil {
		if err := (*refuse)(r); err != nil {
			return false, err
		}
	}
	first, err := l.ResultStore.Record(ctx, r)
	if err == nil && first {
		l.recorded <- r
	}
	return first, err
}

// output is live output that can be broken.
type output struct {
	core.Output
	broken atomic.Bool

	mu  sync.Mutex
	all []core.OutputChunk // that were appended
}

// seen are the chunks of a stream that were appended.
func (o *output) seen(stream string) (some []core.OutputChunk) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, c := range o.all {
		if c.Stream == stream {
			some = append(some, c)
		}
	}
	return some
}

func (o *output) Append(ctx context.Context, key, token string, chunks []core.OutputChunk) error {
	if o.broken.Load() {
		return core.Errorf(core.CodeUnavailable, key, "no Redis")
	}
	o.mu.Lock()
	o.all = append(o.all, chunks...)
	o.mu.Unlock()
	return o.Output.Append(ctx, key, token, chunks)
}

// blobs are files in memory that can be away.
type blobs struct {
	core.Blobs
	mu    sync.Mutex
	files map[string][]byte
	down  atomic.Bool
	stuck atomic.Bool // being down, it does not answer
	spare string      // a digest that can be had all the same
	pings atomic.Int64
	rot   atomic.Bool // reading breaks in the middle
}

func (b *blobs) put(name, content string) core.File {
	b.mu.Lock()
	defer b.mu.Unlock()
	digest := "sha256:" + name
	b.files[digest] = []byte(content)
	return core.File{Path: name, Digest: digest, Size: int64(len(content))}
}

func (b *blobs) Open(ctx context.Context, digest string) (io.ReadCloser, error) {
	if b.down.Load() && digest != b.spare {
		if b.stuck.Load() {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return nil, core.Errorf(core.CodeUnavailable, digest, "no blob store")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	content, ok := b.files[digest]
	if !ok {
		return nil, core.Errorf(core.CodeNotFound, digest, "no file %s", digest)
	}
	if b.rot.Load() {
		return io.NopCloser(io.MultiReader(bytes.NewReader(content[:1]), broken{})), nil
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}

func (b *blobs) Put(_ context.Context, r io.Reader, limit int64) (string, int64, error) {
	if b.down.Load() {
		return "", 0, core.Errorf(core.CodeUnavailable, "", "no blob store")
	}
	if limit <= 0 {
		return "", 0, core.Errorf(core.CodeInvalid, "", "limit %d must be above 0", limit)
	}
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil || int64(len(text)) > limit {
		return "", 0, errors.Join(err, core.Errorf(core.CodeLimit, "", "too long"))
	}
	return b.put(fmt.Sprintf("of %q", text), string(text)).Digest, int64(len(text)), nil
}

func (b *blobs) Ping(context.Context) error {
	b.pings.Add(1)
	if b.down.Load() {
		return core.Errorf(core.CodeUnavailable, "", "no blob store")
	}
	return nil
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, core.ErrDamaged }
