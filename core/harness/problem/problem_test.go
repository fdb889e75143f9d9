package problem_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/harness"
	"drover/core/harness/cases"
	"drover/core/harness/problem"
	"drover/core/school"
)

func open(t *testing.T, dir string) *problem.Problem {
	t.Helper()
	p, err := problem.Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

// Each package of testdata makes a valid harness, or is refused.
func TestPackagesMakeHarnesses(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir("testdata")
	require.NoError(t, err)
	for _, e := range entries {
		p := open(t, filepath.Join("testdata", e.Name()))
		dir := t.TempDir()
		if err := p.Write(dir); err != nil {
			require.Contains(t, e.Name(), "refused", err)
			continue
		}
		pack, err := harness.Pack(dir)
		require.NoError(t, err, e.Name())
		total := 0.0
		for _, test := range pack.Cases.Tests() {
			total += test.Points
		}
		if !p.Scoring {
			assert.InDelta(t, 1, total, 1e-9, e.Name())
		}
		assert.Equal(t, p.Interactive, pack.Cases.Interactor != nil, e.Name())
	}
}

// What cannot be judged is refused with its place, each for itself.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, wants := range map[string][]string{
		"refused": {
			"data/secret: the validator computes points of its tests, which need a range", "problem.yaml, line 6: objective: less is better",
			"problem.yaml, line 9: validation_passes: the problem is not multi-pass", "problem.yaml, line 10: cores: this limit is not known",
			"problem.yaml, line 11: validators: this key is not known", "data/testdata.yaml, line 1: grading: the package has no grader of its own",
			"data/testdata.yaml: range: a problem with a grader needs one", "data/secret/testdata.yaml, line 2: reject_score: this must be a number from 0",
			"data/secret/1.in: it has no answer 1.ans", "problem.yaml: validation is custom, and output_validators has no program",
		},
		"refused-new": {
			"problem.yaml: a multi-pass problem needs an output validator", "problem.yaml, line 2: type: submit-answer is neither interactive nor multi-pass", "problem.yaml, line 4: validator_flags: the format 2025-09 has no such key",
			"problem.yaml, line 7: 2n: this is no name of a constant", "problem.yaml, line 8: m: it has no value", "data/secret/a/test_group.yaml, line 1: max_score:", "data/secret/a/test_group.yaml, line 2: static_validation_score:",
			`data/secret/a/1.yaml, line 1: the default output validator has no flag "x"`, "data/secret/b: data/secret has groups of tests, so this folder needs a test_group.yaml",
			"data/secret/c/test_group.yaml: require_pass: secret/a is not all or nothing", "data/secret/test_group.yaml, line 1: max_score: the groups have 200 points together",
			"data/secret/c/testdata.yaml: the format 2025-09 has test_group.yaml in its place",
		},
	} {
		p := open(t, filepath.Join("testdata", name))
		err := p.Write(t.TempDir())
		require.Equal(t, core.CodeInvalid, core.CodeOf(err))
		for _, want := range wants {
			assert.ErrorContains(t, err, want)
		}
		assert.Len(t, p.Refused, len(wants), err)
	}
}

// What an interactor prints is all that a submission reads, and more than a validator says.
func TestOutputOfAnInteractor(t *testing.T) {
	t.Parallel()
	read := func(name string) *cases.Plan {
		dir := t.TempDir()
		require.NoError(t, open(t, "testdata/"+name).Write(dir))
		pack, err := harness.Pack(dir)
		require.NoError(t, err)
		return pack.Cases
	}
	assert.Equal(t, int64(core.MaxOutputBytes), read("pseudo").Interactor.Limits.Output)
	assert.Equal(t, int64(8<<20), read("passes").Checker.Limits.Output)
}

// What data/test_group.yaml says is where all tests begin; a folder's own words take its place.
func TestFlagsOfAllTests(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"problem.yaml": "problem_format_version: 2025-09\nname: x\nuuid: 1\nlimits: {time_limit: 1}\n", "data/sample/1.in": "", "data/sample/1.ans": "1", "data/secret/1.in": "", "data/secret/1.ans": "1",
		"data/test_group.yaml": "output_validator_args: [float_tolerance, 1e-6]\n", "data/secret/test_group.yaml": "output_validator_args: [float_tolerance, 1e-3]\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	made := t.TempDir()
	require.NoError(t, open(t, dir).Write(made))
	pack, err := harness.Pack(made)
	require.NoError(t, err)
	tests := pack.Cases.Tests()
	require.Len(t, tests, 2)
	assert.InDelta(t, 1e-6, tests[0].Compare.Relative, 1e-12)
	assert.InDelta(t, 1e-3, tests[1].Compare.Relative, 1e-12)
}

// Groups, points and flags arrive in cases.yaml.
func TestHarnessOfGroups(t *testing.T) {
	t.Parallel()
	p := open(t, "testdata/points")
	dir := t.TempDir()
	require.NoError(t, p.Write(dir))
	pack, err := harness.Pack(dir)
	require.NoError(t, err)
	groups := pack.Cases.Groups
	require.Len(t, groups, 3)
	assert.False(t, groups[0].Tests[0].Hidden)
	assert.True(t, groups[1].Tests[0].Hidden)
	assert.InDelta(t, 20, groups[1].Tests[1].Points, 0)
	assert.Nil(t, groups[1].Points)
	assert.InDelta(t, 60, *groups[2].Points, 0)
	assert.Equal(t, []string{"sample"}, groups[2].Needs)
	assert.Equal(t, time.Second, groups[2].Tests[0].Limits.Time)
}

// A harness says of which package it was made, and two copies of one have the same digest.
func TestOrigin(t *testing.T) {
	t.Parallel()
	made := func(from string) *school.Origin {
		dir := t.TempDir()
		require.NoError(t, open(t, from).Write(dir))
		pack, err := harness.Pack(dir)
		require.NoError(t, err)
		return pack.Problem
	}
	was := made("testdata/passes-talk")
	assert.Equal(t, school.Origin{Title: "Ask twice", Format: "2025-09", Type: "pass-fail interactive multi-pass", Tests: 1, TimeMs: 1000, Digest: was.Digest}, *was)
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/passes-talk")))
	assert.Equal(t, was, made(dir))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "data", "more"), nil, 0o600))
	assert.NotEqual(t, was.Digest, made(dir).Digest)

	dir = t.TempDir()
	require.NoError(t, open(t, "testdata/case").Write(dir))
	require.NoError(t, os.WriteFile(filepath.Join(dir, harness.ProblemFile), []byte("[]"), 0o600))
	_, err := harness.Pack(dir)
	require.ErrorContains(t, err, "does not say of which problem package it was made")
}

// A link must not lead out of the package.
func TestLinksStayInside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/case")))
	require.NoError(t, os.Symlink("1.in", filepath.Join(dir, "data/secret/2.in")))
	require.NoError(t, os.Symlink("1.ans", filepath.Join(dir, "data/secret/2.ans")))
	p := open(t, dir)
	require.NoError(t, p.Check())
	require.Len(t, p.Groups[0].Tests, 2)
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(dir, "data/secret/3.in")))
	require.ErrorContains(t, open(t, dir).Check(), "data/secret/3.in: this link names no plain file of the package")
}

func TestNoPackage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := problem.Open(dir)
	require.ErrorContains(t, err, "there is no problem.yaml")
	require.NoError(t, os.WriteFile(filepath.Join(dir, problem.File), []byte("name: [\n"), 0o600))
	_, err = problem.Open(dir)
	require.ErrorContains(t, err, "problem.yaml is not YAML")
	require.NoError(t, os.WriteFile(filepath.Join(dir, problem.File), []byte("problem_format_version: 2025-09\n"), 0o600))
	_, err = problem.Open(dir)
	require.ErrorContains(t, err, "has no name")
}

// A measured limit is a multiple of the resolution, and at least the multiple of the slowest test.
func TestTimeFrom(t *testing.T) {
	t.Parallel()
	p := open(t, "testdata/measured")
	p.TimeFrom(nil)
	assert.Equal(t, time.Second, p.Limits.Time)
	p.TimeFrom([]*core.Result{{Tests: []core.Test{{Usage: &core.Usage{CPUMs: 410}}, {Usage: &core.Usage{CPUMs: 30}}}}})
	assert.Equal(t, 3*time.Second, p.Limits.Time)
}

// Values of constants are in programs, statements and test_group.yaml, and nowhere else.
func TestConstants(t *testing.T) {
	t.Parallel()
	p := open(t, "testdata/flags")
	dir := t.TempDir()
	require.NoError(t, p.Write(dir))
	text, err := os.ReadFile(filepath.Join(dir, "handout/statement/problem.en.md"))
	require.NoError(t, err)
	assert.Equal(t, "A divisor of n, at most 50 (fifty), {{unknown}}.\n", string(text))
	at, err := p.CopyProgram(t.TempDir(), &problem.Submission{Path: "submissions/accepted/odd.py"})
	require.NoError(t, err)
	raw, err := os.ReadFile(at)
	require.NoError(t, err)
	assert.Contains(t, string(raw), "n < 13 else 50")
}

// A package of the legacy format may have its name in the statement only, and files that count as if they were not there.
func TestNameOfTheStatement(t *testing.T) {
	t.Parallel()
	p := open(t, "testdata/nameless")
	assert.Equal(t, "Worst first", p.Title)
	assert.Len(t, p.Groups[0].Tests, 3)
	assert.Len(t, p.Submissions, 3)
	assert.Contains(t, p.Notes[0].String(), "a copy.in: it is ignored")
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/nameless")))
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "problem_statement")))
	assert.Equal(t, filepath.Base(dir), open(t, dir).Title)
	p = open(t, "testdata/inputs")
	assert.Len(t, p.Submissions, 1)
	assert.Contains(t, fmt.Sprint(p.Notes), "submissions/accepted/add.cow: it is not judged")
}
