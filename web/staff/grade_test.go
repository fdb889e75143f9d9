package staff_test

import (
	"net/http"
	"strings"
	"testing"

	"drover/core/classes"

	"github.com/stretchr/testify/require"

	"drover/core/school"
)

func TestAGradeIsChangedAndTakenBack(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	s := w.submit("ann", "hw1")
	w.grade(nil)
	at := "/submissions/" + s.ID + "/grade"
	text := w.shows("tina", at)
	require.Contains(t, text, `value="7"`)
	require.Contains(t, text, "Nobody has changed a grade here")
	require.NotContains(t, text, `value="back"`)

	text = again(t, w.post("tina", at, "score", "many"+evil, "reason", "because"), "is not a number")
	require.Contains(t, text, `value="many&#34;&gt;`)
	require.Contains(t, text, `value="because"`)
	require.NotContains(t, text, "<script>alert")
	again(t, w.post("tina", at, "score", "9"), "without a reason")
	again(t, w.post("tina", at, "reason", "x"), "the number of points")
	again(t, w.post("tina", at, "score", "NaN", "reason", "x"), "is not a number")

	require.Equal(t, at, leads(t, w.post("tina", at, "score", "9,5", "max_score", "12", "reason", "late bus "+evil)))
	got, err := w.reg.Store.GetSubmission(t.Context(), s.ID)
	require.NoError(t, err)
	require.InDelta(t, 9.5, got.Grade.Score, 0)
	require.InDelta(t, 12, *got.Grade.MaxScore, 0)
	require.Equal(t, "tina", got.Grade.By)
	text = w.shows("tess", at)
	require.Contains(t, text, "from 7/10 to 9.5/12 by tina")
	require.Contains(t, text, "9.5 of 12")
	require.NotContains(t, text, "<script>alert")

	again(t, w.post("tess", at, "do", "back"), "without a reason")
	leads(t, w.post("tess", at, "do", "back", "score", "rubbish", "reason", "it was right"))
	got, err = w.reg.Store.GetSubmission(t.Context(), s.ID)
	require.NoError(t, err)
	require.Nil(t, got.Grade)
	require.Equal(t, 2, strings.Count(w.shows("tess", at), "changes the grade of ann"))

	newer := w.submit("ann", "hw1")
	leads(t, w.post("tina", at, "score", "5", "reason", "this one"))
	got, err = w.reg.Store.GetSubmission(t.Context(), newer.ID)
	require.NoError(t, err)
	require.Nil(t, got.Grade, "it is the other one that is graded")
	require.Equal(t, http.StatusForbidden, w.get("ann", at).Code)
	require.Equal(t, http.StatusForbidden, w.post("ann", at, "score", "10", "reason", "please").Code)
	require.Equal(t, http.StatusNotFound, w.get("cleo", at).Code)
	require.Equal(t, http.StatusNotFound, w.post("theo", at, "score", "10", "reason", "please").Code)
}

func TestDeadlinesAreGivenAndTakenBack(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	at := hw1 + "/deadlines"
	require.Contains(t, w.shows("tina", at), "Nobody has deadlines of their own")
	late := typedMoment(start + 5*day)
	text := again(t, w.post("tina", at, "user", "nobody"+evil, "cutoff", late, "reason", "ill"), "nobody")
	require.Contains(t, text, `value="nobody&#34;&gt;`)
	require.Contains(t, text, `value="`+late+`"`)
	require.Contains(t, text, `value="ill"`)
	require.NotContains(t, text, "<script>alert")
	again(t, w.post("tina", at, "user", "ann", "cutoff", "soon"), "is not a date")
	again(t, w.post("tina", at, "user", "ann"), "until when")
	again(t, w.post("tina", at, "user", "ann", "cutoff", typedMoment(start)), "before")
	require.Equal(t, at, leads(t, w.post("tina", at, "user", "ann", "cutoff", late, "reason", "ill "+evil)))
	own, err := w.reg.Store.Deadlines(t.Context(), "cs101", "hw1", "ann")
	require.NoError(t, err)
	require.Equal(t, start+5*day, own[0].Cutoff)
	text = w.shows("tess", at+"?user=ann")
	require.Contains(t, text, `value="`+late+`"`, "the form begins with what ann has")
	require.NotContains(t, text, "<script>alert")
	require.Contains(t, text, "ill &#34;")
	leads(t, w.post("tina", at+"/remove", "user", "ann"))
	own, err = w.reg.Store.Deadlines(t.Context(), "cs101", "hw1", "ann")
	require.NoError(t, err)
	require.Empty(t, own)
	again(t, w.post("tina", at+"/remove", "user", "No Name"), "")
}

func TestDeadlinesArePaged(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	var list strings.Builder
	list.WriteString("handle\n")
	for i := range 130 {
		list.WriteString(zed(i) + "\n")
	}
	_, err := w.reg.ImportRoster(t.Context(), w.as("root"), "cs101", strings.NewReader(list.String()), classes.ImportOptions{DryRun: false})
	require.NoError(t, err)
	for i := range 130 {
		require.NoError(t, w.reg.Store.PutDeadline(t.Context(), school.Deadline{Class: "cs101", Assignment: "hw1", User: zed(i), Due: start, By: "tess", Since: start}))
	}
	text := w.shows("tess", hw1+"/deadlines")
	require.Contains(t, text, `href="?after=zed-099"`)
	require.NotContains(t, text, zed(100))
	text = w.shows("tess", hw1+"/deadlines?after=zed-099")
	require.Contains(t, text, zed(100))
	require.Contains(t, text, zed(129))
	require.NotContains(t, text, zed(99)+"<")
	require.NotContains(t, text, `rel="next"`)
}
