package student_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core/school"
)

const hw1Page = "/classes/cs101/assignments/hw1"

// filesOf returns a submission's files, by path.
func (w *fixture) filesOf(at string) map[string]string {
	w.t.Helper()
	ann, err := w.reg.Actor(w.t.Context(), "ann")
	require.NoError(w.t, err)
	files, err := w.reg.OpenFiles(w.t.Context(), ann, strings.TrimPrefix(at, "/submissions/"))
	require.NoError(w.t, err)
	got := map[string]string{}
	for _, f := range files.Submission.Files {
		_, content, err := files.Open(w.t.Context(), f.Path)
		require.NoError(w.t, err)
		text, err := io.ReadAll(content)
		require.NoError(w.t, err)
		require.NoError(w.t, content.Close())
		got[f.Path] = string(text)
	}
	return got
}

// The form holds an earlier submission: what is text can be edited, all else is submitted again as it was.
func TestASubmissionIsSubmittedAgain(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	at := w.submitTo("ann", "hw1", sent{"files", "main.py", "print('<old>')\n"}, sent{"files", "data.bin", "\x00\x01"}, sent{"files", "dos.txt", "a\r\n"})
	id := strings.TrimPrefix(at, "/submissions/")
	require.Contains(t, w.get("ann", at), "?again="+id)
	require.Contains(t, between(t, w.get("ann", hw1Page), "<aside", "</aside>"), "?again="+id)

	body := w.get("ann", hw1Page+"?again="+id)
	require.Contains(t, body, `name="name" value="main.py"`)
	require.Contains(t, body, "print(&#39;&lt;old&gt;&#39;)\n</textarea>")
	require.Contains(t, body, `data-carried="data.bin"`)
	require.Contains(t, body, `data-carried="dos.txt"`)
	require.NotContains(t, body, `data-carried="main.py"`)

	submit := func(fields ...sent) map[string]string {
		t.Helper()
		w.pass(hour)
		return w.filesOf(w.submitTo("ann", "hw1", append([]sent{{"again", "", id}}, fields...)...))
	}
	text := []sent{{"files", "", ""}, {"name", "", "main.py"}, {"text", "", "new"}}
	require.Equal(t, map[string]string{"main.py": "new", "data.bin": "\x00\x01", "dos.txt": "a\r\n"}, submit(append([]sent{{"carry", "", "on"}}, text...)...))
	require.Equal(t, map[string]string{"main.py": "new"}, submit(text...), "not carried over")
	require.Equal(t, map[string]string{"main.py": "3", "data.bin": "2", "dos.txt": "a\r\n"},
		submit(sent{"carry", "", "on"}, sent{"files", "data.bin", "2"}, sent{"files", "main.py", "3"}, sent{"name", "", "main.py"}, sent{"text", "", "old"}), "files replace")
}

// Only one's own submissions to the same assignment can be in the form.
func TestNobodySubmitsTheFilesOfOthersAgain(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	w.graded("hw2")
	id := strings.TrimPrefix(w.submitTo("ann", "hw1"), "/submissions/")
	for who, page := range map[string]string{"cleo": hw1Page, "tess": hw1Page, "ann": "/classes/cs101/assignments/hw2"} {
		require.Equal(t, http.StatusNotFound, w.status(who, http.MethodGet, page+"?again="+id), who)
		rec := w.upload(who, page, sent{"again", "", id}, sent{"carry", "", "on"}, sent{"files", "x.py", "1"})
		require.Equal(t, http.StatusNotFound, rec.Code, who)
	}
	all, err := w.store.ListSubmissions(t.Context(), school.SubmissionFilter{Class: "cs101"})
	require.NoError(t, err)
	require.Len(t, all, 1)
}

// Required files are named before they are missed, and what was typed is still there afterwards.
func TestRequiredFilesAreNamed(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1", func(as *school.Assignment) { as.Rules.Required = []string{"sort.py", "README"} })
	body := w.get("ann", hw1Page)
	require.Contains(t, body, `data-path="README"`)
	require.Equal(t, 1, strings.Count(body, "Required files"), "once, where they are chosen")
	require.Contains(t, body, `name="name" value="sort.py"`, "the first one is what is typed")
	rec := w.upload("ann", hw1Page, sent{"files", "", ""}, sent{"name", "", "sort.py"}, sent{"text", "", "my work\r\nof hours"})
	require.Equal(t, http.StatusUnprocessableEntity, rec.Code)
	require.Contains(t, between(t, rec.Body.String(), `class="problem" role="alert">`, "</p>"), "README")
	require.Contains(t, rec.Body.String(), "my work\nof hours</textarea>")
}
