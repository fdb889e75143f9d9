package testrunner_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent"
	"drover/core/coretest"
	"drover/core/harness"
	"drover/testrunner"
)

// kernel is a host's count of what its two processors did, as a test says. It is written by one VM at a time.
type kernel struct {
	t           *testing.T
	proc        string
	busy, total int64 // hundredths of a second
}

func newKernel(t *testing.T) *kernel {
	t.Helper()
	k := &kernel{t: t, proc: t.TempDir()}
	k.pass(0, 0)
	return k
}

// pass lets so many seconds pass, in which processors were busy for so many.
func (k *kernel) pass(seconds, busy float64) {
	k.t.Helper()
	k.busy, k.total = k.busy+int64(100*busy), k.total+int64(200*seconds)
	text := fmt.Sprintf("cpu  %d 0 0 %d 0 0 0 0 0 0\n", k.busy, k.total-k.busy)
	require.NoError(k.t, os.WriteFile(filepath.Join(k.proc, "stat"), []byte(text), 0o600))
}

// turn is one run: what it says, and how busy the processors were while it ran.
type turn struct {
	exit agent.Exit
	says string
	busy float64 // seconds of processor, in two seconds
}

// graded grades by these turns of each test's program, and returns the result and what the VM did.
func (w *fixture) graded(yaml string, turns map[string][]turn) (core.Result, []string) {
	w.t.Helper()
	k := newKernel(w.t)
	w.script.run = func(_ context.Context, _ int, run agent.Run, sink func(string, []byte)) (agent.Exit, error) {
		word := run.Args[0]
		require.NotEmpty(w.t, turns[word], "%s runs too often", word)
		require.Equal(w.t, 1100*time.Millisecond, run.CPU, "a tenth more than the limit of one second")
		now := turns[word][0]
		turns[word] = turns[word][1:]
		sink(agent.Stdout, []byte(now.says))
		k.pass(2, now.busy)
		return now.exit, nil
	}
	w.submit(w.stock(map[string]string{"cases.yaml": yaml}))
	w.cluster.AddVMs(w.t, 1)
	w.start(func(c *testrunner.Config, _ *testrunner.Deps) { c.Proc = k.proc })
	r := w.result()
	require.Equal(w.t, core.RequestCompleted, r.State, r.Reason)
	w.mu.Lock()
	defer w.mu.Unlock()
	require.Len(w.t, w.vms, 1)
	return r, w.vms[0].did
}

var (
	tooSlow = agent.Exit{Code: 137, Signal: "SIGKILL", TimedOut: true, CPUMs: 1105, WallMs: 2000}
	soon    = agent.Exit{CPUMs: 1040, WallMs: 1100} // ended by itself, a little late
	inTime  = agent.Exit{CPUMs: 900, WallMs: 950}
)

const once = "run: [prog]\nlimits: {time: 1, wall: 4}\ntests: [{name: a, output: right}]"

// A test that was too slow on a busy host runs again, from the beginning and before anybody sees a verdict.
func TestATestRunsAgainAfterNoise(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	r, did := w.graded(once, map[string][]turn{"prog": {{tooSlow, "ri", 3}, {inTime, "right", 1}}})
	require.Equal(t, harness.Passed, harness.VerdictOf(&r))
	require.Equal(t, []string{"stage work prog", "keep built", "reset built", "run prog", "reset built", "run prog"}, did)
	checked := r.Tests[0].Checked
	require.NotNil(t, checked)
	require.Equal(t, core.DoubtBusy, checked.Because)
	require.Equal(t, core.TestTimeLimit, checked.Verdict)
	require.Equal(t, int64(1105), checked.Usage.CPUMs)
	require.Equal(t, 47, checked.Others, "without what the test used itself")
	require.Equal(t, 2, *checked.Again)
	require.Equal(t, int64(900), r.Tests[0].Usage.CPUMs)
	require.Equal(t, int64(2005), r.Usage.CPUMs, "of both runs")
	require.Equal(t, int64(1105), r.Receipt.AgainMs)
	require.InDelta(t, 1.105, coretest.SumMetric(t, w.runner.metrics, "drover_testrunner_recheck_cpu_seconds_total"), 1e-9, "of the first run, which counts for nothing")
	for _, chunk := range w.output.seen(core.StreamTests) {
		require.NotContains(t, string(chunk.Data), "t", "nobody saw the first verdict")
	}
}

// A verdict counts if its run was in no doubt, and in any case that of the third run, or of the sixth if it was always close.
func TestUntilAVerdictIsInNoDoubt(t *testing.T) {
	t.Parallel()
	loud, still := turn{tooSlow, "", 3}, turn{tooSlow, "", 1}
	fast, near := turn{inTime, "right", 3}, turn{soon, "right", 1}
	for name, test := range map[string]struct {
		turns []turn
		want  string
		runs  int
	}{
		"slow on a quiet host":         {[]turn{loud, still, fast}, core.TestTimeLimit, 1},
		"fast on a noisy one":          {[]turn{loud, fast, loud}, core.TestAccepted, 1},
		"fast the third time":          {[]turn{loud, loud, fast}, core.TestAccepted, 2},
		"slow three times, never four": {[]turn{loud, loud, loud, fast}, core.TestTimeLimit, 2},
		"close on a quiet host":        {[]turn{near, near, near, near, fast}, core.TestAccepted, 4},
		"close six times, never seven": {[]turn{near, near, near, near, near, near, fast}, core.TestTimeLimit, 5},
		"close, then slow in quiet":    {[]turn{near, still, fast}, core.TestTimeLimit, 1},
		"close, then slow in noise":    {[]turn{near, near, loud, fast}, core.TestTimeLimit, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			r, _ := w.graded(once, map[string][]turn{"prog": test.turns})
			require.Equal(t, test.want, r.Tests[0].Verdict)
			require.Equal(t, test.runs, r.Tests[0].Checked.Runs)
			require.Equal(t, core.TestTimeLimit, r.Tests[0].Checked.Verdict)
		})
	}
}

// Noise that a submission makes itself is none, nor is a rerun to be had by sleeping.
func TestASubmissionCannotMakeNoise(t *testing.T) {
	t.Parallel()
	forks := tooSlow
	forks.CPUMs = 1450 // on both processors
	sleeps := agent.Exit{Code: 137, Signal: "SIGKILL", TimedOut: true, CPUMs: 10, WallMs: 4000}
	waitsForItself := agent.Exit{Code: 137, Signal: "SIGKILL", TimedOut: true, CPUMs: 990, WallMs: 4000, WaitedMs: 3900}
	for name, one := range map[string]turn{
		"many processes": {forks, "", 1.5}, "it sleeps on a busy host": {sleeps, "", 3.9}, "its processes wait for each other": {waitsForItself, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			r, _ := w.graded(once, map[string][]turn{"prog": {one}})
			require.Equal(t, core.TestTimeLimit, r.Tests[0].Verdict)
			require.Nil(t, r.Tests[0].Checked)
		})
	}
}

// A submission that is slow in all tests costs four more runs, not three times the time.
func TestSecondRunsAreBounded(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	const tests = 10
	var all []turn
	for range tests + 4 {
		all = append(all, turn{tooSlow, "", 3})
	}
	r, did := w.graded("run: [prog]\nlimits: {time: 1, wall: 4}\ntests:\n"+strings.Repeat("  - {output: right}\n", tests), map[string][]turn{"prog": all})
	require.Equal(t, tests+4, strings.Count(strings.Join(did, "\n"), "run prog"))
	left := 0
	for _, one := range r.Tests {
		require.Equal(t, core.TestTimeLimit, one.Verdict)
		require.NotNil(t, one.Checked)
		if one.Checked.Left == core.LeftSlow {
			left++
			require.Nil(t, one.Checked.Again)
		}
	}
	require.Equal(t, tests-2, left)
}

// A run that the clock ended because it had no processor runs again, with the same limit: its VM puts that off by itself.
func TestARunThatHadNoProcessor(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	starved := agent.Exit{Code: 137, Signal: "SIGKILL", TimedOut: true, CPUMs: 500, WallMs: 4000, WaitedMs: 3000}
	r, _ := w.graded(once, map[string][]turn{"prog": {{starved, "", 3.9}, {inTime, "right", 3.9}}})
	require.Equal(t, core.TestAccepted, r.Tests[0].Verdict)
	require.Equal(t, core.DoubtBusy, r.Tests[0].Checked.Because)
	w.mu.Lock()
	defer w.mu.Unlock()
	require.InDelta(t, 4, w.vms[0].ran.Share.Timeout.Seconds(), 0.01)
}
