package cases_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/harness/cases"
)

// folder is a harness folder of files of these sizes.
type folder map[string]int64

func (f folder) Size(name string) (int64, bool) {
	size, ok := f[name]
	return size, ok
}

func (f folder) Names() []string {
	var all []string
	for name := range f {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

var files = folder{
	"cases.yaml": 1, "in/1.in": 1, "in/1.out": 1, "in/2.in": 1, "in/2.ans": 1, "lone/a.in": 1, "lib/x.h": 1, "lib/sub/y.h": 1, "check.py": 1,
	"huge.out": cases.MaxExpected + 1, "tests/01": 1, "tests/01.a": 1, "tests/02": 1, "tests/02.a": 1,
}

func TestParse_Defaults(t *testing.T) {
	t.Parallel()
	p, err := cases.Parse([]byte("run: ./prog\ntests:\n  - input: 1\n    output: 2\n"), files)
	require.NoError(t, err)
	all := p.Tests()
	require.Len(t, all, 1)
	got := *all[0]
	zero := 0
	assert.Equal(t, cases.Test{
		Name: "test 1", Run: cases.Command{"/bin/sh", "-c", "./prog"}, Input: cases.Content{Text: "1"}, Output: &cases.Content{Text: "2"},
		Compare: cases.Compare{By: cases.Trimmed}, Exit: &zero, Points: 1, OutOf: 1,
		Limits: cases.Limits{Time: 2 * time.Second, Wall: 20 * time.Second, Output: 1 << 20},
	}, got)
	assert.Equal(t, "test 1", got.Title())
	assert.Nil(t, p.Checker)
}

// Every field of the format, and what is taken over from where.
func TestParse_Everything(t *testing.T) {
	t.Parallel()
	p, err := cases.Parse([]byte(`
timeout: 90
files: [lib, check.py]
build: [make, [cc, -o, p, p.c]]
build_cache: true
build_limits: {time: 5s}
run: [./p]
env: {A: 1, B: 2}
limits: {time: 500ms, wall: 4s, memory: 64M, output: 4K, pids: 3}
compare: {by: float, tolerance: 0.01}
visibility: hidden
message: Think again.
checker: {files: [check.py], build: "true", run: [python3, check.py], limits: {time: 1s}}
tests:
  - {name: first, args: [-v, 7], env: {B: 3}, files: {data.txt: "x", sub/y: {file: in/1.in}}, output: "1", exit: any, visibility: public, points: 2.5}
  - {name: code, exit: 3}
  - {from: in/*.in, run: "cat |", args: [x], compare: tokens}
groups:
  - name: all
    points: 10
    stop: true
    limits: {memory: 32M}
    tests: [{output: a, compare: exact}, {output: b, compare: {by: regex, ignore_case: true}}, {compare: checker}]
  - {name: more, needs: [all], tests: [{output: ""}]}
`), files)
	require.NoError(t, err)
	assert.Equal(t, 90*time.Second, p.Timeout)
	assert.Equal(t, []string{"lib/sub/y.h", "lib/x.h", "check.py"}, p.Files)
	assert.Equal(t, []cases.Command{{"/bin/sh", "-c", "make"}, {"cc", "-o", "p", "p.c"}}, p.Build)
	assert.True(t, p.BuildCache)
	assert.Equal(t, 35*time.Second, p.BuildLimits.Wall)
	assert.Equal(t, cases.Command{"python3", "check.py", "input", "output", "answer"}, p.Checker.Command(nil))
	all := p.Tests()
	require.Len(t, all, 8)

	first := all[0]
	assert.Equal(t, cases.Command{"./p", "-v", "7"}, first.Run)
	assert.Equal(t, []string{"A=1", "B=3"}, first.Env)
	assert.Equal(t, []cases.Placed{{At: "data.txt", Content: cases.Content{Text: "x"}}, {At: "sub/y", Content: cases.Content{Path: "in/1.in"}}}, first.Files)
	assert.Nil(t, first.Exit)
	assert.False(t, first.Hidden)
	assert.InDelta(t, 2.5, first.Points, 0)
	assert.Equal(t, cases.Compare{By: cases.Float, Absolute: 0.01, Relative: 0.01}, first.Compare)
	assert.Equal(t, cases.Limits{Time: time.Second / 2, Wall: 4 * time.Second, Memory: 64 << 20, Output: 4096, Pids: 3}, first.Limits)

	assert.Equal(t, 3, *all[1].Exit)
	assert.True(t, all[1].Hidden)
	assert.Equal(t, "Think again.", all[1].Message)
	assert.Equal(t, []string{"A=1", "B=2"}, all[1].Env, "a test's own do not reach the next")
	assert.Equal(t, "1", all[2].Name)
	assert.Equal(t, cases.Content{Path: "in/2.in"}, all[3].Input)
	assert.Equal(t, "in/2.ans", all[3].Output.Path)
	assert.Equal(t, cases.Command{"/bin/sh", "-c", `cat | "$@"`, "sh", "x"}, all[3].Run)

	assert.Equal(t, "all/test 1", all[4].Title())
	assert.InDelta(t, 10.0/3, all[4].Points, 1e-9)
	assert.Equal(t, int64(32<<20), all[4].Limits.Memory)
	assert.Equal(t, 4*time.Second, all[4].Limits.Wall, "limits add up")
	assert.True(t, p.Groups[1].Stop)
	assert.Equal(t, []string{"all"}, p.Groups[2].Needs)
}

// What is wrong is said with its line and a way on.
func TestParse_Refuses(t *testing.T) {
	t.Parallel()
	const run = "run: p\n"
	tests := map[string]struct{ yaml, says string }{
		"cache without a build": {"build_cache: true\nrun: p\ntests: [{output: x}]", "nothing is built"},
		"Nothing":               {"", "is empty"},
		"No YAML":               {"a: [", "is not YAML"},
		"Tabs":                  {"run: p\n\ttests: x", "line 2"},
		"A list":                {"- a", "line 1: cases.yaml must be a mapping"},
		"Two documents":         {run + "tests: [{output: x}]\n---\na: b", "more than one document"},
		"No tests":              {run, "has no tests"},
		"Empty tests":           {run + "tests: []", "line 2: there are no tests here"},
		"Unknown field":         {run + "test:\n  - output: x", `line 2: cases.yaml has no field "test"; it has build,`},
		"Unknown field of test": {run + "tests:\n  - output: x\n    inptu: y", `line 4: a test has no field "inptu"; it has args, checker_args, compare,`},
		"Field twice":           {run + "run: q\ntests: [{output: x}]", `line 2: "run" is given twice`},
		"Merge key":             {run + "tests:\n  - &a {output: x}\n  - {<<: *a}", `no field "<<"`},
		"No value":              {"run:\ntests: [{output: x}]", `line 1: "run" has no value`},
		"Nothing to run":        {"tests: [{output: x}]", "line 1: this test has nothing to run"},
		"Nothing expected":      {run + "tests: [{exit: any}]", "nothing could fail it"},
		"No file":               {run + "tests:\n  - output: {file: nope}", `line 3: the harness folder has no file "nope"`},
		"File too large":        {run + "tests: [{output: {file: huge.out}}]", "an expected output has at most"},
		"Escaping file":         {run + "tests: [{output: x, files: {../a: b}}]", "it may leave its place"},
		"File twice":            {run + "tests: [{output: x, files: {a: b, a: c}}]", "given twice"},
		"Time":                  {run + "limits: {time: soon}\ntests: [{output: x}]", `line 2: "soon" must be a time`},
		"Time zero":             {run + "limits: {time: 0}\ntests: [{output: x}]", "must be a time"},
		"Time negative":         {run + "limits: {wall: -1s}\ntests: [{output: x}]", "must be a time"},
		"Time huge":             {run + "limits: {time: 1e300}\ntests: [{output: x}]", "must be a time"},
		"Size":                  {run + "limits: {memory: much}\ntests: [{output: x}]", `"much" must be a size`},
		"Pids":                  {run + "limits: {pids: 0}\ntests: [{output: x}]", "whole number from 1"},
		"Compare":               {run + "compare: fuzzy\ntests: [{output: x}]", `line 2: "fuzzy" must be one of exact,`},
		"Tolerance":             {run + "compare: {by: tokens, tolerance: 1}\ntests: [{output: x}]", "only a comparison by float"},
		"Case":                  {run + "compare: {by: checker, ignore_case: true}\ntests: [{output: x}]", "minds the case"},
		"Pattern":               {run + "tests: [{output: '(', compare: regex}]", "is no pattern"},
		"No checker":            {run + "tests: [{compare: checker}]", "the file has none"},
		"Checker without run":   {run + "checker: {files: [check.py]}\ntests: [{compare: checker}]", "line 2: the checker has nothing to run"},
		"Nothing to compare":    {run + "tests: [{compare: tokens}]", "no output to compare with"},
		"Exit":                  {run + "tests: [{exit: 300}]", "from 0 to 255"},
		"When":                  {run + "tests: [{output: x, when: public}]", "one of always, final"},
		"OnlyFinal":             {run + "when: final\ntests: [{output: x}]", "public ones need a test as well"},
		"Visibility":            {run + "tests: [{output: x, visibility: secret}]", "one of public, hidden"},
		"Points negative":       {run + "tests: [{output: x, points: -1}]", "number from 0"},
		"Points NaN":            {run + "tests: [{output: x, points: .nan}]", "number from 0"},
		"Points of both":        {run + "groups: [{name: g, points: 3, tests: [{output: x, points: 1}]}]", "have none of their own"},
		"Group without name":    {run + "groups: [{tests: [{output: x}]}]", "this group has no name"},
		"Groups of one name":    {run + "groups: [{name: g, tests: [{output: x}]}, {name: g, tests: [{output: x}]}]", "another group"},
		"Need later":            {run + "groups: [{name: g, needs: [h], tests: [{output: x}]}, {name: h, tests: [{output: x}]}]", "no group before this one"},
		"Tests of one name":     {run + "tests: [{name: a, output: x}, {name: a, output: x}]", "another test"},
		"Name of two lines":     {run + "tests: [{name: \"a\\nb\", output: x}]", "on one line"},
		"From nothing":          {run + "tests: [{from: 'x/*.in'}]", "no file of the harness folder matches"},
		"From without output":   {run + "tests: [{from: 'lone/*.in'}]", "has no lone/a.out"},
		"From with input":       {run + "tests: [{from: 'in/*.in', input: x}]", "has no name, input or output"},
		"From no pattern":       {run + "tests: [{from: '[', output: x}]", "has no name, input or output"},
		"Bad variable":          {run + "env: {A-B: x}\ntests: [{output: x}]", "cannot be an environment variable"},
		"Empty command":         {"run: []\ntests: [{output: x}]", "has no words"},
		"Blank command":         {"run: ' '\ntests: [{output: x}]", "is no command"},
		"Aliases of aliases":    {run + bomb(), "too large or too deep"},
		"Alias of itself":       {"a: &a [*a]", "line"},
		"Binary":                {run + "tests: [{output: !!binary aGVsbG8=}]", "single value"},
		"Folder missing":        {run + "files: [nowhere/]\ntests: [{output: x}]", "no file \"nowhere\""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := cases.Parse([]byte(test.yaml), files)
			require.Error(t, err)
			assert.Equal(t, core.CodeInvalid, core.CodeOf(err))
			assert.Contains(t, err.Error(), test.says)
			assert.Contains(t, err.Error(), "cases.yaml")
		})
	}
}

// bomb is a document of a few lines that stands for a billion.
func bomb() string {
	var b strings.Builder
	b.WriteString("tests:\n  - &a0 {output: x}\n")
	for i := range 9 {
		fmt.Fprintf(&b, "  - &a%d [%s]\n", i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 10), ","))
	}
	return b.String()
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("run: p\ntests: [{output: x}]"))
	f.Add([]byte("build: [a]\nrun: [p]\nlimits: {time: 1}\ngroups: [{name: g, points: 1, tests: [{from: 'in/*.in'}]}]"))
	f.Add([]byte("a: &a [*a]\n? [x]\n: y"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := cases.Parse(raw, files)
		if err != nil {
			require.Equal(t, core.CodeInvalid, core.CodeOf(err))
			return
		}
		require.NotEmpty(t, p.Tests())
		for _, test := range p.Tests() {
			require.NotEmpty(t, test.Run)
			require.Positive(t, test.Limits.Time)
			require.Positive(t, test.Limits.Wall)
		}
	})
}
