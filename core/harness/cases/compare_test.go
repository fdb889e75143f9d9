package cases_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core/harness/cases"
)

func TestRight(t *testing.T) {
	t.Parallel()
	const no = "no: "
	float := cases.Compare{By: cases.Float, Absolute: 1e-3, Relative: 1e-3}
	tests := []struct {
		how       cases.Compare
		got, want string
		where     string // "" is right
	}{
		{cases.Compare{By: cases.Exact}, "a\n", "a\n", ""},
		{cases.Compare{By: cases.Exact}, "a", "a\n", "line 1 differs"},
		{cases.Compare{By: cases.Exact}, "a\nb\n", "a\nc\n", "line 2 differs"},
		{cases.Compare{By: cases.Trimmed}, "a \r\nb\t\n\n \n", "a\nb", ""},
		{cases.Compare{By: cases.Trimmed}, " a", "a", "line 1 differs"},
		{cases.Compare{By: cases.Trimmed}, "a\n\nb", "a\nb", "line 2 differs"},
		{cases.Compare{By: cases.Trimmed}, "", "\n", ""},
		{cases.Compare{By: cases.Trimmed}, "", "a", "it ends after line 0"},
		{cases.Compare{By: cases.Trimmed}, "a\nb", "a", "there is more after line 1"},
		{cases.Compare{By: cases.Trimmed}, "A", "a", "line 1 differs"},
		{cases.Compare{By: cases.Trimmed, IgnoreCase: true}, "ÄB", "äb", ""},
		{cases.Compare{By: cases.Tokens}, "1\n 2  3", "1 2 3\n", ""},
		{cases.Compare{By: cases.Tokens}, "12 3", "1 23", "word 1 differs"},
		{cases.Compare{By: cases.Tokens}, "1", "1 2", "it ends after word 1"},
		{cases.Compare{By: cases.Tokens}, "1 2", "1", "there is more after word 1"},
		{cases.Compare{By: cases.Tokens}, "1.0", "1", "word 1 differs"},
		{cases.Compare{By: cases.Exact, IgnoreCase: true}, "A\n", "a\n", ""},
		{cases.Compare{By: cases.Exact, IgnoreCase: true}, "A", "a\n", "line 1 differs"},
		{cases.Compare{By: cases.Float, Absolute: 1e-3}, "1000.9", "1000", "word 1 differs"},
		{cases.Compare{By: cases.Float, Relative: 1e-3}, "0.0001", "0", "word 1 differs"},
		{cases.Compare{By: cases.Float, Relative: 0.5}, "1.9", "1", "word 1 differs"}, // of the expected one
		{float, "1.0009", "1", ""},
		{float, "1.1", "1", "word 1 differs"},
		{float, "1000.9 x", "1000 x", ""},
		{float, "1e3", "1000", ""},
		{float, "nan", "1", "word 1 differs"},
		{float, "NaN", "NaN", ""},
		{float, "inf", "1e308", "word 1 differs"},
		{float, "1e999", "1e308", "word 1 differs"},
		{float, "0x1", "1", "word 1 differs"},
		{float, "1_0", "10", "word 1 differs"},
		{cases.Compare{By: cases.Regex}, "value 17\n", `value \d+`, ""},
		{cases.Compare{By: cases.Regex}, "value 17 and more", `value \d+`, "it does not match the pattern"},
		{cases.Compare{By: cases.Regex}, "a\nb\n", "a.b\n", ""},
		{cases.Compare{By: cases.Regex, IgnoreCase: true}, "YES", "yes|no", ""},
		{cases.Compare{By: cases.Regex}, "xyes", "yes|no", "it does not match the pattern"},
	}
	for _, test := range tests {
		ok, where, err := test.how.Right([]byte(test.got), []byte(test.want))
		require.NoError(t, err)
		if test.where == "" {
			assert.True(t, ok, "%s %q %q: %s%s", test.how.By, test.got, test.want, no, where)
			continue
		}
		assert.False(t, ok, "%s %q %q", test.how.By, test.got, test.want)
		assert.Equal(t, test.where, where)
	}
	how := cases.Compare{By: cases.Regex}
	_, _, err := how.Right([]byte("x"), []byte("("))
	require.Error(t, err)
}

func TestJudge(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		code    int
		out     string
		verdict string
		share   float64
		fault   bool
	}{
		{0, "", cases.Accepted, 1, false},
		{42, "", cases.Accepted, 1, false},
		{1, "no", cases.WrongAnswer, 0, false},
		{2, "", cases.WrongAnswer, 0, false},
		{43, "", cases.WrongAnswer, 0, false},
		{7, "0.25 of it", cases.WrongAnswer, 0.25, false},
		{7, "points 0.5", cases.WrongAnswer, 0.5, false},
		{7, "1", cases.Accepted, 1, false},
		{7, "", "", 0, true},
		{7, "2", "", 0, true},
		{7, "-1", "", 0, true},
		{7, "NaN", "", 0, true},
		{3, "", "", 0, true},
		{127, "", "", 0, true},
		{139, "", "", 0, true},
	} {
		var c cases.Checker
		var o cases.Outcome
		fault := c.Judge(&cases.Test{}, &o, test.code, test.out, "")
		assert.Equal(t, test.fault, fault != "", "%+v", test)
		if !test.fault {
			assert.Equal(t, test.verdict, o.Verdict, "%+v", test)
			assert.InDelta(t, test.share, o.Share, 0, "%+v", test)
		}
	}
	named := cases.Checker{Run: cases.Command{"v", "{input}", "{answer}", "."}}
	assert.Equal(t, cases.Command{"v", "input", "answer", ".", "x"}, named.Command(cases.Command{"x"}))
}

// What a checker says to staff is in no message, and what it says to all is.
func TestStaffNotes(t *testing.T) {
	t.Parallel()
	c := cases.Checker{Word: "checker", Staff: true}
	plan := &cases.Plan{Groups: []cases.Group{{Name: "g", Tests: []cases.Test{{Group: "g", Name: "a", Points: 1}, {Group: "g", Name: "b", Points: 1}}}}}
	r := cases.Report{Outcomes: make([]cases.Outcome, 2)}
	require.Empty(t, c.Judge(&cases.Test{}, &r.Outcomes[0], 43, "for teams\n", "for judges\n"))
	require.Empty(t, c.Judge(&cases.Test{}, &r.Outcomes[1], 7, "", "0.5\nhalf\n"))
	assert.InDelta(t, 0.5, r.Outcomes[1].Share, 0)
	assert.Equal(t, "g/a: for judges\ng/b: 0.5\nhalf\n", r.Notes(plan))
	text, err := r.JSON(plan)
	require.NoError(t, err)
	assert.Contains(t, string(text), "for teams")
	assert.NotContains(t, string(text), "judges")
	assert.NotContains(t, string(text), "half")
	c.Staff = false
	require.Empty(t, c.Judge(&cases.Test{}, &r.Outcomes[0], 43, "", "for judges\n"))
	assert.Equal(t, "for judges", r.Outcomes[0].Note)
}
