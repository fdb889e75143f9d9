package testrunner_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent"
	"drover/core/coretest"
	"drover/core/service/clock"
	"drover/testrunner"
)

// lends grades by these tests, whose runs end with exit while others use so much of the host's two processors, and
// returns what each run was given, and the result.
func (w *fixture) lends(yaml string, exit agent.Exit, busy float64) ([]agent.Run, core.Result) {
	w.t.Helper()
	k := newKernel(w.t)
	var runs []agent.Run
	w.script.run = func(_ context.Context, _ int, run agent.Run, _ func(string, []byte)) (agent.Exit, error) {
		runs = append(runs, run)
		seconds := float64(exit.WallMs) / 1000
		k.pass(seconds, busy*seconds)
		return exit, nil
	}
	spec := w.stock(map[string]string{"cases.yaml": yaml})
	spec.Limits.Timeout = time.Minute
	w.submit(spec)
	w.cluster.AddVMs(w.t, 1)
	w.start(func(c *testrunner.Config, d *testrunner.Deps) { c.Proc, d.Clock = k.proc, clock.NewManual(time.Now()) })
	r := w.result()
	require.Equal(w.t, core.RequestCompleted, r.State, r.Reason)
	return runs, r
}

// A limit by the clock is put off on a busy host, no matter who has chosen it.
func TestALimitByTheClockIsPutOff(t *testing.T) {
	t.Parallel()
	for limits, want := range map[string]time.Duration{
		"time: 1":           2 * 15 * time.Second,
		"time: 1, wall: 15": 2 * 15 * time.Second,
	} {
		t.Run(limits, func(t *testing.T) {
			t.Parallel()
			runs, r := newFixture(t).lends(fmt.Sprintf("timeout: 60s\nrun: [prog]\nlimits: {%s}\ntests: [{}]", limits), agent.Exit{WallMs: 20_000, LostMs: 6000}, 0)
			require.Len(t, runs, 1)
			require.Equal(t, 15*time.Second, runs[0].Share.Timeout)
			require.Equal(t, want, runs[0].Stretch)
			require.Equal(t, int64(6000), r.Tests[0].Decision.LostMs)
			require.Equal(t, int64(15_000), r.Tests[0].Decision.WallMs)
		})
	}
}

// What runs lose to others does not count towards the time of the whole grading, up to as much again.
func TestTheWholeGradingsTimeIsPutOff(t *testing.T) {
	t.Parallel()
	const yaml = "timeout: 20s\nrun: [prog]\nlimits: {time: 5, wall: 100}\ntests: [{}, {}, {}, {}]"
	for name, test := range map[string]struct {
		exit agent.Exit
		busy float64
		want []float64 // seconds that are left
	}{
		"it computes":              {agent.Exit{CPUMs: 8000, WallMs: 8000}, 2, []float64{20, 20, 20, 20}},
		"others compute":           {agent.Exit{CPUMs: 2000, WallMs: 8000}, 2, []float64{20, 26, 32, 38}},
		"others compute now, then": {agent.Exit{CPUMs: 1000, WallMs: 8000}, 1, []float64{20, 23.5, 27, 30.5}},
		"nobody computes":          {agent.Exit{CPUMs: 0, WallMs: 8000}, 0, []float64{20, 20, 20, 20}},
		"others always compute":    {agent.Exit{CPUMs: 100, WallMs: 15_000}, 2, []float64{20, 34.9, 40, 40}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runs, _ := newFixture(t).lends(yaml, test.exit, test.busy)
			require.Len(t, runs, len(test.want))
			for i, run := range runs {
				require.InDelta(t, test.want[i], run.Share.Timeout.Seconds(), 0.3, "run %d", i+1)
				require.LessOrEqual(t, run.Stretch, 20*time.Second)
			}
		})
	}
}

// A run is cut off by the end of the whole grading where that comes before its own, and both are put off.
func TestARunAtTheEndOfTheWholeGrading(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		wall, until float64 // seconds
		want        core.DecidedBy
	}{
		"the whole's time is up": {8, 5, core.ByWhole},
		"its own is":             {4, 4, core.ByClock},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			yaml := fmt.Sprintf("timeout: 5s\nrun: [prog]\nlimits: {time: 1, wall: %g}\ntests: [{}]", test.wall)
			runs, r := newFixture(t).lends(yaml, agent.Exit{TimedOut: true, Signal: "SIGKILL", WallMs: 9000, LostMs: 4000}, 0)
			require.InDelta(t, test.until, runs[0].Share.Timeout.Seconds(), 0.001)
			require.InDelta(t, 5, runs[0].Stretch.Seconds(), 0.001, "all that the whole has to spare")
			require.Equal(t, test.want, r.Tests[0].Decision.By)
		})
	}
}

// What others did while a plain command, or a harness of its own, ran is in its receipt: it is not run again by itself.
func TestAReceiptSaysWhatOthersDid(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		busy float64
		want core.Doubt
		part int
	}{"a busy host": {1.8, core.DoubtBusy, 65}, "a quiet host": {0.6, "", 5}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			k, now := newKernel(t), clock.NewManual(time.Now())
			w.script.run = func(context.Context, int, agent.Run, func(string, []byte)) (agent.Exit, error) {
				k.pass(10, 10*test.busy)
				now.Advance(10 * time.Second)
				return agent.Exit{TimedOut: true, Signal: "SIGKILL", CPUMs: 5000, WallMs: 10_000}, nil
			}
			w.submit(coretest.Spec("r1", w.cluster.Pool, "ann"))
			w.cluster.AddVMs(t, 1)
			w.start(func(c *testrunner.Config, d *testrunner.Deps) { c.Proc, d.Clock = k.proc, now })
			r := w.result()
			require.Equal(t, core.RequestTimedOut, r.State)
			require.NotNil(t, r.Receipt.Noise.Others)
			require.Equal(t, test.part, *r.Receipt.Noise.Others)
			require.Equal(t, test.want, r.Receipt.Noise.Doubt)
		})
	}
}
