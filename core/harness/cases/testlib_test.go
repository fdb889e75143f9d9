package cases_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core/harness/cases"
)

// What checkers and interactors of testlib end with and say last is a verdict, points included.
func TestTestlibVerdicts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		code    int
		says    string
		outOf   float64
		verdict string
		share   float64
		fault   string
	}{
		{0, "ok 3 numbers\n", 1, cases.Accepted, 1, ""},
		{0, "", 1, cases.Accepted, 1, ""},
		{1, "wrong answer 1st numbers differ\n", 1, cases.WrongAnswer, 0, ""},
		{2, "wrong output format Unexpected end of file\n", 1, cases.WrongAnswer, 0, ""},
		{4, "", 1, cases.WrongAnswer, 0, ""},
		{8, "unexpected eof\n", 1, cases.WrongAnswer, 0, ""},
		{3, "FAIL the answer is missing\n", 1, "", 0, "fault of its own (FAIL the answer is missing)"},
		{7, "points 0.5\n", 1, cases.WrongAnswer, 0.5, ""},
		{7, "points 5 half of it\n", 10, cases.WrongAnswer, 0.5, ""},
		{7, "debugging\n\npoints 10\n", 10, cases.Accepted, 1, ""},
		{7, "points 0\n", 10, cases.WrongAnswer, 0, ""},
		{7, "points 0\n", 0, cases.WrongAnswer, 0, ""},
		{7, "points 11\n", 10, "", 0, "it gives 11 points, of 10"},
		{7, "points -1\n", 10, "", 0, "does not begin with points and a number"},
		{7, "points nan\n", 10, "", 0, "does not begin with points and a number"},
		{7, "points points_info=a\n", 10, "", 0, "does not begin with points and a number"},
		{7, "0.5\n", 1, "", 0, "does not begin with points and a number"},
		{50, "partially correct (50) a quarter\n", 1, cases.WrongAnswer, 0.25, ""},
		{0, "partially correct (0) nothing\n", 1, cases.WrongAnswer, 0, ""},
		{3, "partially correct (3)\n", 1, cases.WrongAnswer, 0.015, ""},
		{200, "partially correct (200) all\n", 5, cases.Accepted, 1, ""},
		{201, "partially correct (201)\n", 1, "", 0, "a number from 0 to 200"},
		{42, "", 1, "", 0, "exit code 42, which is none of testlib's"},
		{139, "", 1, "", 0, "exit code 139"},
	} {
		c := cases.Checker{Word: "checker", Testlib: true}
		var o cases.Outcome
		fault := c.Judge(&cases.Test{OutOf: test.outOf}, &o, test.code, "0.9 is what the author prints\n", test.says)
		if test.fault != "" {
			assert.Contains(t, fault, test.fault, "%+v", test)
			continue
		}
		require.Empty(t, fault, "%+v", test)
		assert.Equal(t, test.verdict, o.Verdict, "%+v", test)
		assert.InDelta(t, test.share, o.Share, 1e-9, "%+v", test)
		assert.NotContains(t, o.Note, "author")
	}
}

// Points are out of those of the test, or of its group.
func TestTestlibPoints(t *testing.T) {
	t.Parallel()
	p := plan(t, `
run: ./a
checker: {run: ./check, testlib: true}
compare: checker
tests: [{input: x}, {input: y, points: 4}]
groups: [{name: g, points: 10, award: least, tests: [{input: x}, {input: y}]}]
`)
	var outOf []float64
	for _, test := range p.Tests() {
		outOf = append(outOf, test.OutOf)
	}
	assert.Equal(t, []float64{1, 4, 10, 10}, outOf)
	assert.True(t, p.Checker.Testlib)
	for text, want := range map[string]string{
		"checker: {run: ./check, testlib: true, passes: 3}":    "neither passes nor after",
		"interactor: {run: ./talk, testlib: true, after: ./b}": "neither passes nor after",
		"grader: {run: ./g, points: 3, testlib: true}":         `no field "testlib"`,
		"checker: {run: ./check, testlib: yes please}":         "line 2",
	} {
		_, err := cases.Parse([]byte("run: ./a\n"+text+"\ntests: [{output: x}]\n"), files)
		assert.ErrorContains(t, err, want, text)
	}
}

// Tests are found under the names that Polygon gives them.
func TestNamesOfPolygon(t *testing.T) {
	t.Parallel()
	tests := plan(t, "run: ./a\ntests: [{from: 'tests/[0-9][0-9]'}]\n").Tests()
	require.Len(t, tests, 2)
	assert.Equal(t, "02", tests[1].Name)
	assert.Equal(t, cases.Content{Path: "tests/02"}, tests[1].Input)
	assert.Equal(t, cases.Content{Path: "tests/02.a"}, *tests[1].Output)
}
