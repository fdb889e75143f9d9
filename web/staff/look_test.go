package staff_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coursework"
	"drover/web/browser"
	"drover/web/caller"
)

// TestHowItLooks opens every page in a real browser: nothing may be wider than a phone,
// and axe-core finds nothing serious. With LOOK=folder it leaves pictures there.
func TestHowItLooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := w.sample()
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.site.ServeHTTP(rw, r.WithContext(caller.With(r.Context(), &caller.Caller{Actor: w.as("root"), Name: "Root"})))
	}))
	t.Cleanup(server.Close)
	tab := browser.Start(t).Tab(t)
	for _, width := range []int64{1280, 360} {
		for _, dark := range []bool{false, true} {
			tab.Screen(width, 900, dark)
			for i, path := range at {
				tab.Goto(server.URL + path)
				require.LessOrEqual(t, tab.Overflow(), 0, "%s at %d pixels", path, width)
				if dir := os.Getenv("LOOK"); dir != "" {
					tab.Screenshot(filepath.Join(dir, fmt.Sprintf("%02d%s-%d-%t.png", i, strings.ReplaceAll(path, "/", "_"), width, dark)))
				}
				if os.Getenv("LOOK") == "" {
					require.Empty(t, tab.Axe(), path)
				}
			}
		}
	}
}

// sample fills a school, and returns where to look.
func (w *world) sample() []string {
	ctx := w.t.Context()
	var list strings.Builder
	list.WriteString("handle,name,email\n")
	for i := range 24 {
		fmt.Fprintf(&list, "student-%02d,Student Number %d,student-%02d@a-school-with-a-long-name.example.org\n", i, i, i)
	}
	_, err := w.reg.ImportRoster(ctx, w.as("root"), "cs101", strings.NewReader(list.String()), false)
	require.NoError(w.t, err)
	w.assignment("hw1", func(as *core.Assignment) { as.Text = "# Sort\n\nWrite **quicksort**." })
	leads(w.t, w.send("tess", hw1+"/harness", newUpload().field(w.t, "use", "now").file(w.t, "archive", "h.zip", zipped(w.t, "main", program, "harness.json", settings))))
	most := 10.0
	for i := range 20 {
		user, score := fmt.Sprintf("student-%02d", i), float64(i*7%11)
		w.submit(user, "hw1")
		_, err := w.reg.ChangeGrade(ctx, w.as("tess"), coursework.GradeChange{Class: "cs101", Assignment: "hw1", User: user, Score: &score, MaxScore: &most, Reason: "x"})
		require.NoError(w.t, err)
	}
	trial := leads(w.t, w.post("tess", hw1+"/experiments", "users", "student-01", "repeat", "2"))
	w.ready(strings.TrimPrefix(trial, "/experiments/"))
	return []string{
		"/classes/new", "/classes/cs101/edit", "/classes/cs101/roster", "/classes/cs101/roster/import", "/classes/cs101/assignments/new",
		hw1 + "/edit", hw1 + "/harness", hw1 + "/progress", hw1 + "/experiments", trial,
	}
}
