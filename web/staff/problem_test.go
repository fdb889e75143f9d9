package staff_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// A teacher makes an assignment of a problem package in one step.
func TestAssignmentOfAProblemPackage(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	const at = "/classes/cs101/assignments/problem"
	require.Contains(t, w.shows("tess", "/classes/cs101/assignments/new"), `href="`+at+`"`)
	require.Contains(t, w.shows("tess", at), "<option selected>p1</option>")
	send := func(time, memory string, files ...string) (int, string) {
		u := newUpload().field(t, "handle", "echo").field(t, "pool", pool).field(t, "time", time).field(t, "memory", memory).file(t, "archive", "echo.zip", zipped(t, files...))
		rec := w.send("tess", at, u)
		return rec.Code, rec.Header().Get("Location") + rec.Body.String()
	}
	good := []string{
		"echo/problem.yaml", "name: Echo & more\nlimits:\n  code: 4\n", "echo/problem_statement/problem.en.md", "Print **it**.\n",
		"echo/data/sample/1.in", "1\n", "echo/data/sample/1.ans", "1\n", "echo/data/secret/1.in", "2\n", "echo/data/secret/1.ans", "2\n",
	}
	for _, bad := range []struct {
		time, memory string
		files        []string
		says         string
	}{
		{"", "", good, "leaves its time limit to be measured"},
		{"x", "", good, "is no number of seconds above 0"},
		{"1", "much", good, "Memory limit: &#34;much&#34; is not a size"},
		{"1", "", []string{"cases.yaml", "tests: []\n"}, "there is no problem.yaml and no problem.xml in it"},
		{"1", "", []string{"problem.yaml", "name: [\n"}, "problem.yaml is not YAML"},
		{"1", "", append([]string{"echo/graders/g.py", ""}, good...), "<li>graders: only scoring problems of the legacy format have a grader</li>"},
	} {
		code, body := send(bad.time, bad.memory, bad.files...)
		require.Equal(t, http.StatusUnprocessableEntity, code, bad.says)
		require.Contains(t, body, bad.says)
		require.Contains(t, body, `value="echo"`)
	}
	_, err := w.reg.Store.GetAssignment(t.Context(), "cs101", "echo")
	require.Error(t, err)

	code, to := send("1,5", "100MiB", good...)
	require.Equal(t, http.StatusSeeOther, code, to)
	require.Equal(t, "/classes/cs101/assignments/echo/harness", to)
	as := w.stored("echo")
	require.Equal(t, "Echo & more", as.Title)
	require.Len(t, as.Harness.Handout, 4, "its statement and its sample, and what pages show of them")
	require.Equal(t, int64(4096), as.MaxBytes)
	require.NotNil(t, as.Harness)
	shown := w.shows("tess", to)
	require.Contains(t, shown, "1.5 s")
	require.Contains(t, shown, "100 MiB")
	code, body := send("1", "", good...)
	require.Equal(t, http.StatusUnprocessableEntity, code, body)
}
