// Package loadtest measures what load does to verdicts, with a real testrunner and real VMs.
package loadtest

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/blobs"
	"drover/core/coretest"
	"drover/core/store/sqlite"
	"drover/testrunner"
	"drover/vmfactory/local"
)

// borderline is a program near one of its limits.
type borderline struct {
	name   string
	args   func(rounds int) string // rounds is how many use up the limit of processor time
	limits string                  // beside that
	want   string                  // the verdict
}

// flipTime is the limit of processor time of borderline programs.
const flipTime = 400 * time.Millisecond

// borderlines are the programs; the memory that a program has beside what it asks for is under a MiB.
func borderlines() []borderline {
	var all []borderline
	near := func(what string, part float64, limits, want string) {
		name := fmt.Sprintf("%s %.2f × time", what, part) + limits
		all = append(all, borderline{name, func(rounds int) string { return fmt.Sprintf("%s, %d", what, int(part*float64(rounds))) }, limits, want})
	}
	for _, part := range []float64{0.5, 0.8, 0.95} {
		near("compute", part, "", core.TestAccepted)
	}
	for _, part := range []float64{1.05, 1.2, 1.5} {
		near("compute", part, "", core.TestTimeLimit)
	}
	near("threads", 0.8, "", core.TestAccepted)
	near("threads", 1.2, "", core.TestTimeLimit)
	near("files", 0.5, "", core.TestAccepted)
	near("compute", 0.5, ", wall: 0.5", core.TestAccepted)
	fixed := func(name, args, limits, want string) {
		all = append(all, borderline{name, func(int) string { return args }, limits, want})
	}
	fixed("memory, 1 MiB under", "memory, "+strconv.Itoa(31<<20-1<<19), ", memory: 32M", core.TestAccepted)
	fixed("memory, 1 MiB over", "memory, "+strconv.Itoa(33<<20), ", memory: 32M", core.TestMemoryLimit)
	fixed("sleep 0.90 × wall", "sleep, 450", ", wall: 0.5", core.TestAccepted)
	fixed("sleep 1.20 × wall", "sleep, 600", ", wall: 0.5", core.TestTimeLimit)
	return all
}

// flips grades borderline programs in real VMs.
type flips struct {
	b       *testing.B
	cluster *coretest.Cluster
	output  core.Output
	store   *ledger
	blobs   core.Blobs
	vms     *local.Provider
	run     string // the VMs' folders
	prog    core.File

	mu   sync.Mutex // of the cluster's names
	next int
}

// ledger is a result store that tells of results.
type ledger struct {
	core.ResultStore
	told sync.Map // id → chan core.Result
}

func (l *ledger) Record(ctx context.Context, r core.Result) (bool, error) {
	first, err := l.ResultStore.Record(ctx, r)
	if wait, ok := l.told.Load(r.ID); ok && first {
		wait.(chan core.Result) <- r //nolint:forcetypeassert // it holds no others
	}
	return first, err
}

// alone is no load, and no drover: what the host itself does to programs that compute.
const alone = "by itself"

// BenchmarkFlips counts how often a verdict on a borderline program is not the one that its author would give: of the
// program by itself, without drover; on the host as it is, while programs outside of drover keep all processors busy for
// 95 % of the time, and while other gradings of the same testrunner do, in turns; of first runs, whose verdicts would
// count without further ones, and of results. The programs are calibrated before each part, so that it shows what load
// does and not how the host's speed has changed since. Run it with -benchtime 20x; DROVER_FLIPS names the loads, all if it
// is empty.
func BenchmarkFlips(b *testing.B) {
	f, program := newFlips(b)
	programs := borderlines()
	counts := map[string]*tally{}
	var order []string
	loads := []string{alone, "as it is", "outside", "gradings"}
	if named := os.Getenv("DROVER_FLIPS"); named != "" {
		loads = strings.Split(named, ",")
	}
	for b.Loop() {
		for _, load := range loads {
			first, last := load+", first runs", load
			if counts[last] == nil {
				counts[first], counts[last] = &tally{flips: map[string]map[string]int{}}, &tally{flips: map[string]map[string]int{}}
				order = append(order, first, last)
			}
			rounds := calibrate(b, program)
			if load == alone {
				byThemselves(b, program, rounds, programs, counts[first], counts[last])
			} else {
				f.round(load, program, rounds, programs, counts[first], counts[last])
			}
		}
	}
	fmt.Fprint(os.Stdout, "\n"+table(order, programs, counts)) // what a benchmark logs is cut off
}

func newFlips(b *testing.B) (*flips, string) {
	b.Helper()
	compiler, err := exec.LookPath("cc")
	if err != nil {
		b.Skip("no C compiler")
	}
	program := filepath.Join(b.TempDir(), "borderline")
	if out, err := exec.CommandContext(b.Context(), compiler, "-O1", "-static", "-pthread", "-o", program, "testdata/borderline.c").CombinedOutput(); err != nil {
		b.Skipf("compile: %s", out)
	}
	redis := coretest.Mini(b).Open(b)
	store, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "ledger.db"), sqlite.Options{})
	require.NoError(b, err)
	b.Cleanup(func() { _ = store.Close() })
	f := &flips{
		b: b, run: b.TempDir(), cluster: coretest.NewCluster(b, redis, "h1", "p1"), output: redis, store: &ledger{ResultStore: store},
	}
	f.blobs, err = blobs.Open(b.Context(), "mem://")
	require.NoError(b, err)
	f.vms, err = local.New(local.Config{Run: f.run})
	require.NoError(b, err)
	b.Cleanup(func() { _ = f.vms.Close() })
	if err := f.vms.Ready(b.Context()); err != nil {
		b.Skip(err)
	}
	text, err := os.ReadFile(program)
	require.NoError(b, err)
	f.prog = f.put("prog", text)
	f.prog.Mode = 0o755
	return f, program
}

// computed returns the processor time that a program takes by itself.
func computed(b *testing.B, program string, args ...string) time.Duration {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), program, args...)
	require.NoError(b, cmd.Run())
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// calibrate returns how many rounds use up the limit of time: by the median of some runs.
func calibrate(b *testing.B, program string) int {
	b.Helper()
	const rounds, tries = 200_000_000, 9
	var took []time.Duration
	for range tries {
		took = append(took, computed(b, program, "compute", strconv.Itoa(rounds)))
	}
	slices.Sort(took)
	return int(float64(rounds) * float64(flipTime) / float64(took[tries/2]))
}

func (f *flips) put(path string, content []byte) core.File {
	digest, size, err := f.blobs.Put(context.Background(), bytes.NewReader(content), int64(len(content)))
	require.NoError(f.b, err)
	return core.File{Path: path, Digest: digest, Size: size}
}

// grade grades the program by these tests, in a VM of its own.
func (f *flips) grade(yaml string) core.Result {
	ctx := context.Background()
	var tests bytes.Buffer
	archive := tar.NewWriter(&tests)
	require.NoError(f.b, archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "cases.yaml", Mode: 0o644, Size: int64(len(yaml))}))
	_, err := archive.Write([]byte(yaml))
	require.NoError(f.b, err)
	require.NoError(f.b, archive.Close())
	file := f.put("stock", tests.Bytes())

	f.mu.Lock()
	f.next++
	spec := coretest.Spec("r"+strconv.Itoa(f.next), f.cluster.Pool, "ann")
	vm := f.cluster.NameVM()
	f.mu.Unlock()
	spec.Command, spec.Harness, spec.Files = nil, &file, []core.File{f.prog}
	spec.Input, spec.Limits.Timeout = []byte(`{"drover/stock":"cases"}`), time.Minute
	wait := make(chan core.Result, 1)
	f.store.told.Store(spec.ID, wait)
	_, _, err = f.store.Create(ctx, spec)
	require.NoError(f.b, err)
	f.cluster.Submit(f.b, spec)
	require.NoError(f.b, f.vms.Create(ctx, vm, core.DefaultPool(f.cluster.Pool)))
	require.NoError(f.b, f.vms.Prepare(ctx, vm))
	f.cluster.AddVM(f.b, vm)
	r := <-wait
	require.Equal(f.b, core.RequestCompleted, r.State, r.Reason)
	require.NoError(f.b, f.vms.Destroy(ctx, r.VM))
	return r
}

// start starts a testrunner; the returned function lets it finish its requests and end.
func (f *flips) start() (drain func()) {
	log := logrus.New()
	log.SetOutput(io.Discard)
	cfg := testrunner.Config{
		Registration: core.Registration{Owner: f.cluster.Runner, Host: f.cluster.Host, Machine: "m-h1", PID: 1, Version: "test", Beat: time.Minute},
		Pools:        []string{f.cluster.Pool}, Slots: 1 + runtime.NumCPU(), RunDir: f.run, SpoolDir: filepath.Join(f.b.TempDir(), "spool"),
		Poll: 20 * time.Millisecond, HandOver: time.Millisecond,
	}
	r, err := testrunner.New(cfg, testrunner.Deps{
		Owners: f.cluster.Store, Claims: f.cluster.Store, Pools: f.cluster.Store, Output: f.output, Store: f.store, Blobs: f.blobs, Log: log,
	})
	require.NoError(f.b, err)
	ended := make(chan error, 1)
	go func() { ended <- r.Run(context.Background()) }()
	return func() {
		r.Drain()
		require.NoError(f.b, <-ended)
	}
}

// round grades each program once.
func (f *flips) round(load, program string, rounds int, programs []borderline, first, last *tally) {
	drain := f.start()
	var loads sync.WaitGroup
	ctx, calm := context.WithCancel(f.b.Context())
	for range runtime.NumCPU() {
		switch load {
		case "outside":
			loads.Go(func() { _ = exec.CommandContext(ctx, program, "load", "600000").Run() })
		case "gradings":
			const some = 10
			yaml := "run: [./prog]\nlimits: {time: 5}\ntests:\n" + strings.Repeat("  - {args: [load, 200]}\n", some)
			loads.Go(func() {
				for ctx.Err() == nil {
					f.grade(yaml)
				}
			})
		}
	}
	for i := range programs {
		p := &programs[i]
		r := f.grade(fmt.Sprintf("run: [./prog]\nlimits: {time: %g%s}\ntests: [{args: [%s]}]", flipTime.Seconds(), p.limits, p.args(rounds)))
		first.first(p, &r)
		last.add(p, &r)
	}
	calm()
	loads.Wait()
	drain()
}

// byThemselves judges programs that compute by their processor time alone, and by the fastest of as many runs as a test
// that is close may have.
func byThemselves(b *testing.B, program string, rounds int, programs []borderline, first, last *tally) {
	b.Helper()
	const most = 6
	judged := func(took time.Duration) *core.Test {
		t := &core.Test{Verdict: core.TestAccepted, Usage: &core.Usage{CPUMs: took.Milliseconds()}}
		if took > flipTime {
			t.Verdict = core.TestTimeLimit
		}
		return t
	}
	for i := range programs {
		p := &programs[i]
		if !strings.HasPrefix(p.args(rounds), "compute") || strings.Contains(p.limits, "wall") {
			continue
		}
		args := strings.Split(p.args(rounds), ", ")
		took := computed(b, program, args...)
		first.runs, last.runs = first.runs+1, last.runs+1
		first.count(p, judged(took))
		for n := 1; n < most && took > flipTime; n++ {
			took = min(took, computed(b, program, args...))
		}
		last.count(p, judged(took))
	}
}

// tally counts the flips of programs by cause, and what second runs cost.
type tally struct {
	runs, again, left int
	cpu, extra        int64 // ms, of all runs and of those that count for nothing
	flips             map[string]map[string]int
}

// first counts the verdict of the first run.
func (t *tally) first(p *borderline, r *core.Result) {
	one := r.Tests[0]
	if c := one.Checked; c != nil && c.Again != nil {
		one.Verdict, one.Usage = c.Verdict, c.Usage
	}
	t.runs++
	t.count(p, &one)
}

func (t *tally) add(p *borderline, r *core.Result) {
	one := &r.Tests[0]
	t.runs++
	t.cpu += r.Usage.CPUMs
	if c := one.Checked; c != nil && c.Again != nil {
		t.again += c.Runs
		t.extra += r.Usage.CPUMs - one.Usage.CPUMs
	} else if c != nil {
		t.left++
	}
	t.count(p, one)
}

// count counts a flip.
func (t *tally) count(p *borderline, one *core.Test) {
	if one.Verdict == p.want {
		return
	}
	cause := one.Verdict // by time: its processor time grew; by the clock: it had no processor
	if one.Verdict == core.TestTimeLimit && one.Usage.CPUMs >= flipTime.Milliseconds() {
		cause = "time"
	} else if one.Verdict == core.TestTimeLimit {
		cause = "clock"
	}
	if t.flips[p.name] == nil {
		t.flips[p.name] = map[string]int{}
	}
	t.flips[p.name][cause]++
}

// table has a row for each program, and a column for each way to run it.
func table(order []string, programs []borderline, counts map[string]*tally) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(name string, cell func(*tally) string) {
		fmt.Fprint(w, name)
		for _, key := range order {
			fmt.Fprint(w, "\t", cell(counts[key]))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w, "program\t"+strings.Join(order, "\t"))
	for i := range programs {
		row(programs[i].name, func(t *tally) string { return causes(t.flips[programs[i].name]) })
	}
	row("flips", func(t *tally) string {
		n := 0
		for _, all := range t.flips {
			for _, k := range all {
				n += k
			}
		}
		return fmt.Sprintf("%d of %d", n, t.runs)
	})
	row("further runs", func(t *tally) string { return fmt.Sprintf("%d, %d not", t.again, t.left) })
	row("their processor time", func(t *tally) string { return fmt.Sprintf("%.1f %%", 100*float64(t.extra)/float64(max(t.cpu, 1))) })
	_ = w.Flush()
	return b.String()
}

func causes(all map[string]int) string {
	var parts []string
	for cause, n := range all {
		parts = append(parts, fmt.Sprintf("%d %s", n, cause))
	}
	slices.Sort(parts)
	if len(parts) == 0 {
		return "0"
	}
	return strings.Join(parts, ", ")
}
