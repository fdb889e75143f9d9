package harness_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/harness"
)

// Everything of a results.json becomes part of the report, and students read what they may.
func TestResults(t *testing.T) {
	t.Parallel()
	text := `{"score": 7.5, "execution_time": 136, "output": "All\nin all", "output_format": "text", "visibility": "visible",
	"stdout_visibility": "visible", "extra_data": {"a": [1]}, "unknown": 1,
	"tests": [
		{"score": 2, "max_score": 2, "status": "passed", "name": "Adds", "number": "1.1", "output": "**well** done", "output_format": "md", "tags": ["a"], "extra_data": {}},
		{"score": 0, "max_score": 3, "name": "<b>Bold</b> &amp; more", "name_format": "html", "output": "<p>one</p><script>alert(1)</script><br>two &lt;3", "output_format": "html"},
		{"score": 1, "max_score": 1, "number": 3, "name": "red", "output": "\u001b[31mred\u001b[0m ` + "```" + `", "output_format": "ansi"},
		{"score": 1, "max_score": 1, "name": "secret", "output": "42", "visibility": "hidden"},
		{"score": 1, "max_score": 1, "name": "later", "output": "42", "visibility": "after_due_date"},
		{"score": 1, "max_score": 1, "name": "grades", "output": "42", "visibility": "after_published"},
		{"status": "failed", "output": "x"}
	],
	"leaderboard": [{"name": "Speed", "value": 12.5, "order": "asc"}, {"name": "Stars | more", "value": "*****"}]}`
	r, err := harness.ParseResults([]byte(text), "from stdout", false)
	require.NoError(t, err)
	require.InDelta(t, 7.5, *r.Score, 0)
	require.InDelta(t, 9, *r.MaxScore, 0)
	require.Equal(t, []core.Test{
		{Name: "Output", Message: "```\nAll\nin all\n```"},
		{Name: "Printed by the autograder", Message: "```\nfrom stdout\n```"},
		{Name: "1.1 Adds", Score: 2, MaxScore: 2, Verdict: core.TestAccepted, Message: "**well** done"},
		{Name: "Bold & more", MaxScore: 3, Message: "```\none\n\ntwo <3\n```"},
		{Name: "3 red", Score: 1, MaxScore: 1, Message: "````\nred ```\n````"},
		{Name: "Hidden test 1", Score: 1, MaxScore: 1, Hidden: true},
		{Name: "Hidden test 2", Score: 1, MaxScore: 1, Hidden: true},
		{Name: "Hidden test 3", Score: 1, MaxScore: 1, Hidden: true},
		{Name: "Test 7", Verdict: "failed", Message: "```\nx\n```"},
		{Name: "Leaderboard", Message: "| | |\n|---|---|\n| `Speed` | `12.5` |\n| `Stars / more` | `*****` |\n"},
	}, r.Tests)
	r, err = harness.ParseResults([]byte(text), "", true)
	require.NoError(t, err)
	require.Equal(t, "later", r.Tests[5].Name, "it is due")

	r, err = harness.ParseResults([]byte(`{"visibility": "hidden", "output": "42", "tests": [{"score": 1, "max_score": 2, "name": "a"}, {"score": 2, "max_score": 2, "visibility": "visible"}]}`), "42", false)
	require.NoError(t, err)
	require.InDelta(t, 3, *r.Score, 0, "the sum of the tests")
	require.Equal(t, []core.Test{{Name: "Hidden test 1", Score: 1, MaxScore: 2, Hidden: true}, {Name: "Test 2", Score: 2, MaxScore: 2}}, r.Tests)

	r, err = harness.ParseResults([]byte(`{"score": 1, "output": "`+strings.Repeat("x", 9000)+`"}`), "", false)
	require.NoError(t, err)
	require.Nil(t, r.MaxScore)
	require.Less(t, len(r.Tests[0].Message), harness.MaxMessage)
}

// A test without formats of its own has those that the file says for all.
func TestFormatsOfAllTests(t *testing.T) {
	t.Parallel()
	r, err := harness.ParseResults([]byte(`{"score": 1, "output": "<i>", "test_output_format": "html", "test_name_format": "ansi", "tests": [
		{"name": "\u001b[31mred", "output": "<b>bold</b>"}, {"name": "<b>", "name_format": "text", "output": "<b>", "output_format": "text"}]}`), "", false)
	require.NoError(t, err)
	require.Equal(t, []core.Test{
		{Name: "Output", Message: "```\n<i>\n```"}, {Name: "red", Message: "```\nbold\n```"}, {Name: "<b>", Message: "```\n<b>\n```"},
	}, r.Tests)
}

// A wrong results.json is the autograder's fault, and the error says where it is wrong.
func TestResultsThatAreWrong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                "ends too early",
		`[]`:              "not a JSON object",
		`{"score": 1} {}`: "something after",
		`{}`:              `has no "score"`,
		`{"tests": []}`:   `has no "score"`,
		`{"tests": [{}]}`: `has no "score"`,
		`{"score": "1"}`:  `"score" that is not a number`,
		`{"score": 1e99}`: "out of range",
		`{"score": NaN}`:  "not JSON",
		`{"score": 1, "tests": [{"score": 1}, {"score": true}]}`:          "test 2",
		`{"score": 1, "tests": {"score": 1}}`:                             "not an array",
		`{"score": 1, "visibility": "sometimes"}`:                         "after_published",
		`{"score": 1, "tests": [{"status": "maybe"}]}`:                    "passed or failed",
		`{"score": 1, "tests": [{"output": 5}]}`:                          "not a string",
		`{"score": 1, "tests": [{"output": "x","output_format":"pdf"}]}`:  "simple_format",
		`{"score": 1, "test_output_format": "pdf"}`:                       "test_output_format",
		`{"score": 1, "test_name_format": 3}`:                             "test_name_format",
		`{"score": 1, "leaderboard": [{"value": 1}]}`:                     "no name",
		`{"score": 1, "leaderboard": [{"name": "a"}]}`:                    "no value",
		`{"score": 1, "leaderboard": [{"name": "a", "value": []}]}`:       "neither text nor number",
		`{"score": 1, "leaderboard": [{"name":"a","value":1,"order":1}]}`: "asc or desc",
	} {
		_, err := harness.ParseResults([]byte(text), "", false)
		require.Equal(t, core.CodeInvalid, core.CodeOf(err), text)
		require.ErrorContains(t, err, "results.json", text)
		require.ErrorContains(t, err, want, text)
	}
}

func TestWasDue(t *testing.T) {
	t.Parallel()
	in, err := harness.ParseInput([]byte(`{"raw_assignment": {"due": "2026-12-01T10:00:00.000Z"}}`))
	require.NoError(t, err)
	due := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	require.True(t, in.WasDue(due))
	require.False(t, in.WasDue(due.Add(-time.Second)))
	in, err = harness.ParseInput(nil)
	require.NoError(t, err)
	require.False(t, in.WasDue(due))
}
