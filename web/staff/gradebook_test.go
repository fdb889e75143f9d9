package staff_test

import (
	"encoding/csv"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/school"
)

// table reads a CSV.
func (w *fixture) table(path string) [][]string {
	w.t.Helper()
	rows, err := csv.NewReader(strings.NewReader(w.shows("tina", path))).ReadAll()
	require.NoError(w.t, err)
	return rows
}

// A gradebook shows what counts: after penalties that late days do not cover, with what people graded.
func TestGradebookShowsWhatCounts(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	c, err := w.reg.Store.GetClass(t.Context(), "cs101")
	require.NoError(t, err)
	c.LateDays = 1
	_, err = w.reg.Store.PutClass(t.Context(), c)
	require.NoError(t, err)
	w.graded("hw1", func(as *school.Assignment) { as.Due, as.Cutoff, as.Penalty = start-day*3/2, 0, 10 })
	w.assignment("hw2", func(as *school.Assignment) { as.Due, as.Cutoff = start-1, 0 })
	s := w.submit("ann", "hw1")
	w.grade(nil)
	const at = "/classes/cs101/gradebook"

	text := w.shows("tina", at)
	require.Contains(t, text, ">6.3</a><small>late &#43;2</small>", "7 of 10, two days late, one of them free")
	require.Contains(t, text, "<small>1 late day</small>")
	require.Contains(t, text, "<small>missing</small>")
	require.Contains(t, text, "<small>/ 10</small>")
	require.Contains(t, text, `<td class="num stands o-partial"><a`)
	_, legend, _ := strings.Cut(text, `<p class="soft legend">`)
	require.Regexp(t, `^<span class="pill o-partial">(?s).*some points</span> ✎`, legend)
	require.NotContains(t, text, `name="score"`)
	cell := at + "?cell=" + url.QueryEscape("ann/hw1")
	require.Contains(t, w.shows("tina", cell), `name="score" inputmode="decimal" value="6.3"`)

	again(t, w.post("tina", cell, "user", "ann", "assignment", "hw1", "submission", s.ID, "score", "9"), "without a reason")
	text = again(t, w.post("tina", cell, "user", "ann", "assignment", "hw1", "submission", s.ID, "score", "many"+evil, "reason", "x"), "is not a number")
	require.Contains(t, text, `value="many&#34;&gt;`)
	require.Equal(t, at+"?after=#ann", leads(t, w.post("tina", cell, "user", "ann", "assignment", "hw1", "submission", s.ID, "score", "9,5", "reason", "was right")))
	require.Contains(t, w.shows("tina", at), `title="tina: was right">9.5 ✎</a>`)
	require.Contains(t, w.shows("tina", "/classes/cs101/students/ann/assignments/hw1"), "graded by tina")

	require.Equal(t, [][]string{
		{"Name", "User", "E-mail", "Section", "hw1", "hw2", "Total", "Late days"},
		{"Maximum", "", "", "", "10", "0", "10", "1"},
		{"ANN", "ann", "ann@example.org", "", "9.5", "", "9.5", "0"},
		{"CLEO", "cleo", "cleo@example.org", "", "", "", "0", "0"},
	}, w.table(at+"/file"))
	require.Equal(t, []string{"Student", "ID", "SIS User ID", "SIS Login ID", "Section", "The hw1", "The hw2"}, w.table(at + "/file?form=canvas")[0])
	require.Equal(t, []string{"ann", "ann@example.org", "9.5", ""}, w.table(at + "/file?form=moodle")[1])
	require.Equal(t, "PK", w.shows("tina", at+"/file?form=xlsx")[:2])
	require.Equal(t, http.StatusNotFound, w.get("tina", at+"/file?form=doc").Code)
	require.Equal(t, http.StatusForbidden, w.get("ann", at+"/file").Code)
	require.Equal(t, http.StatusNotFound, w.get("theo", at+"/file").Code)
}

func TestGradebookIsFiltered(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	at := leads(t, w.post("tess", "/classes/cs101/roster/change", "member", "ann", "do", "section", "section", "=B"))
	require.Equal(t, "/classes/cs101/roster", at)
	require.Contains(t, w.shows("tess", at), ">=B</td>")
	const book = "/classes/cs101/gradebook"
	text := w.shows("tina", book+"?section=%3DB")
	require.Contains(t, text, `id="ann"`)
	require.NotContains(t, text, `id="cleo"`)
	require.Contains(t, text, `<option selected>=B</option>`)
	text = w.shows("tina", book+"?name=LEO%40ex")
	require.Contains(t, text, `id="cleo"`)
	require.NotContains(t, text, `id="ann"`)
	require.Contains(t, w.shows("tina", book+"?name=nobody"), "No student matches.")
	require.Equal(t, "'=B", w.table(book + "/file?name=ann")[2][3], "no formula")
	require.NoError(t, w.reg.Enrol(t.Context(), w.as("root"), "cs101", "ann", core.RoleAssistant))
	members, err := w.reg.Store.Members(t.Context(), "cs101", "", 1)
	require.NoError(t, err)
	require.Equal(t, "=B", members[0].Section, "another role leaves the section")
}

// A gradebook of 200 students and 30 assignments reads the store as often as one of two students.
func TestGradebookPages(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for range 60 {
		user := "s" + strings.ToLower(core.Key("x", int(w.seq)))
		w.seq++
		_, err := w.reg.Store.PutUser(t.Context(), school.User{Handle: user})
		require.NoError(t, err)
		require.NoError(t, w.reg.Store.Enrol(t.Context(), school.Enrolment{Class: "cs101", User: user, Role: core.RoleStudent}))
	}
	w.assignment("hw1")
	text := w.shows("tina", "/classes/cs101/gradebook")
	require.Equal(t, 50, strings.Count(text, `<tr id=`))
	_, next, _ := strings.Cut(text, `rel="next" href="`)
	next, _, _ = strings.Cut(next, `"`)
	require.Equal(t, 12, strings.Count(w.shows("tina", "/classes/cs101/gradebook"+strings.ReplaceAll(next, "&amp;", "&")), `<tr id=`))
	require.Len(t, w.table("/classes/cs101/gradebook/file"), 64)
}

// What counts is set by forms.
func TestRulesAreSetByForms(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1", func(as *school.Assignment) { as.AllowFinal = false })
	again(t, w.post("tess", hw1+"/edit", "revision", "1", "title", "x", "penalty", "ten"), "not a number from 0 to 100")
	again(t, w.post("tess", hw1+"/edit", "revision", "1", "title", "x", "required", "../x"), "required file")
	leads(t, w.post("tess", hw1+"/edit", "revision", "1", "title", "x", "counts", "final", "grace", "30", "penalty", "12,5 %", "floor", "50", "required", "a.c\r\n\r\n b.h \r\n"))
	as, err := w.reg.Store.GetAssignment(t.Context(), "cs101", "hw1")
	require.NoError(t, err)
	require.True(t, as.AllowFinal)
	require.Equal(t, school.Rules{Counts: school.CountsFinal, Grace: 30, Penalty: 12.5, Floor: 50, Required: []string{"a.c", "b.h"}}, as.Rules)
	text := w.shows("tess", hw1+"/edit")
	require.Contains(t, text, `value="final" checked`)
	require.Contains(t, text, "a.c\nb.h</textarea>")
	leads(t, w.post("tess", "/classes/cs101/edit", "revision", "1", "title", "x", "late_days", "3"))
	c, err := w.reg.Store.GetClass(t.Context(), "cs101")
	require.NoError(t, err)
	require.Equal(t, 3, c.LateDays)
}
