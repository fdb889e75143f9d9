package student_test

import (
	"iter"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core/classes"
	"drover/core/requests/intake"
	"drover/core/school"
)

// A repository that is refused is said where it was typed; nothing is submitted.
func TestRepositoriesAreRefusedInTheForm(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	assert.NotContains(t, w.get("ann", hw1Page), "f-address", "a site that fetches none has no form")
	rec := w.post("ann", hw1Page+"/git", url.Values{"address": {"https://github.com/ann/hw1"}})
	require.Equal(t, http.StatusUnprocessableEntity, rec.Code)
	assert.Contains(t, rec.Body.String(), "no repositories are fetched here")

	w.from.Hosts = []string{"github.com"}
	body := w.get("ann", hw1Page)
	assert.Contains(t, body, "It can be at: github.com")
	assert.NotContains(t, body, "data-first")
	rec = w.post("ann", hw1Page+"/git", url.Values{"address": {" https://169.254.169.254/latest "}, "ref": {"main"}, "kind": {"final"}})
	require.Equal(t, http.StatusUnprocessableEntity, rec.Code)
	body = rec.Body.String()
	assert.Contains(t, between(t, body, `class="problem" role="alert">`, "</p>"), "are fetched from github.com")
	assert.Contains(t, body, `value="https://169.254.169.254/latest"`)
	assert.Contains(t, body, `name="ref" form="git" value="main"`)
	assert.Contains(t, body, `value="final" form="git" checked`)
	assert.Contains(t, body, `data-first="2"`)
	assert.Equal(t, http.StatusNotFound, w.post("eve", hw1Page+"/git", url.Values{"address": {"https://github.com/a/b"}}).Code)
	all, err := w.store.ListSubmissions(t.Context(), school.SubmissionFilter{Class: "cs101"})
	require.NoError(t, err)
	assert.Empty(t, all)
}

// What was fetched is kept with the submission.
func TestWhereASubmissionWasFetchedFrom(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	ann, err := w.reg.Actor(t.Context(), "ann")
	require.NoError(t, err)
	from := &school.Source{}
	files := iter.Seq2[intake.Upload, error](func(yield func(intake.Upload, error) bool) {
		*from = school.Source{Address: "https://github.com/ann/hw1", Ref: "main", Commit: strings.Repeat("0123456789", 4)}
		yield(intake.Upload{Path: "main.py", Content: strings.NewReader("print()")}, nil)
	})
	s, err := w.reg.Submit(t.Context(), ann, classes.NewSubmission{Class: "cs101", Assignment: "hw1", Files: files, Source: from})
	require.NoError(t, err)
	body := w.get("ann", "/submissions/"+s.ID)
	assert.Contains(t, body, `<a href="https://github.com/ann/hw1" rel="noreferrer">https://github.com/ann/hw1</a>, main, <code>012345678901</code>`)
	assert.NotContains(t, w.get("ann", w.submitTo("ann", "hw1")), "Fetched from")
}
