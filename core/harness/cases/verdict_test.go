package cases_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent/wire"
	"drover/core/harness"
	"drover/core/harness/cases"
)

func TestEnded(t *testing.T) {
	t.Parallel()
	limits := cases.Limits{Time: time.Second, Wall: 5 * time.Second}
	three := 3
	for _, test := range []struct {
		exit    wire.Exit
		want    *int
		verdict string
		why     string
		by      core.DecidedBy
	}{
		{wire.Exit{}, new(int), "", "", core.ByEnd},
		{wire.Exit{Code: 1}, nil, "", "", core.ByEnd},
		{wire.Exit{Code: 3}, &three, "", "", core.ByEnd},
		{wire.Exit{Code: 1}, new(int), cases.RuntimeError, "exit code 1", core.ByExit},
		{wire.Exit{}, &three, cases.WrongAnswer, "where 3 is right", core.ByExit},
		{wire.Exit{Code: 139, Signal: "SIGSEGV"}, nil, cases.RuntimeError, "SIGSEGV", core.BySignal},
		{wire.Exit{Code: 137, Signal: "SIGKILL", TimedOut: true, CPUMs: 1002}, nil, cases.TimeLimit, "computed for longer than 1s", core.ByTime},
		{wire.Exit{Code: 137, Signal: "SIGKILL", TimedOut: true}, nil, cases.TimeLimit, "did not end within 5s", core.ByClock},
		{wire.Exit{Code: 137, Signal: "SIGKILL", MemoryExceeded: true, TimedOut: true}, nil, cases.MemoryLimit, "", core.ByMemory},
		{wire.Exit{Code: 137, Signal: "SIGKILL", PidsExceeded: true}, nil, cases.ProcessLimit, "", core.ByPids},
		{wire.Exit{Code: 137, Signal: "SIGKILL", OutputExceeded: true}, nil, cases.OutputLimit, "", core.ByOutput},
		{wire.Exit{Truncated: true}, nil, cases.OutputLimit, "", core.ByOutput},
	} {
		verdict, why, by := cases.Ended(test.exit, test.want, limits)
		assert.Equal(t, test.by, by, "%+v", test)
		assert.Equal(t, test.verdict, verdict, "%+v", test)
		assert.Contains(t, why, test.why, "%+v", test)
	}
}

func plan(t *testing.T, yaml string) *cases.Plan {
	t.Helper()
	p, err := cases.Parse([]byte(yaml), files)
	require.NoError(t, err)
	return p
}

func report(t *testing.T, p *cases.Plan, r cases.Report) harness.Report {
	t.Helper()
	text, err := r.JSON(p)
	require.NoError(t, err)
	out, err := harness.ParseReport(text)
	require.NoError(t, err)
	return out
}

func TestReport_Points(t *testing.T) {
	t.Parallel()
	p := plan(t, `
run: p
tests: [{output: x, points: 2}, {output: x, points: 3}]
groups:
  - {name: a, points: 10, tests: [{output: x}, {output: x}, {output: x}]}
  - {name: b, points: 7, tests: [{output: x}, {output: x}, {output: x}]}`)
	good, bad := cases.Outcome{Verdict: cases.Accepted, Share: 1, Ran: true}, cases.Outcome{Verdict: cases.WrongAnswer}
	half := cases.Outcome{Verdict: cases.WrongAnswer, Share: 0.5}
	r := report(t, p, cases.Report{Outcomes: []cases.Outcome{good, half, good, good, bad, good, good, good}})
	assert.InDelta(t, 2+1.5+7, *r.Score, 0)
	assert.InDelta(t, 2+3+10+7, *r.MaxScore, 0)
	assert.Zero(t, r.Tests[2].Score, "its group has no points as not all of it is passed")
	assert.Contains(t, r.Tests[2].Message, "not all tests of a")
	assert.Equal(t, cases.Accepted, r.Tests[2].Verdict)
	assert.Equal(t, "b", r.Tests[5].Group)
	assert.NotNil(t, r.Tests[0].Usage)
	assert.Nil(t, r.Tests[1].Usage)
	assert.Empty(t, r.Tests[0].Message)
}

// Of a hidden test nothing is told that it gave, expected or got.
func TestReport_HiddenTestsLeakNothing(t *testing.T) {
	t.Parallel()
	p := plan(t, "run: p\nmessage: a hint\ntests: [{input: INPUT, output: WANTED}, {input: INPUT, output: WANTED, visibility: hidden}]")
	for _, verdict := range []string{
		cases.Accepted, cases.WrongAnswer, cases.TimeLimit, cases.MemoryLimit, cases.ProcessLimit, cases.OutputLimit, cases.RuntimeError, cases.Skipped,
	} {
		o := cases.Outcome{
			Verdict: verdict, Why: "WHY", Note: "NOTE", Input: []byte("INPUT"), Want: []byte("WANTED"), Stdout: []byte("PRINTED"), Stderr: []byte("ERRORS"),
		}
		if verdict != cases.WrongAnswer && verdict != cases.RuntimeError {
			o.Why = "" // which comes from the kernel, not from the test
		}
		r := report(t, p, cases.Report{Outcomes: []cases.Outcome{o, o}})
		hidden := r.Tests[1]
		text, err := json.Marshal(hidden)
		require.NoError(t, err)
		for _, secret := range []string{"INPUT", "WANTED", "PRINTED", "ERRORS", "WHY", "NOTE"} {
			assert.NotContains(t, string(text), secret, verdict)
		}
		assert.True(t, hidden.Hidden)
		judged := verdict == cases.WrongAnswer || verdict == cases.RuntimeError || verdict == cases.Accepted // for a part of its points
		assert.Equal(t, judged, strings.Contains(hidden.Message, "a hint"), "%s: a hint is about an answer", verdict)
		assert.Equal(t, verdict, hidden.Verdict)
	}
	o := cases.Outcome{Verdict: cases.WrongAnswer, Why: "line 1 differs", Input: []byte("INPUT"), Want: []byte("WANTED"), Stdout: []byte("``` PRINTED"), Stderr: []byte("ERRORS")}
	shown := report(t, p, cases.Report{Outcomes: []cases.Outcome{o, o}}).Tests[0].Message
	for _, part := range []string{"line 1 differs", "INPUT", "WANTED", "PRINTED", "ERRORS", "a hint", "````"} {
		assert.Contains(t, shown, part)
	}
}

// The largest of reports is still one that is taken and kept.
func TestReport_IsBounded(t *testing.T) {
	t.Parallel()
	p := plan(t, "run: p\ntests:\n"+strings.Repeat("  - {output: x, message: "+strings.Repeat("<", 900)+"}\n", cases.MaxTests))
	noise := make([]byte, 4096)
	for i := range noise {
		noise[i] = byte(rand.IntN(256))
	}
	for _, text := range [][]byte{noise, []byte(strings.Repeat("<", 4096)), []byte(strings.Repeat("é", 2048)), []byte(strings.Repeat("`", 4096))} {
		r := cases.Report{Build: &cases.Outcome{Verdict: cases.BuildError, Why: "x", Stderr: text}}
		for range p.Tests() {
			r.Outcomes = append(r.Outcomes, cases.Outcome{Verdict: cases.WrongAnswer, Why: "x", Note: string(text), Input: text, Want: text, Stdout: text, Stderr: text})
		}
		out := report(t, p, r)
		assert.Len(t, out.Tests, harness.MaxItems)
		assert.NotEqual(t, harness.TooLarge, out.Tests[0].Message)
		assert.NotEqual(t, harness.TooLarge, out.Tests[1].Message)
		kept, err := json.Marshal(core.Result{Tests: out.Tests})
		require.NoError(t, err)
		assert.Less(t, len(kept), 4<<20)
	}
}

func TestReport_BuildError(t *testing.T) {
	t.Parallel()
	p := plan(t, "run: p\ntests: [{output: x}]")
	r := report(t, p, cases.Report{
		Build:    &cases.Outcome{Verdict: cases.BuildError, Why: "it ended with exit code 1", Stderr: []byte("p.c:3: no"), Ran: true},
		Outcomes: []cases.Outcome{{Verdict: cases.Skipped, Why: "it could not be built"}},
	})
	assert.Equal(t, harness.BuildError, harness.VerdictOf(&core.Result{State: core.RequestCompleted, Score: r.Score, MaxScore: r.MaxScore, Tests: r.Tests}))
	assert.Contains(t, r.Tests[0].Message, "p.c:3: no")
}

// What is shown of a hidden test is no exact figure, nor is it in the report as printed.
func TestReport_Coarse(t *testing.T) {
	t.Parallel()
	p := plan(t, "run: p\ntests: [{input: a}, {input: b, visibility: hidden}]")
	used := core.Usage{CPUMs: 101, WallMs: 7, MemoryPeakBytes: 1}
	r := cases.Report{Outcomes: []cases.Outcome{{Verdict: cases.Accepted, Ran: true, Usage: used}, {Verdict: cases.Accepted, Ran: true, Usage: used}}}
	coarse := r.Coarse(p)
	assert.Equal(t, used, coarse.Outcomes[0].Usage)
	assert.Equal(t, core.Usage{CPUMs: 110, WallMs: 10, MemoryPeakBytes: 1 << 20}, coarse.Outcomes[1].Usage)
	assert.Equal(t, used, r.Outcomes[1].Usage, "the report itself stays exact")
}

// A public submission has no tests that are for final ones, and no groups that have no others.
func TestPublicPlan(t *testing.T) {
	t.Parallel()
	p := plan(t, "run: p\ntests: [{name: a, output: x}, {name: b, output: x, when: final}]\n"+
		"groups: [{name: g, when: final, tests: [{name: c, output: x}]}, {name: h, needs: [g], when: final, tests: [{name: d, output: x, when: always}]}]")
	names := func(p *cases.Plan) (all []string) {
		for _, t := range p.Tests() {
			all = append(all, t.Title())
		}
		return all
	}
	require.True(t, p.HasFinal())
	require.Equal(t, []string{"a", "b", "g/c", "h/d"}, names(p))
	public := p.Public()
	require.Equal(t, []string{"a", "h/d"}, names(public))
	require.Empty(t, public.Groups[1].Needs)
	require.False(t, public.HasFinal())
	require.Equal(t, []string{"g"}, p.Groups[2].Needs, "the whole plan is as it was")
}
