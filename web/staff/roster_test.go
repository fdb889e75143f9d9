package staff_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/classes"
)

func (w *fixture) role(class, user string) core.UserRole {
	w.t.Helper()
	return w.as(user).In[class]
}

func TestRoster(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	text := w.shows("tina", "/classes/cs101/roster")
	for _, want := range []string{"tess", "TESS", "ann@example.org", "Teaching assistant", `href="/classes/cs101/students/ann"`} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, `<option value="teacher"`, "an assistant gives no such role")
	require.Contains(t, w.shows("root", "/classes/cs101/roster"), `<option value="teacher"`)

	require.Equal(t, "/classes/cs101/roster", leads(t, w.post("tina", "/classes/cs101/roster", "user", "nick", "role", "student")))
	require.Equal(t, core.RoleStudent, w.role("cs101", "nick"))
	text = again(t, w.post("tina", "/classes/cs101/roster", "user", "nobody"+evil, "role", "student"), "nobody")
	require.NotContains(t, text, "<script>alert")
	require.Contains(t, text, `value="nobody&#34;&gt;`)
	again(t, w.post("tina", "/classes/cs101/roster", "user", "eve", "role", "teacher"), "may not")
	again(t, w.post("tina", "/classes/cs101/roster", "user", "eve", "role", "king"), "role")
	require.Empty(t, w.role("cs101", "eve"))
}

func TestRosterChangesThoseWhoAreTicked(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	change := "/classes/cs101/roster/change"
	leads(t, w.post("tess", change, "member", "ann", "member", "cleo", "do", "role", "role", "teaching_assistant"))
	require.Equal(t, core.RoleAssistant, w.role("cs101", "ann"))
	require.Equal(t, core.RoleAssistant, w.role("cs101", "cleo"))
	text := again(t, w.post("tina", change, "member", "ann", "do", "drop"), "may not")
	require.Contains(t, text, `value="ann" aria-label="ANN" checked`)
	leads(t, w.post("tess", change, "member", "ann", "do", "drop"))
	require.Empty(t, w.role("cs101", "ann"))
	require.Equal(t, core.RoleAssistant, w.role("cs101", "cleo"))
	again(t, w.post("tess", change, "do", "drop"), "Tick whom you mean")
}

// zed is one of many.
func zed(i int) string { return fmt.Sprintf("zed-%03d", i) }

func TestRosterIsPaged(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var lines strings.Builder
	lines.WriteString("handle\n")
	for i := range 150 {
		lines.WriteString(zed(i) + "\n")
	}
	_, err := w.reg.ImportRoster(t.Context(), w.as("root"), "cs101", strings.NewReader(lines.String()), classes.ImportOptions{DryRun: false})
	require.NoError(t, err)
	first := w.shows("tess", "/classes/cs101/roster")
	require.Less(t, len(first), 90_000, "a first page is small")
	require.Contains(t, first, `href="?after=zed-095"`)
	second := w.shows("tess", "/classes/cs101/roster?after=zed-095")
	require.Contains(t, second, "zed-149")
	require.NotContains(t, second, "zed-095<")
	require.NotContains(t, second, `rel="next"`)

	found := w.shows("tess", "/classes/cs101/roster?q=Zed-14")
	require.Contains(t, found, "zed-149")
	require.NotContains(t, found, "zed-139")
	require.Contains(t, w.shows("tess", "/classes/cs101/roster?q=ed-1"), "zed-100")
	require.Contains(t, w.shows("tess", "/classes/cs101/roster?q=zed"), `href="?after=zed-099&amp;q=zed"`)
	require.Contains(t, w.shows("tess", "/classes/cs101/roster?q=none%3Cb"), "none&lt;b")
	reads := w.count()
	w.shows("tess", "/classes/cs101/roster")
	require.Less(t, reads.calls.Load(), int64(10), "names are read at once")
}

const list = "handle,name,role\nnick,Nick,student\n\"<script>alert(1)</script>\",Evil,student\nann,Ann,teaching_assistant\n"

func TestImportShowsFirstWhatItWouldDo(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	at := "/classes/cs101/roster/import"
	require.Contains(t, w.shows("tess", at), `type="file"`)
	rec := w.send("tess", at, newUpload().file(t, "file", "roster.csv", []byte(list)))
	require.Equal(t, http.StatusOK, rec.Code, "%s", rec.Body)
	text := rec.Body.String()
	require.Contains(t, text, "What this file would do")
	require.Contains(t, text, `<th scope="row" class="num">3</th>`)
	require.NotContains(t, text, "<script>alert")
	require.Empty(t, w.role("cs101", "nick"), "it was a dry run")

	rec = w.send("tess", at, newUpload().field(t, "text", strings.ReplaceAll(list, "\n", "\r\n")).field(t, "sure", "yes"))
	require.Equal(t, http.StatusOK, rec.Code, "with a wrong line it says what was done")
	require.Contains(t, rec.Body.String(), "What was done")
	require.Equal(t, core.RoleStudent, w.role("cs101", "nick"))
	require.Equal(t, core.RoleAssistant, w.role("cs101", "ann"))

	text = again(t, w.send("root", at, newUpload().field(t, "text", "Wer;Wo\nzoe;zoe@example.org")), "who is meant")
	require.Contains(t, text, `<label for="column-1">Wo</label>`, "one can say what the columns are")
	leads(t, w.send("root", at, newUpload().field(t, "text", "Wer;Mail\nmia;mia@example.org").field(t, "column", "handle").field(t, "column", "email").field(t, "sure", "yes")))
	require.Equal(t, core.RoleStudent, w.role("cs101", "mia"))
	require.Contains(t, w.shows("root", at), "Undo the last import")
	leads(t, w.post("root", at+"/undo"))
	require.NotContains(t, w.shows("root", "/classes/cs101/roster"), "mia@example.org")
	again(t, w.post("root", at+"/undo"), "undone already")

	require.Equal(t, "/classes/cs101/roster", leads(t, w.send("root", at, newUpload().field(t, "text", "handle,email\nzoe,zoe@example.org").field(t, "sure", "yes"))))
	require.Equal(t, core.RoleStudent, w.role("cs101", "zoe"))
}

func TestAWrongRosterComesBack(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	at := "/classes/cs101/roster/import"
	again(t, w.send("tess", at, newUpload().field(t, "text", " ")), "Choose a file")
	text := again(t, w.send("tess", at, newUpload().field(t, "text", "surname\n</textarea>"+evil)), "CSV")
	require.NotContains(t, text, "<script>alert")
	require.Contains(t, text, "surname\n&lt;/textarea&gt;")
	again(t, w.send("tess", at, newUpload().file(t, "file", "r.csv", []byte("handle\n"+strings.Repeat("x,", 5<<20/2)))), "bytes")
	require.Equal(t, http.StatusRequestEntityTooLarge, w.send("tess", at, newUpload().file(t, "other", "r.csv", make([]byte, 14<<20))).Code)
}
