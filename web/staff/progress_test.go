package staff_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core/classes"
)

func TestProgress(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	text := w.shows("tina", hw1+"/progress")
	require.Contains(t, text, "0 of 2 students")
	require.Contains(t, text, "There are no scores yet")
	require.Contains(t, text, `<a href="/classes/cs101/students/ann">ANN</a> <small class="soft">ann</small>`, "has not submitted")
	require.Contains(t, text, `<a href="/classes/cs101/students/cleo">CLEO</a>`)
	require.NotContains(t, text, "/students/tina", "teaches")
	require.NotContains(t, w.shows("tina", hw1+"/progress?after=ann"), "/students/ann")
	for user, score := range map[string]float64{"ann": 7.5, "cleo": 10} {
		w.submit(user, "hw1")
		most := 10.0
		_, err := w.reg.ChangeGrade(t.Context(), w.as("tess"), classes.GradeChange{Class: "cs101", Assignment: "hw1", User: user, Score: &score, MaxScore: &most, Reason: "x"})
		require.NoError(t, err)
	}
	text = w.shows("tina", hw1+"/progress")
	require.Contains(t, text, "2 of 2 students")
	require.Regexp(t, `(?s)<rect class="o-full" x="0.00" width="50.00" height="6"/>\s*<rect class="o-partial" x="50.00" width="50.00"`, text)
	require.Regexp(t, `(?s)href="/classes/cs101/assignments/hw1/submissions\?outcome=partial">.*some points</span> <strong>1</strong>`, text)
	require.Contains(t, text, "Everybody has submitted something.")
	require.Contains(t, text, "<dd>8.75</dd>")
	require.Contains(t, text, `<rect class="mark" x="90%" y="15%" width="9%" height="85%">`)
	require.Contains(t, text, "<th scope=\"row\">7 – 8</th>")
	require.NotContains(t, text, "style=")
}
