package problem_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core/harness"
	"drover/core/harness/problem"
)

// A full package of Polygon has the same internal form as one of Kattis.
func TestPolygon(t *testing.T) {
	t.Parallel()
	p := open(t, "testdata/polygon")
	require.Empty(t, p.Refused)
	assert.Equal(t, "Two terms", p.Title)
	assert.Equal(t, "pass-fail", p.Type())
	assert.Equal(t, int64(1500), p.Limits.Time.Milliseconds())
	assert.Equal(t, int64(128<<20), p.Limits.Memory)
	assert.Equal(t, []string{"files/validator.cpp"}, p.InputValidators)
	wanted := map[string][]problem.Outcome{}
	for _, s := range p.Submissions {
		wanted[s.Path] = s.Wanted
	}
	assert.Equal(t, map[string][]problem.Outcome{
		"solutions/main.py": {problem.Accepted}, "solutions/other.cpp": {problem.Accepted}, "solutions/same.py": {problem.WrongAnswer},
		"solutions/endless.py": {problem.TimeLimit}, "solutions/hoard.py": {problem.RunTimeError},
		"solutions/nothing.py": {problem.WrongAnswer, problem.TimeLimit, problem.RunTimeError},
	}, wanted)
	assert.Contains(t, p.Notes, problem.Note{File: "problem.xml", Line: 66, What: "solutions/draft.py is not judged: its tag is do-not-run"})
	assert.Contains(t, p.Notes, problem.Note{File: "problem.xml", Line: 69, What: "solutions/old.dpr is not judged: drover has no language with this suffix"})

	dir := t.TempDir()
	require.NoError(t, p.Write(dir))
	pack, err := harness.Pack(dir)
	require.NoError(t, err)
	tests := pack.Cases.Tests()
	require.Len(t, tests, 3)
	assert.Equal(t, "01", tests[0].Name)
	assert.False(t, tests[0].Hidden)
	assert.True(t, tests[1].Hidden)
	assert.True(t, pack.Cases.Checker.Testlib)
	statement, err := os.ReadFile(filepath.Join(dir, "handout/statement/problem.en.html"))
	require.NoError(t, err)
	assert.Contains(t, string(statement), `Given \(n\), print \(a \ne b\) with \[a + b = n\]</p>`)
	for name, text := range map[string]string{"samples/01.in": "3\n", "samples/01.ans": "2 1\n", "statement/problem.de.html": `<p>Zu \(n\) sind \(a \ne b\) gesucht.</p>` + "\n"} {
		got, err := os.ReadFile(filepath.Join(dir, "handout", name))
		require.NoError(t, err)
		assert.Equal(t, text, string(got), name)
	}
	assert.FileExists(t, filepath.Join(dir, "handout/statement/sum.svg"))
}

// Groups come after those that they depend on, with points of the whole group or of each test.
func TestPolygonGroups(t *testing.T) {
	t.Parallel()
	p := open(t, "testdata/polygon-groups")
	require.Empty(t, p.Refused)
	require.True(t, p.Scoring)
	type group struct {
		name   string
		sample bool
		whole  float64 // -1 for points of each test
		each   []float64
		needs  []string
	}
	var got []group
	for _, g := range p.Groups {
		one := group{name: g.Name, sample: g.Sample, whole: -1, needs: g.Needs}
		if g.Points != nil {
			one.whole = *g.Points
		}
		for _, test := range g.Tests {
			one.each = append(one.each, test.Points)
		}
		got = append(got, one)
	}
	assert.Equal(t, []group{
		{"group 0", true, 0, []float64{0}, nil},
		{"group 2", false, 30, []float64{30, 0}, []string{"group 0"}},
		{"group 3", false, -1, []float64{45}, []string{"group 2"}},
		{"group 1", false, -1, []float64{10, 15}, nil},
	}, got)
}

func TestPolygonRefusals(t *testing.T) {
	t.Parallel()
	err := open(t, "testdata/polygon-refused").Check()
	for _, want := range []string{
		`problem.xml, line 2: judging: submissions run 2 times for a test`, `problem.xml, line 2: judging: input-file: "a/b" is no name`,
		`problem.xml, line 2: judging: output-file: "run" is no name`, `problem.xml, line 3: testset: it has no memory-limit`,
		`problem.xml, line 4: time-limit: this must be a number`,
		`problem.xml, line 8: test: there is no file tests/01: this package's tests are still to be made. Take the full package of Polygon, or run doall.sh`,
		`problem.xml, line 11: group: points-policy: "best" is neither`, `problem.xml, line 17: file: files/grader.h is built together with submissions`,
		`problem.xml, line 25: scorer: drover runs no scorers`, `problem.xml, line 26: interactor: it has no source`,
		`problem.xml, line 30: source: drover builds programs of testlib in C++, and check.dpr has another language: pas.dpr`,
		`problem.xml, line 34: source: files/validator.cpp includes testlib.h: put it into the folder files`,
	} {
		require.ErrorContains(t, err, want)
	}
	_, err = problem.Read("broken.zip", bytes.NewReader(zipped(t, part{name: "problem.xml", text: "<problem>\n<judging>\n</problem>"})))
	require.ErrorContains(t, err, "problem.xml is not XML")
	_, err = problem.Read("empty.zip", bytes.NewReader(zipped(t, part{name: "problem.xml", text: "<problem/>"})))
	require.ErrorContains(t, err, "has no problem with judging")
}

// Groups that depend on one another, or on none that there is, cannot be ordered.
func TestPolygonGroupsInACircle(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/polygon-groups/problem.xml")
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/polygon-groups")))
	for _, other := range []string{"3", "nothing"} {
		at := filepath.Join(dir, "problem.xml")
		require.NoError(t, os.WriteFile(at, bytes.Replace(raw, []byte(`group="0"/>`), []byte(`group="`+other+`"/>`), 1), 0o600))
		require.ErrorContains(t, open(t, dir).Check(), "depends on a group without tests, or on itself")
	}
}
