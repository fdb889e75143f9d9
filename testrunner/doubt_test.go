package testrunner

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent"
	"drover/core/harness/cases"
)

// Only verdicts that noise can make are in doubt, and only where there was noise that others made.
func TestDoubt(t *testing.T) {
	t.Parallel()
	limits := cases.Limits{Time: time.Second, Wall: 15 * time.Second}
	over := agent.Exit{TimedOut: true, CPUMs: 1100, WallMs: 2000}
	starved := agent.Exit{TimedOut: true, CPUMs: 400, WallMs: 15_000, WaitedMs: 9000}
	for name, test := range map[string]struct {
		by    core.DecidedBy
		exit  agent.Exit
		noise noise
		want  core.Doubt
	}{
		"over its time in quiet":                 {core.ByTime, over, noise{others: 3, stolen: 1}, ""},
		"over its time, others were busy":        {core.ByTime, over, noise{others: 50}, core.DoubtBusy},
		"over its time, just below busy":         {core.ByTime, over, noise{others: othersPart - 1}, ""},
		"over its time, time was stolen":         {core.ByTime, over, noise{others: 50, stolen: stolenPart}, core.DoubtStolen},
		"over its time, and it was hot":          {core.ByTime, over, noise{hot: true}, core.DoubtHot},
		"a tenth over its time in quiet, killed": {core.ByTime, over, noise{}, ""},
		"close to its time in quiet":             {core.ByTime, agent.Exit{CPUMs: 1099}, noise{}, core.DoubtClose},
		"close to its time, others were busy":    {core.ByTime, agent.Exit{CPUMs: 1001}, noise{others: 90}, core.DoubtBusy},
		"far over its time":                      {core.ByTime, agent.Exit{TimedOut: true, CPUMs: 1501}, noise{others: 90}, ""},
		"by the clock, it had no processor":      {core.ByClock, starved, noise{others: 90}, core.DoubtBusy},
		"by the clock, nobody else had it":       {core.ByClock, starved, noise{others: 3}, ""}, // its own processes had
		"by the clock, it slept":                 {core.ByClock, agent.Exit{TimedOut: true, CPUMs: 400, WallMs: 15_000}, noise{others: 90}, ""},
		"by the clock, it slept and waited once": {core.ByClock, agent.Exit{TimedOut: true, WallMs: 15_000, WaitedMs: 299}, noise{others: 90}, ""},
		"by the clock, it had its time":          {core.ByClock, agent.Exit{TimedOut: true, CPUMs: 1000, WallMs: 15_000, WaitedMs: 9000}, noise{others: 90}, ""},
		"over its memory":                        {core.ByMemory, agent.Exit{MemoryExceeded: true}, noise{others: 90}, ""},
		"the whole grading's time was up":        {core.ByWhole, over, noise{others: 90}, ""},
		"right":                                  {core.ByTokens, agent.Exit{}, noise{others: 90}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, doubt(test.by, test.exit, limits, test.noise))
		})
	}
}

// What a test itself used is no noise, however many processors it kept busy.
func TestNoiseOfOthers(t *testing.T) {
	t.Parallel()
	before := look{hasStat: true, busy: 1000, total: 10_000}
	for name, test := range map[string]struct {
		after look
		own   time.Duration
		want  noise
		known bool
	}{
		"others":            {look{hasStat: true, busy: 2000, total: 12_000}, 100 * time.Millisecond, noise{others: 45}, true},
		"itself alone":      {look{hasStat: true, busy: 3000, total: 12_000}, 2 * time.Second, noise{}, true},
		"counted a bit off": {look{hasStat: true, busy: 3000, total: 12_000}, 3 * time.Second, noise{}, true},
		"stolen and hot":    {look{hasStat: true, busy: 1000, stolen: 100, throttled: 1, total: 12_000}, 0, noise{stolen: 5, hot: true}, true},
		"too short":         {look{hasStat: true, busy: 1000, total: 10_000}, 0, noise{}, false},
		"not measured":      {look{}, 0, noise{}, false},
		"a counter was set": {look{hasStat: true, busy: 10, total: 20}, 0, noise{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, known := test.after.around(before, test.own)
			require.Equal(t, test.known, known)
			require.Equal(t, test.want, got)
		})
	}
}

func TestBoundsOfSecondRuns(t *testing.T) {
	t.Parallel()
	require.False(t, (&seconds{runs: mostAgain - 1, confirmed: mostConfirmed - 1, took: mostExtra - 1}).spent())
	for _, a := range []seconds{{runs: mostAgain}, {confirmed: mostConfirmed}, {took: mostExtra}} {
		require.True(t, a.spent(), "%+v", a)
	}
}
