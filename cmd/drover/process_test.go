package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/cmd/drover/access"
	"drover/core"
	"drover/core/blobs/blobstest/s3server"
	"drover/core/classes"
	"drover/core/config"
	"drover/core/coretest"
	"drover/core/coretest/tier"
	"drover/core/redisstore/redisserver"
	"drover/core/service"
	"drover/core/service/guard"
	"drover/vmfactory/local"
)

// programDir is where tests build; TestMain removes it.
var programDir *service.Scratch

func TestMain(m *testing.M) {
	for name, value := range s3server.Environment() {
		_ = os.Setenv(name, value) // fails for no such name
	}
	// Clusters of processes wait far more than they compute. A number on the command line wins.
	_ = flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0)))
	if self, err := os.Executable(); err == nil && filepath.Base(self) == programName {
		main()
	}
	code := m.Run()
	if programDir != nil {
		_ = programDir.Remove() // a temporary folder
	}
	os.Exit(code)
}

// programName is what makes this program of tests be drover: the name of its file.
const programName = "drover"

// program is drover for all tests of real processes: this program of tests itself, as to link another as large takes
// longer than most tests, unless it has cgo (and the race detector by it), which drover is built without.
var program = sync.OnceValues(func() (string, error) {
	dir, err := builds()
	path := filepath.Join(dir, programName)
	switch {
	case err != nil:
	case builtWith("CGO_ENABLED", "1"):
		err = build(path, "CGO_ENABLED=0", "-tags", "urfave_cli_no_docs", ".") // as make does
	default:
		err = linkSelf(path)
	}
	return path, err
})

// builtWith says whether this program was built with a value of a setting, which may be a list.
func builtWith(key, value string) bool {
	about, _ := debug.ReadBuildInfo() // of a program built by go test it is there
	return slices.ContainsFunc(about.Settings, func(s debug.BuildSetting) bool {
		return s.Key == key && slices.Contains(strings.Split(s.Value, ","), value)
	})
}

// linkSelf gives this program another name.
func linkSelf(path string) error {
	self, err := os.Executable()
	if err != nil || os.Link(self, path) == nil {
		return err
	}
	text, err := os.ReadFile(self) // it is on another file system
	if err == nil {
		err = guard.WriteProgram(context.Background(), path, text)
	}
	return err
}

// builds is where programs are built.
var builds = sync.OnceValues(func() (string, error) {
	var err error
	if programDir, err = service.NewScratch("drover-program-"); err != nil {
		return "", err
	}
	return programDir.Dir, os.Chmod(programDir.Dir, 0o755) // VMs have other users
})

func build(path, env string, args ...string) error {
	cmd := exec.Command("go", append([]string{"build", "-o", path}, args...)...)
	cmd.Env = append(os.Environ(), env)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// turn is whose run it is: the library of the command line has its flag --help but once.
var turn sync.Mutex

// typeIn runs the program in this process, one at a time.
func typeIn(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	turn.Lock()
	defer turn.Unlock()
	return run(ctx, args, stdin, stdout, stderr)
}

// testCluster is a cluster of real processes on a real redis-server.
type testCluster struct {
	t       *testing.T
	path    string
	cfg     *config.Config
	cluster *access.Cluster
	env     []string
	redis   *redisserver.Server // nil if another's was named
	here    bool                // commands run in this process, and know no setting but where the cluster is
}

// testTimeout is how long a test waits for something that must happen.
const testTimeout = 15 * time.Minute

// poll is how often it looks.
const poll = 10 * time.Millisecond

// selfTested has a cluster's hosts attack VMs of their own before they take work, as they do
// unless told otherwise: here they are, as each start of a vmfactory takes seconds longer.
const selfTested = "DROVER_SELF_TEST="

// newTestCluster makes a cluster with more settings, as in an environment.
func newTestCluster(t *testing.T, settings ...string) *testCluster {
	t.Helper()
	server := newRedis(t)
	h := newTestClusterOn(t, server.URL(), settings...)
	h.redis = server
	return h
}

// newRedis starts a redis-server that keeps everything until the end of the test, through a kill as well. That the
// machine loses power is not meant: no disk is waited for.
func newRedis(t *testing.T, settings ...string) *redisserver.Server {
	t.Helper()
	server, err := redisserver.Start(context.Background(), append([]string{"--appendonly", "yes", "--appendfsync", "no"}, settings...)...)
	if err != nil {
		coretest.Missing(t, "redis-server", err)
	}
	t.Cleanup(func() { require.NoError(t, server.Stop()) })
	return server
}

// newStillCluster makes a cluster of which no process runs: it takes commands.
func newStillCluster(t *testing.T, settings ...string) *testCluster {
	t.Helper()
	h := newClusterOn(t, newRedis(t).URL(), settings...)
	h.here = true
	return h
}

// newTestClusterOn makes one on the Redis that a URL names, with more settings.
func newTestClusterOn(t *testing.T, url string, settings ...string) *testCluster {
	t.Helper()
	path, err := program()
	require.NoError(t, err)
	h := newClusterOn(t, url, settings...)
	h.path = path
	t.Cleanup(func() {
		if t.Failed() { // VMs outlive the process that made them
			h.run("vmfactory", "--destroy-vms")
		}
	})
	if provider, err := local.New(local.Config{Run: h.cfg.Run}); err != nil || provider.Ready(context.Background()) != nil {
		coretest.Missing(t, "a kernel that lets us make VMs", err)
	}
	return h
}

func newClusterOn(t *testing.T, url string, settings ...string) *testCluster {
	t.Helper()
	scratch, err := service.NewScratch("drover-cluster-") // t.TempDir's names are too long for sockets
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, scratch.Remove()) })
	dir := scratch.Dir
	h := &testCluster{t: t, env: append([]string{
		"PATH=" + os.Getenv("PATH"), "DROVER_DATA=" + dir, "DROVER_REDIS=" + url, "DROVER_HOST=h1",
		"DROVER_BEAT=200ms", "DROVER_SUSPECT=600ms", "DROVER_DOWN=1s", "DROVER_POLL=200ms", "DROVER_SLOTS=4",
		"DROVER_SELF_TEST=off",
	}, settings...)}
	h.cfg, err = config.Load(nil, h.env)
	require.NoError(t, err)
	h.cluster, err = access.OpenCluster(context.Background(), h.cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.cluster.Close()) })
	return h
}

// process is one component.
type process struct {
	h    *testCluster
	cmd  *exec.Cmd
	out  *output
	done chan struct{}
}

// output is what a process says, readable while it runs.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

// String implements fmt.Stringer.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func (p *process) said() string { return p.out.String() }

// start starts a component, which is killed at the end of the test if it still runs.
func (h *testCluster) start(args ...string) *process {
	h.t.Helper()
	p := &process{h: h, cmd: exec.Command(h.path, args...), out: &output{}, done: make(chan struct{})}
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = h.env, p.out, p.out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(h.t, p.cmd.Start())
	go func() {
		_ = p.cmd.Wait() // how it ended, the test asks
		close(p.done)
	}()
	h.t.Cleanup(func() {
		p.signal(syscall.SIGKILL)
		<-p.done
		if h.t.Failed() {
			h.t.Logf("drover %v said:\n%s", args, p.out)
		}
	})
	return p
}

func (p *process) signal(s syscall.Signal) {
	_ = p.cmd.Process.Signal(s) // it may have ended already
}

// stop ends a process as an operator does and requires that it ends well. One that has
// not come so far as to say something does not obey signals yet.
func (p *process) stop() {
	p.h.t.Helper()
	await(p.h.t, "it starts", func() bool { return p.said() != "" })
	p.signal(syscall.SIGTERM)
	p.await()
	require.Zero(p.h.t, p.cmd.ProcessState.ExitCode(), "drover said:\n%s", p.out)
}

func (p *process) await() {
	p.h.t.Helper()
	select {
	case <-p.done:
	case <-time.After(testTimeout):
		p.h.t.Fatalf("%v does not end", p.cmd.Args)
	}
}

// kill ends a process as a power cut does.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.done
}

// run runs a command to its end.
func (h *testCluster) run(args ...string) (stdout, stderr string, code int) {
	h.t.Helper()
	if h.here {
		return h.types("", args...)
	}
	cmd := exec.Command(h.path, args...)
	var out, errs bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = h.env, &out, &errs
	_ = cmd.Run() // the code says how it ended
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// pool makes the pool that the tests use.
func (h *testCluster) pool() {
	h.t.Helper()
	p := core.DefaultPool("default")
	p.Warm, p.Max = 4, 6
	require.NoError(h.t, h.cluster.Intake.SetPool(context.Background(), p))
}

// submit submits n commands by several submitters and returns their ids.
func (h *testCluster) submit(n int, command ...string) []string {
	h.t.Helper()
	ids := make([]string, n)
	for i := range ids {
		row, created, err := h.cluster.Intake.Submit(context.Background(), core.Spec{
			Pool: "default", Submitter: fmt.Sprintf("s%d", i%7), Command: command,
		})
		require.NoError(h.t, err)
		require.True(h.t, created)
		ids[i] = row.Spec.ID
	}
	return ids
}

// unfinished counts requests that have no result yet, up to 1000.
func (h *testCluster) unfinished() int {
	h.t.Helper()
	left, err := h.cluster.Store.Unfinished(context.Background(), "", 1000)
	require.NoError(h.t, err)
	return len(left)
}

// awaitLeft waits until at most n requests have no result.
func (h *testCluster) awaitLeft(n int) {
	h.t.Helper()
	require.Eventually(h.t, func() bool { return h.unfinished() <= n }, testTimeout, 10*time.Millisecond)
}

// requireOnce requires that every request completed, was recorded once, and is nowhere in Redis.
func (h *testCluster) requireOnce(ids []string) {
	h.t.Helper()
	ctx := context.Background()
	for _, id := range ids {
		row, err := h.cluster.Store.Get(ctx, id)
		require.NoError(h.t, err)
		require.Equal(h.t, core.RequestCompleted, row.State, "%s: %+v", id, row.Result)
		tries, err := h.cluster.Store.Attempts(ctx, id)
		require.NoError(h.t, err)
		accepted := 0
		for _, a := range tries {
			if a.Accepted {
				accepted++
			}
		}
		require.Equal(h.t, 1, accepted, "results of %s", id)
	}
	require.Eventually(h.t, func() bool {
		return h.cluster.Redis.Client().Exists(ctx, h.cluster.Redis.Namespace().Key("specs")).Val() == 0
	}, testTimeout, 10*time.Millisecond, "Redis still has requests")
	broken, err := h.cluster.Redis.CheckConsistency(ctx)
	require.NoError(h.t, err)
	require.Empty(h.t, broken)
}

// requireNothingLeft destroys the VMs that are meant to stay, and requires that nothing else is there.
func (h *testCluster) requireNothingLeft() {
	h.t.Helper()
	_, errs, code := h.run("vmfactory", "--destroy-vms")
	require.Zero(h.t, code, errs)
	provider, err := local.New(local.Config{Run: h.cfg.Run})
	require.NoError(h.t, err)
	vms, err := provider.List(context.Background())
	require.NoError(h.t, err)
	require.Empty(h.t, vms, "VMs are left")
	require.NoError(h.t, provider.Close())
}

// The one whole way of make test, by the components as they are installed: an assignment is submitted, graded in a VM
// and shown.
func TestASubmissionIsGraded(t *testing.T) {
	t.Parallel()
	h := newTestCluster(t, neverLate)
	all := h.startAll("vmfactory", "testrunner", "overseer")
	for _, line := range []string{"pool set default", "user add ann", "class add cs101", "class enrol cs101 ann", "assignment add --harness " + ledgerHarness + " cs101/ledger"} {
		h.said(strings.Fields(line)...)
	}
	require.Contains(t, h.said("submit", "--as", "ann", "--to", "cs101/ledger", partlyRight), "8 of 12 points")
	own := jsonOf[[]classes.SubmissionEntry](h, "submission", "list", "--as", "ann")
	require.Len(t, own, 1)
	require.Contains(t, h.said("submission", "show", "--as", "ann", own[0].Submission.ID), "8 / 12")
	h.requireOnce([]string{own[0].Submission.Request})
	h.end(all...)
}

func TestProcessesKilledInTheMiddleLoseAndDoubleNothing(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t, append(lateSoon, selfTested)...)
	h.pool()
	factory, runner, watch := h.start("vmfactory"), h.start("testrunner"), h.start("overseer")
	second := h.start("testrunner")
	ids := h.submit(80, "sh", "-c", "echo hello; sleep 0.05")

	h.awaitLeft(70)
	runner.kill()
	runner = h.start("testrunner")
	h.awaitLeft(50)
	factory.kill()
	factory = h.start("vmfactory")
	h.awaitLeft(30)
	runner.kill()
	second.kill()
	factory.kill()
	factory, runner = h.start("vmfactory"), h.start("testrunner")
	h.awaitLeft(0)

	for _, p := range []*process{runner, factory, watch} {
		p.stop()
	}
	h.requireOnce(ids)
	h.requireNothingLeft()
}

func TestOverseerOnceTakesBackTheWorkOfTheDead(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t)
	h.pool()
	factory, runner := h.start("vmfactory"), h.start("testrunner")
	ids := h.submit(1, "sleep", "3600")
	ctx := context.Background()
	running := func() bool {
		place, err := h.cluster.Redis.Locate(ctx, core.Key(ids[0], 1))
		require.NoError(t, err)
		return place.State == core.RequestRunning
	}
	require.Eventually(t, running, testTimeout, 10*time.Millisecond)
	runner.kill()
	cron, err := filepath.Abs("../../scripts/overseer-cron")
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		cmd := exec.Command(cron)
		cmd.Env = append(h.env, "PATH="+filepath.Dir(h.path)+":"+os.Getenv("PATH"), "DROVER_LISTEN=127.0.0.1:8080", "DROVER_METRICS_LISTEN=127.0.0.1:9420")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Empty(t, string(out), "cron mails nothing")
		place, err := h.cluster.Redis.Locate(ctx, core.Key(ids[0], 1))
		require.NoError(t, err)
		return place.State == core.RequestQueued && place.Attempts == 1
	}, testTimeout, 100*time.Millisecond)
	runner = h.start("testrunner")
	require.Eventually(t, running, testTimeout, 10*time.Millisecond)
	_, errs, code := h.run("request", "cancel", ids[0])
	require.Zero(t, code, errs)
	h.awaitLeft(0)
	row, err := h.cluster.Store.Get(ctx, ids[0])
	require.NoError(t, err)
	require.Equal(t, core.RequestCancelled, row.State)
	require.Equal(t, 2, row.Result.Attempt)
	out, errs, code := h.run("overseer", "--once", "--json")
	require.Zero(t, code, errs)
	require.Contains(t, out, `"chore": "reap"`)
	runner.stop()
	factory.stop()
	h.requireNothingLeft()
}

func TestSIGTERMFinishesWhatIsInHand(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t)
	h.pool()
	factory, runner := h.start("vmfactory"), h.start("testrunner")
	ids := h.submit(4, "sh", "-c", "sleep 1; echo done")
	require.Eventually(t, func() bool {
		owners, err := h.cluster.Redis.ListOwners(context.Background())
		require.NoError(t, err)
		for _, o := range owners {
			if o.Role == core.RoleTestrunner && o.Slots > 0 {
				return true
			}
		}
		return false
	}, testTimeout, 5*time.Millisecond)
	runner.stop()
	owners, err := h.cluster.Redis.ListOwners(context.Background())
	require.NoError(t, err)
	for _, o := range owners {
		require.NotEqual(t, core.RoleTestrunner, o.Role, "it deregistered")
	}
	last := h.start("testrunner")
	h.awaitLeft(0)
	last.stop()
	factory.stop()
	for _, id := range ids {
		tries, err := h.cluster.Store.Attempts(context.Background(), id)
		require.NoError(t, err)
		require.Len(t, tries, 1, "no attempt was used by stopping")
	}
	h.requireOnce(ids)
	h.requireNothingLeft()
}

func TestTheWorkOfALostHostMovesToAnother(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t, lateSoon...)
	h.pool()
	ctx := context.Background()
	factory, runner, watch := h.start("vmfactory"), h.start("testrunner"), h.start("overseer")
	second, third := h.start("vmfactory", "--host", "h2"), h.start("testrunner", "--host", "h2")
	ids := h.submit(8, "sleep", "3")
	on := func(host string) int {
		n := 0
		owners, err := h.cluster.Redis.ListOwners(ctx)
		require.NoError(t, err)
		for _, o := range owners {
			if o.Host == host && o.Role == core.RoleTestrunner {
				n += o.Slots
			}
		}
		return n
	}
	require.Eventually(t, func() bool { return on("h1") > 0 && on("h2") > 0 }, testTimeout, 5*time.Millisecond)
	second.kill()
	third.kill()
	h.awaitLeft(0)
	hosts, err := h.cluster.Redis.ListHosts(ctx)
	require.NoError(t, err)
	states := map[string]core.HostState{}
	for _, host := range hosts {
		states[host.Name] = host.State
	}
	require.Equal(t, map[string]core.HostState{"h1": core.HostUp, "h2": core.HostDown}, states)
	moved := 0
	for _, id := range ids {
		row, err := h.cluster.Store.Get(ctx, id)
		require.NoError(t, err)
		if row.Result.Attempt > 1 {
			moved++
			require.Equal(t, "h1", row.Result.Host)
		}
	}
	require.Positive(t, moved)
	_, errs, code := h.run("host", "forget", "h2")
	require.Zero(t, code, errs)
	for _, p := range []*process{runner, factory, watch} {
		p.stop()
	}
	h.requireOnce(ids)
	h.requireNothingLeft()
	_, errs, code = h.run("vmfactory", "--host", "h2", "--destroy-vms")
	require.Zero(t, code, errs)
}
