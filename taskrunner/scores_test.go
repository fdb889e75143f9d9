package taskrunner

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"drover/core"
	"drover/core/classes/portable"
	"drover/core/school"
)

func (s *campus) scores() *Scores { return &Scores{Store: s.store, downloads: s.downloads()} }

func TestAssignmentCSV(t *testing.T) { // W16
	t.Parallel()
	s := newClass(t)
	s.graded("cs/hw1", "ann", 0, 1)
	s.graded("cs/hw1", "ann", time.Minute, 7.25)
	bobs := s.graded("cs/hw1", "bob", time.Hour, 3)
	require.NoError(t, s.store.SetGrade(s.ctx, bobs.ID, &school.Grade{Score: -2, By: "tea", Reason: "copied"}))
	s.graded("cs/hw1", "tea", 0, 10)
	s.submit("cs/hw1", "zoe", time.Second, nil)
	s.graded("cs/hw2", "ann", 0, 99)
	const rows = "ann,7.25,2026-10-01-12-01-00\nbob@example.org,-2,2026-10-01-13-00-00\nzoe,None,2026-10-01-12-00-01\n"
	for bare, want := range map[bool]string{true: rows, false: "Username,Score,Submitted\n" + rows} {
		end, err := s.run(s.scores().AssignmentCSV(), school.AssignmentCSVArgs{Class: "cs", Assignment: "hw1", NoHeader: bare})
		require.NoError(t, err)
		require.Equal(t, want, string(s.fetch(end.Download)))
		require.Equal(t, "3 rows", end.Note)
		require.Equal(t, "cs-hw1.csv", end.Download.Name)
		require.Equal(t, "text/csv; charset=utf-8", end.Download.Type)
	}
	_, err := s.run(s.scores().AssignmentCSV(), school.AssignmentCSVArgs{Class: "cs", Assignment: "no"})
	require.True(t, core.Is(err, core.CodeNotFound), err)
}

func TestGradebook(t *testing.T) { // W17
	t.Parallel()
	s := newClass(t)
	s.user("cas", "", "cs", core.RoleStudent)
	s.graded("cs/hw1", "ann", 0, 1)
	s.graded("cs/hw1", "ann", time.Minute, 7.5)
	s.graded("cs/hw2", "bob", 0, 3)
	s.submit("cs/hw1", "bob", 0, nil)
	s.graded("cs/hw1", "tea", 0, 10)
	s.graded("cs/hw1", "zoe", 0, 10)
	for fill, want := range map[string]string{
		"0":     "Username,hw1,hw2\nann,7.5,0\nbob@example.org,0,3\ncas,0,0\n",
		"":      "Username,hw1,hw2\nann,7.5,\nbob@example.org,,3\ncas,,\n",
		"=1+1":  "Username,hw1,hw2\nann,7.5,'=1+1\nbob@example.org,'=1+1,3\ncas,'=1+1,'=1+1\n",
		"-1":    "Username,hw1,hw2\nann,7.5,-1\nbob@example.org,-1,3\ncas,-1,-1\n",
		"n/a,x": "Username,hw1,hw2\nann,7.5,\"n/a,x\"\nbob@example.org,\"n/a,x\",3\ncas,\"n/a,x\",\"n/a,x\"\n",
	} {
		end, err := s.run(s.scores().Gradebook(), school.GradebookArgs{Class: "cs", Fill: fill})
		require.NoError(t, err)
		require.Equal(t, want, string(s.fetch(end.Download)))
		require.Equal(t, "3 rows", end.Note)
		require.Equal(t, "cs-gradebook.csv", end.Download.Name)
	}
	end, err := s.run(s.scores().Gradebook(), map[string]string{"class": "cs"})
	require.NoError(t, err)
	require.Contains(t, string(s.fetch(end.Download)), "cas,0,0\n", "0 unless something else is asked for")
	_, err = s.run(s.scores().Gradebook(), school.GradebookArgs{Class: "no"})
	require.True(t, core.Is(err, core.CodeNotFound), err)
}

// A class of several pages of members; some submit nothing, some teach,
// some left and some come later in the order than any who did.
func TestAGradebookOfManyPages(t *testing.T) {
	t.Parallel()
	s := newCampus(t)
	s.class("cs", "hw1", "hw2", "hw3")
	want := [][]string{{"Username", "hw1", "hw2", "hw3"}}
	const users = membersAtOnce + 2*submissionsAtOnce
	for i := range users {
		user := fmt.Sprintf("u%05d", i)
		role := core.RoleStudent
		if i%7 == 0 {
			role = core.RoleAssistant
		}
		if i%11 == 0 {
			role = ""
		}
		s.user(user, "", "cs", role)
		row := []string{user, "-", "-", "-"}
		for hw := range 3 {
			if i%(hw+2) == 0 {
				sub := s.submit(fmt.Sprint("cs/hw", hw+1), user, 0, nil)
				score := float64(i + hw)
				require.NoError(t, s.store.SetGrade(s.ctx, sub.ID, &school.Grade{Score: score, By: "tea", Reason: "so"}))
				row[hw+1] = strconv.Itoa(i + hw)
			}
		}
		if role == core.RoleStudent {
			want = append(want, row)
		}
	}
	for i := range want[1:] {
		for j, c := range want[i+1] {
			want[i+1][j] = strings.Replace(c, "-", "'-", 1) // no number
		}
	}
	end, err := s.run(s.scores().Gradebook(), school.GradebookArgs{Class: "cs", Fill: "-"})
	require.NoError(t, err)
	got, err := csv.NewReader(bytes.NewReader(s.fetch(end.Download))).ReadAll()
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestScoreAsText(t *testing.T) {
	t.Parallel()
	for f, want := range map[float64]string{
		0: "0", -0.5: "-0.5", 1e20: "100000000000000000000", 1.0 / 3: "0.3333333333333333", math.Inf(1): "None", math.Inf(-1): "None", math.NaN(): "None",
	} {
		require.Equal(t, want, score(&f, "None"))
	}
	require.Equal(t, "x", score(nil, "x"))
}

// Whatever is in a table: no cell begins like a formula unless it is a number, and a
// reader finds what was meant, apart from control characters and the apostrophe.
func TestTablesAreSafeAndReadBack(t *testing.T) {
	t.Parallel()
	risky := rapid.StringOfN(rapid.RuneFrom([]rune("=+-@\t\r\n '\",;|0aA＝＋－＠﹦−\ufeff\u200b\u00a0“`")), 0, 8, -1)
	text := rapid.OneOf(risky, rapid.String(), rapid.Custom(func(t *rapid.T) string {
		f := rapid.Float64().Draw(t, "score")
		return score(&f, "None")
	}))
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(1, 4).Draw(t, "width")
		meant := rapid.SliceOfN(rapid.SliceOfN(text, width, width), 1, 5).Draw(t, "rows")
		var out bytes.Buffer
		table := table{Writer: csv.NewWriter(&out), job: &Job{}}
		for _, row := range meant {
			// A row of one empty cell is an empty line, which no reader keeps.
			require.NoError(t, table.row(append([]string{"user"}, row...)...))
		}
		table.Flush()
		got, err := csv.NewReader(&out).ReadAll()
		require.NoError(t, err)
		require.Len(t, got, len(meant))
		for i := range got {
			for j, c := range got[i][1:] {
				require.False(t, begins(c), "%q begins like a formula", c)
				want := strings.Map(func(r rune) rune {
					if unicode.IsControl(r) {
						return ' '
					}
					return r
				}, meant[i][j])
				require.True(t, c == want || c == portable.Cell(want), "%q was to be %q", c, want)
			}
		}
	})
}

// begins says if a spreadsheet could take a cell for a formula; more simply said
// than in what is tested.
func begins(c string) bool {
	if _, err := strconv.ParseFloat(c, 64); err == nil && !strings.ContainsAny(c, "+eExXpP_") {
		return false
	}
	for _, r := range c {
		if unicode.IsSpace(r) || slices.Contains([]rune("\ufeff\u200b"), r) {
			continue
		}
		return slices.Contains([]rune("=+-@＝＋－＠﹦−\t\r"), r)
	}
	return false
}
