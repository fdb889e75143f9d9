package examples_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent"
	"drover/core/coretest"
	"drover/core/coretest/tier"
	"drover/core/harness"
	"drover/core/service/guard"
	"drover/core/store/sqlite/sqlitetest"
	"drover/examples"
	"drover/testrunner"
	"drover/vmfactory/local"
	"drover/vmfactory/providertest/programs"
)

// assignment is what the files beside a harness say.
type assignment struct {
	Name  string    `json:"name"`
	Title string    `json:"title"`
	Needs []string  `json:"needs"`
	Pool  core.Pool `json:"pool"`
}

// expectation is an assignment's expected.json.
type expectation struct {
	MaxScore    float64      `json:"max_score"`
	Submissions []submission `json:"submissions"`
}

// submission is what becomes of one.
type submission struct {
	Name    string            `json:"name"`
	Verdict harness.Verdict   `json:"verdict"`
	State   core.RequestState `json:"state"`
	Blame   core.Blame        `json:"blame"`
	Score   *[2]float64       `json:"score"`
	About   string            `json:"about"`
	Slow    bool              `json:"slow"`
}

func load(t *testing.T, name string, into any) {
	t.Helper()
	raw, err := examples.Files.ReadFile(name)
	require.NoError(t, err)
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(into))
}

func assignments(t *testing.T) []string {
	t.Helper()
	entries, err := examples.Files.ReadDir(".")
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	require.NotEmpty(t, names)
	return names
}

func TestLayout(t *testing.T) {
	t.Parallel()
	for _, name := range assignments(t) {
		var about assignment
		about.Pool = core.DefaultPool("unset")
		load(t, name+"/assignment.json", &about)
		assert.Equal(t, name, about.Name)
		assert.NotEmpty(t, about.Title)
		require.NoError(t, about.Pool.Check())
		pack, err := harness.Pack(filepath.Join(name, "harness"))
		require.NoError(t, err)
		limit := pack.Config.Timeout
		if pack.Cases != nil {
			limit = pack.Cases.Timeout
		}
		assert.Positive(t, limit)
		assert.LessOrEqual(t, limit, about.Pool.Limits.Timeout)

		var want expectation
		load(t, name+"/expected.json", &want)
		folders, err := examples.Files.ReadDir(name + "/submissions")
		require.NoError(t, err)
		var there, named []string
		for _, f := range folders {
			there = append(there, f.Name())
		}
		for _, s := range want.Submissions {
			named = append(named, s.Name)
			assert.NotEmpty(t, s.About, s.Name)
			assert.True(t, s.State.Terminal(), s.Name)
		}
		assert.ElementsMatch(t, there, named, "each submission is expected once")
		assert.GreaterOrEqual(t, len(named), 8)
	}
}

// Grading the examples gives what they expect.
func TestGrading(t *testing.T) { //nolint:paralleltest // it has the machine for itself
	tier.OnlyInAll(t, tier.Long)
	grade(t, "", assignments(t), func(submission) bool { return true })
}

// One submission that passes and one that fails, with one VM and with two for each.
func TestRightAndWrongAreGraded(t *testing.T) {
	t.Parallel()
	grade(t, "", []string{"ledger", "shuffle"}, func(s submission) bool { return s.Name == "right" || s.Verdict == harness.Failed })
}

// Whatever holds the limits, submissions meet the same ones: without cgroups, and as an ordinary user.
func TestLimitsOfExamples(t *testing.T) { //nolint:paralleltest // each way has the machine for itself
	tier.OnlyInAll(t, tier.Long)
	t.Run("without cgroups", func(t *testing.T) {
		grade(t, local.CgroupsOff, []string{"brackets", "shuffle"}, func(s submission) bool {
			return s.Name == "right" || strings.HasSuffix(string(s.Verdict), "limit")
		})
	})
	t.Run("as an ordinary user", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("that is what we are")
		}
		again(t)
	})
}

const nobody = 65534

// again runs TestLimitsOfExamples in a process of an ordinary user, who has no cgroups.
func again(t *testing.T) {
	t.Helper()
	home, err := os.MkdirTemp("/tmp", "drover-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(home)) })
	require.NoError(t, os.CopyFS(filepath.Join(home, "examples"), os.DirFS(".")))
	self, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	require.NoError(t, guard.WriteProgram(t.Context(), filepath.Join(home, "test"), self))
	programs.Copy(t, home)
	require.NoError(t, filepath.WalkDir(home, func(at string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chown(at, nobody, nobody))
	}))
	cmd := exec.CommandContext(t.Context(), filepath.Join(home, "test"), "-test.run=^TestLimitsOfExamples$/^without_cgroups$", "-test.v")
	cmd.Dir, cmd.Env = filepath.Join(home, "examples"), []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + home, "CI=" + os.Getenv("CI"), programs.Known + "=" + home}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	t.Log(string(out))
	require.NoError(t, err)
}

// grade grades some submissions of some examples with VMs of the local provider.
func grade(t *testing.T, cgroup string, names []string, some func(submission) bool) {
	t.Helper()
	run, provider := host(t, cgroup)
	for _, name := range names {
		t.Run(name, func(t *testing.T) { gradeOne(t, name, run, provider, some) })
	}
}

// host returns the run folder of a host, and what makes VMs there.
func host(t *testing.T, cgroup string) (run string, provider *local.Provider) {
	t.Helper()
	run = filepath.Join(t.TempDir(), "run")
	provider, err := local.New(local.Config{Run: run, Agent: programs.Agent(t), TieToProcess: true, Cgroup: cgroup})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, provider.Close()) })
	if err := provider.Ready(t.Context()); err != nil {
		coretest.Missing(t, "a machine that can make VMs", err)
	}
	for _, l := range provider.Limits() {
		t.Logf("%s is held by %q %s", l.Name, l.HeldBy, l.Note)
	}
	return run, provider
}

func gradeOne(t *testing.T, name, run string, provider *local.Provider, some func(submission) bool) {
	t.Helper()
	about := assignment{Pool: core.DefaultPool("unset")}
	var want expectation
	load(t, name+"/assignment.json", &about)
	if lacks := examples.Lacking(about.Needs); len(lacks) > 0 {
		coretest.Missing(t, "what the submissions are written for", fmt.Errorf("no %s", strings.Join(lacks, ", ")))
	}
	load(t, name+"/expected.json", &want)
	want.Submissions = slices.DeleteFunc(want.Submissions, func(s submission) bool { return !some(s) })
	require.NotEmpty(t, want.Submissions)
	files := &blobs{files: map[string][]byte{}}
	pack, err := harness.Pack(filepath.Join(name, "harness"))
	require.NoError(t, err)
	submitted := map[string][]core.File{}
	for _, s := range want.Submissions {
		submitted[s.Name] = files.submission(t, path.Join(name, "submissions", s.Name))
	}
	results := gradings(t, run, provider, about.Pool, pack, files, submitted)
	for _, s := range want.Submissions {
		got := results[s.Name]
		t.Logf("%-14s %-14s %6d ms, CPU %6d ms, %4d MiB  %s", s.Name, harness.VerdictOf(got), got.Usage.WallMs, got.Usage.CPUMs,
			got.Usage.MemoryPeakBytes>>20, got.Reason)
		assert.Equal(t, s.Verdict, harness.VerdictOf(got), s.Name)
		assert.Equal(t, s.State, got.State, s.Name)
		assert.Equal(t, s.Blame, got.Blame, s.Name)
		assert.Equal(t, 1, got.Attempt, s.Name)
		if s.Score == nil {
			assert.Nil(t, got.Score, s.Name)
		} else if assert.NotNil(t, got.Score, s.Name) {
			assert.GreaterOrEqual(t, *got.Score, s.Score[0], s.Name)
			assert.LessOrEqual(t, *got.Score, s.Score[1], s.Name)
			assert.InDelta(t, want.MaxScore, *got.MaxScore, 0, s.Name)
		}
		if t.Failed() {
			t.Logf("%s: %s %s", s.Name, got.Stdout, got.Stderr)
		}
	}
}

// gradings grades submissions, by their names, with a harness in VMs of a pool.
func gradings(t *testing.T, run string, provider *local.Provider, pool core.Pool, pack harness.Package, files *blobs, submitted map[string][]core.File) map[string]*core.Result {
	t.Helper()
	ctx := t.Context()
	redis := coretest.Mini(t).Open(t)
	cluster := coretest.NewCluster(t, redis, "h1", pool.Name)
	cluster.Peers = pool.Peer
	store := sqlitetest.Open(t)
	tar, err := io.ReadAll(pack.Tar())
	require.NoError(t, err)
	for name, submission := range submitted {
		spec := coretest.Spec("r-"+name, pool.Name, name)
		spec.Command, spec.Limits, spec.Assignment = nil, pool.Limits, "exercise"
		spec.Submitted = time.Now().UnixMilli()
		archive := files.put("harness.tar", tar)
		spec.Harness, spec.Input, spec.Files = &archive, harness.NewInput(pack.Config, harness.TestPublic), submission
		_, _, err := store.Create(ctx, spec)
		require.NoError(t, err)
		cluster.Submit(t, spec)
	}
	vms := cluster.AddVMs(t, 3*len(submitted))
	t.Cleanup(func() {
		for _, vm := range vms {
			require.NoError(t, provider.Destroy(context.Background(), vm))
			if peer := core.PeerOf(vm); peer != "" {
				require.NoError(t, provider.Destroy(context.Background(), peer))
			}
		}
	})
	log := logrus.New()
	log.SetOutput(t.Output())
	runner, err := testrunner.New(testrunner.Config{
		Registration: core.Registration{Owner: cluster.Runner, Host: cluster.Host, Machine: "m-h1", PID: os.Getpid(), Version: "test", Beat: time.Minute},
		Pools:        []string{pool.Name}, Slots: 3, RunDir: run, SpoolDir: filepath.Join(t.TempDir(), "spool"),
	}, testrunner.Deps{
		Owners: redis, Claims: redis, Pools: redis, Output: redis, Store: store, Blobs: files, Log: log,
		Dial: func(dir string) (testrunner.VM, error) { return makeVM(ctx, provider, dir, pool) },
	})
	require.NoError(t, err)
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- runner.Run(running) }()
	defer func() {
		stop()
		require.NoError(t, <-ended)
	}()
	results := map[string]*core.Result{}
	for name := range submitted {
		require.Eventually(t, func() bool {
			row, err := store.Get(ctx, "r-"+name)
			require.NoError(t, err)
			results[name] = row.Result
			return row.Result != nil
		}, 5*time.Minute, 10*time.Millisecond, name)
	}
	return results
}

// makeVM makes a VM at the moment in which it is needed.
func makeVM(ctx context.Context, provider *local.Provider, dir string, pool core.Pool) (testrunner.VM, error) {
	id := filepath.Base(dir)
	if err := provider.Create(ctx, id, pool); err != nil {
		return nil, err
	}
	if err := provider.Prepare(ctx, id); err != nil {
		return nil, err
	}
	return agent.Dial(dir)
}

// blobs are files in memory.
type blobs struct {
	core.Blobs
	mu    sync.Mutex
	files map[string][]byte
}

func (b *blobs) put(name string, content []byte) core.File {
	b.mu.Lock()
	defer b.mu.Unlock()
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(content))
	b.files[digest] = content
	return core.File{Path: name, Digest: digest, Size: int64(len(content))}
}

// submission stores all files of a folder.
func (b *blobs) submission(t *testing.T, folder string) []core.File {
	t.Helper()
	var all []core.File
	require.NoError(t, fs.WalkDir(examples.Files, folder, func(at string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := examples.Files.ReadFile(at)
		all = append(all, b.put(strings.TrimPrefix(at, folder+"/"), content))
		return err
	}))
	return all
}

func (b *blobs) Open(_ context.Context, digest string) (io.ReadCloser, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	content, ok := b.files[digest]
	if !ok {
		return nil, core.Errorf(core.CodeNotFound, digest, "no file %s", digest)
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}

func (b *blobs) Ping(context.Context) error { return nil }
