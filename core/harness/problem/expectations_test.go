package problem_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/harness/problem"
)

// What submissions.yaml expects is compared with all tests of a group, its points and its messages.
func TestExpectations(t *testing.T) {
	t.Parallel()
	p := open(t, "testdata/expects")
	require.NoError(t, p.Check())
	by := map[string]*problem.Submission{}
	for i := range p.Submissions {
		by[strings.TrimPrefix(p.Submissions[i].Path, "submissions/")] = &p.Submissions[i]
	}
	assert.Empty(t, by["accepted/twice.py"].Expected)
	assert.True(t, by["accepted/twice.py"].ForTime())
	assert.Empty(t, by["time_limit_exceeded/both.py"].Wanted, "its folder is named, and others are permitted")
	assert.False(t, by["mixed/slow.py"].ForTime())
	result := func(score float64, stderr string, verdicts ...string) *core.Result {
		r := &core.Result{Stderr: stderr}
		for i, name := range []string{"secret/a/1-easy", "secret/a/2-easy", "secret/b/1-easy", "secret/b/2-hard"} {
			one := core.Test{Name: name, Verdict: verdicts[i]}
			if one.Verdict == core.TestAccepted {
				one.Score = score / 2
			}
			r.Tests = append(r.Tests, one)
			if i == 1 {
				score = 0
			}
		}
		return r
	}
	const ac, wa, tle, message = core.TestAccepted, core.TestWrongAnswer, core.TestTimeLimit, "secret/b/2-hard: some\n4 is not twice 1000\n"
	for name, test := range map[string]struct {
		r     *core.Result
		unmet string
	}{
		"as expected":   {result(40, message, ac, ac, ac, wa), ""},
		"points":        {result(39, message, ac, ac, ac, wa), "39 points, and 40 to 40 are expected"},
		"not permitted": {result(80, message, ac, wa, ac, wa), "secret/a/2-easy: wrong answer, and accepted is permitted"},
		"not required":  {result(40, message, ac, ac, ac, ac), "no test ends with wrong answer, which is required"},
		"crash":         {result(40, message, ac, ac, core.TestRuntimeError, wa), "secret/b/1-easy: runtime error, and accepted, or wrong answer, or time limit exceeded is permitted"},
		"time":          {result(40, message, ac, ac, wa, tle), "secret/b/2-hard: time limit, and wrong answer is permitted"},
		"other message": {result(40, "secret/b/2-hard: some\n", ac, ac, ac, wa), `no message for judges contains "4 is not twice 1000"`},
		"other test's":  {result(40, "secret/b/1-easy: 4 is not twice 1000\n", ac, ac, ac, wa), `no message for judges contains "4 is not twice 1000"`},
	} {
		assert.Equal(t, test.unmet, by["mixed/small.py"].Unmet(test.r, test.r), name)
	}
}

// What cannot be understood of submissions.yaml is refused, and what has no meaning here is a note.
func TestBadExpectations(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/expects")))
	at := filepath.Join(dir, "submissions", "submissions.yaml")
	require.NoError(t, os.Remove(at))
	require.NoError(t, os.WriteFile(at, []byte("\"*/*.py\":\n  permitted: [MLE]\n  score: [1, 2, 3]\n  use_for_time_limit: maybe\n  language: klingon\n  what: 1\nnobody.py:\n  message: x\nno{ b , c }ody.py:\n  message: x\n\"{0,1,2,3,4,5,6,7,8,9,a}{0,1,2,3,4,5,6,7,8,9}\":\n  message: x\n"), 0o600))
	p := open(t, dir)
	err := p.Check()
	require.ErrorContains(t, err, `submissions.yaml, line 2: permitted: "MLE" is not AC, WA, TLE or RTE`)
	require.ErrorContains(t, err, "line 3: score: this is a number, or two")
	require.ErrorContains(t, err, "line 4: use_for_time_limit: this is true, false, lower or upper")
	all := ""
	for _, n := range p.Notes {
		all += n.String() + "\n"
	}
	assert.Contains(t, all, "line 5: language: klingon is not in drover's table")
	assert.Contains(t, all, "line 6: what is not known")
	require.ErrorContains(t, err, "line 11: {0,1,2,3,4,5,6,7,8,9,a}{0,1,2,3,4,5,6,7,8,9}: its braces stand for more than 100 patterns")
	assert.Contains(t, all, "line 7: no submission is called nobody.py")
}
