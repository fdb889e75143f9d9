package explain_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/harness/explain"
)

func text(r *core.Result, of explain.About) string {
	return strings.Join(explain.English(explain.Result(r, of)), "\n")
}

// Whatever a result is, sentences say how it came about, and each of them has a translation.
func TestEveryEndHasASentence(t *testing.T) {
	t.Parallel()
	known := explain.Sentences()
	for _, sentence := range known {
		assert.Len(t, indices(known, sentence), 1, sentence)
	}
	states := []core.RequestState{core.RequestCompleted, core.RequestFailed, core.RequestCancelled, core.RequestTimedOut, core.RequestDead, core.RequestQueued}
	blames := []core.Blame{core.BlameNone, core.BlameSubmission, core.BlameHarness, core.BlamePlatform}
	limits := []string{"", core.LimitTime, core.LimitMemory, core.LimitPids, core.LimitOutput, "disk"}
	for _, state := range states {
		for _, blame := range blames {
			for _, limit := range limits {
				for _, grading := range []bool{false, true} {
					for _, receipt := range []*core.Receipt{nil, {Limits: core.Limits{Timeout: 1, Memory: 1, Pids: 1, Output: 1}, Noise: &core.Noise{Ms: 1}}} {
						r := core.Result{State: state, Blame: blame, Limit: limit, Attempt: 1, Generation: 1, Receipt: receipt}
						lines := explain.Result(&r, explain.About{Grading: grading})
						require.NotEmpty(t, lines, "%+v", r)
						for _, l := range lines {
							require.Contains(t, known, l.Sentence)
							require.NotContains(t, l.String(), "%!", "arguments fit the verbs")
						}
						if state != core.RequestCompleted {
							require.NotContains(t, lines[0].Sentence, "grading program gave", "%+v", r)
						}
					}
				}
			}
		}
	}
}

func indices(all []string, one string) (at []int) {
	for i, s := range all {
		if s == one {
			at = append(at, i)
		}
	}
	return at
}

// Whatever decides a test, a sentence of its own says so, with the test's name and the verdict.
func TestEveryDecisionHasASentence(t *testing.T) {
	t.Parallel()
	said := map[string]core.DecidedBy{}
	for _, by := range core.DecidedBys() {
		for _, verdict := range []string{core.TestWrongAnswer, core.TestTimeLimit, core.TestSkipped} {
			r := core.Result{State: core.RequestCompleted, Tests: []core.Test{{Name: "one", Verdict: verdict, MaxScore: 1, Decision: &core.Decision{By: by}}}}
			line := explain.Result(&r, explain.About{Grading: true})[0]
			require.Contains(t, explain.Sentences(), line.Sentence)
			require.NotEqual(t, "Test %s: %s", line.Sentence, "%s has no sentence of its own", by)
			require.Contains(t, line.String(), "one")
			require.Contains(t, line.String(), verdict)
			require.NotContains(t, line.String(), "%!")
			other, had := said[line.Sentence]
			require.True(t, !had || other == by, "%s and %s", by, other)
			said[line.Sentence] = by
		}
		r := core.Result{State: core.RequestCompleted, Tests: []core.Test{{Name: "one", Verdict: core.TestAccepted, MaxScore: 1, Score: 1, Decision: &core.Decision{By: by}}}}
		require.Contains(t, explain.Sentences(), explain.Result(&r, explain.About{Grading: true})[0].Sentence)
	}
}

func TestNumbersAreSaid(t *testing.T) {
	t.Parallel()
	score, most, waited := 3.0, 5.0, int64(900)
	r := core.Result{
		State: core.RequestCompleted, Attempt: 2, Generation: 1, Score: &score, MaxScore: &most,
		Receipt: &core.Receipt{Noise: &core.Noise{Ms: 2000, Waited: &waited}},
		Tests: []core.Test{
			{Name: "1", Verdict: core.TestAccepted, Score: 3, MaxScore: 3, Usage: &core.Usage{CPUMs: 950}, Decision: &core.Decision{By: core.ByTokens, TimeMs: 1000, WallMs: 15_000, LostMs: 6000, PartnerMs: 2000}},
			{Name: "7", Verdict: core.TestTimeLimit, MaxScore: 1, Usage: &core.Usage{CPUMs: 1020}, Decision: &core.Decision{By: core.ByTime, TimeMs: 1000}},
			{Name: "8", Verdict: core.TestWrongAnswer, MaxScore: 1, Message: "wrong answer: line 2 differs\n\nmore", Decision: &core.Decision{By: core.ByTokens}},
		},
	}
	said := text(&r, explain.About{Grading: true, Faults: []explain.Fault{{Owner: "testrunner@h2#0", Why: "its host is lost"}, {}}})
	for _, want := range []string{
		"An earlier attempt, of testrunner@h2#0, ended without a result and counts for nothing (its host is lost)",
		"This is the result of attempt 2",
		"Test 7 computed for 1.02 s, and its limit of processor time is 1 s: time limit",
		"The output of test 8 is compared word by word: wrong answer (line 2 differs)",
		"Tests whose output is right word by word: 1",
		"Of those passed, 1 came closest to its limit: it computed for 0.95 s of 1 s",
		"Test 1 lost time to others on the host: its limit of 15 s by the clock did not count 4 s of it",
		"The interactor of test 1 lost time to others on the host: the test's limit of 15 s by the clock did not count 2 s of it",
		"The score is the sum of the tests' points: 3 of 5",
		"in 0.9 s of the 2 s that it ran, some process waited for a processor",
	} {
		require.Contains(t, said, want)
	}
	require.NotContains(t, said, "more\n")
	hidden := text(&r, explain.About{Grading: true, Hidden: true})
	require.NotContains(t, hidden, "time limit")
	require.NotContains(t, hidden, "score")
	require.Contains(t, hidden, "for the staff of its class")
}

// A report has a thousand tests at most, and an explanation few lines.
func TestExplanationIsBounded(t *testing.T) {
	t.Parallel()
	r := core.Result{State: core.RequestCompleted}
	for range 1000 {
		r.Tests = append(r.Tests, core.Test{Name: "x", MaxScore: 1, Verdict: strings.Repeat("v", 200), Message: strings.Repeat("m", 5000)})
	}
	lines := explain.English(explain.Result(&r, explain.About{Grading: true}))
	require.Less(t, len(lines), 60)
	require.True(t, slices.Contains(lines, "and 950 more tests"))
	require.Less(t, len(strings.Join(lines, "")), 60*1000)
}

// Where a limit of time was exceeded and nobody checks that again, the reader learns that noise may be the cause.
func TestNoiseIsSaidOfWhatIsNotRunAgain(t *testing.T) {
	t.Parallel()
	others := 62
	late := core.Test{Name: "3", Verdict: core.TestTimeLimit, MaxScore: 1}
	stock := late
	stock.Decision = &core.Decision{By: core.ByTime}
	for name, test := range map[string]struct {
		r    core.Result
		of   explain.About
		said bool
	}{
		"a command":                    {core.Result{State: core.RequestTimedOut, Limit: core.LimitTime}, explain.About{}, true},
		"a command that ended":         {core.Result{State: core.RequestCompleted}, explain.About{}, false},
		"a harness of its own":         {core.Result{State: core.RequestCompleted, Tests: []core.Test{late}}, explain.About{Grading: true}, true},
		"its tests are hidden":         {core.Result{State: core.RequestCompleted, Tests: []core.Test{late}}, explain.About{Grading: true, Hidden: true}, false},
		"tests that are checked again": {core.Result{State: core.RequestCompleted, Tests: []core.Test{stock}}, explain.About{Grading: true}, false},
	} {
		for _, because := range []core.Doubt{core.DoubtBusy, core.DoubtStolen, core.DoubtHot, ""} {
			test.r.Receipt = &core.Receipt{Noise: &core.Noise{Others: &others, Doubt: because}}
			said := text(&test.r, test.of)
			require.Equal(t, test.said && because != "", strings.Contains(said, "62 %") && strings.Contains(said, "it may end otherwise"), "%s, %s: %s", name, because, said)
		}
	}
}

// Of a test that was in doubt the reader learns why, what the first run came to, and why there was no second.
func TestDoubtsAreSaid(t *testing.T) {
	t.Parallel()
	again := 4
	first := &core.Usage{CPUMs: 1010}
	for _, because := range []core.Doubt{core.DoubtBusy, core.DoubtStolen, core.DoubtHot, core.DoubtClose} {
		r := core.Result{State: core.RequestCompleted, Tests: []core.Test{{
			Name: "3", Verdict: core.TestAccepted, Score: 1, MaxScore: 1, Decision: &core.Decision{By: core.ByTokens},
			Checked: &core.Checked{Because: because, Verdict: core.TestTimeLimit, Usage: first, Others: 62, Again: &again},
		}}}
		lines := explain.Result(&r, explain.About{Grading: true})
		for _, l := range lines {
			require.Contains(t, explain.Sentences(), l.Sentence)
			require.NotContains(t, l.String(), "%!")
		}
		said := text(&r, explain.About{Grading: true})
		require.Contains(t, said, "Test 3 was checked again, because ", because)
		require.Contains(t, said, "62 %")
		require.Contains(t, said, "1.01 s, and its verdict was: time limit")
		require.Contains(t, said, "In the second run of test 3 others used 4 % of the host's processors")
	}
	for _, left := range []core.LeftSuch{core.LeftSlow, core.LeftHost} {
		r := core.Result{State: core.RequestCompleted, Tests: []core.Test{{Name: "3", Verdict: core.TestTimeLimit, MaxScore: 1, Checked: &core.Checked{Because: core.DoubtBusy, Others: 62, Left: left}}}}
		said := text(&r, explain.About{Grading: true})
		require.Contains(t, said, "Test 3 was not checked again, although its verdict was in doubt; others used 62 %")
		require.NotContains(t, said, "second run")
	}
}
