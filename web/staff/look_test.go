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
	"drover/core/classes"
	"drover/core/coretest/tier"
	"drover/core/school"
	"drover/web/browsertest"
	"drover/web/caller"
)

// TestHowItLooks opens every page in a real browser: nothing may be wider than a phone,
// and axe-core finds nothing serious. With LOOK=folder it leaves pictures there.
func TestHowItLooks(t *testing.T) {
	tier.OnlyInAll(t, tier.Browser)
	t.Parallel()
	w := newFixture(t)
	at := w.sample()
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.site.ServeHTTP(rw, r.WithContext(caller.With(r.Context(), &caller.Caller{Actor: w.as("root"), Name: "Root"})))
	}))
	t.Cleanup(server.Close)
	tab := browsertest.Start(t).Tab(t)
	for _, screen := range []struct {
		name  string
		width int64
		dark  bool
	}{{"light", 1280, false}, {"phone", 360, true}} {
		tab.Screen(screen.width, 900, screen.dark)
		for i, path := range at {
			tab.Goto(server.URL + path)
			require.LessOrEqual(t, tab.Overflow(), 0, "%s at %d pixels", path, screen.width)
			if dir := os.Getenv("LOOK"); dir != "" {
				tab.Screenshot(filepath.Join(dir, fmt.Sprintf("%02d%s-%s.png", i, strings.ReplaceAll(path, "/", "_"), screen.name)))
				continue
			}
			require.Empty(t, tab.Axe(), path)
		}
	}
}

// sample fills a school, and returns where to look.
func (w *fixture) sample() []string {
	ctx := w.t.Context()
	var list strings.Builder
	list.WriteString("handle,name,email\n")
	for i := range 24 {
		fmt.Fprintf(&list, "student-%02d,Student Number %d,student-%02d@a-school-with-a-long-name.example.org\n", i, i, i)
	}
	_, err := w.reg.ImportRoster(ctx, w.as("root"), "cs101", strings.NewReader(list.String()), classes.ImportOptions{DryRun: false})
	require.NoError(w.t, err)
	w.lease("exam", "cs101")
	w.lease("contest", "cs202")
	w.graded("hw1", func(as *school.Assignment) { as.Text = "# Sort\n\nWrite **quicksort**." })
	most := 10.0
	for i := range 20 {
		user, score := fmt.Sprintf("student-%02d", i), float64(i*7%11)
		w.submit(user, "hw1")
		w.grade(nil)
		_, err := w.reg.ChangeGrade(ctx, w.as("tess"), classes.GradeChange{Class: "cs101", Assignment: "hw1", User: user, Score: &score, MaxScore: &most, Reason: "the tests were wrong about the empty list"})
		require.NoError(w.t, err)
	}
	const hw3 = "/classes/cs101/assignments/hw3"
	w.assignment("hw3")
	const tests = "run: ./a.out\ntimeout: 1h\ngroups:\n- name: small\n  tests:\n  - {name: empty input, output: x}\n- name: large\n  points: 5\n  visibility: hidden\n  tests:\n  - {name: a million lines, output: y, message: Mind the range of int.}\n"
	leads(w.t, w.send("tess", hw3+"/harness", newUpload().field(w.t, "use", "now").file(w.t, "archive", "h.zip", zipped(w.t, "cases.yaml", tests, "data/in", "1"))))
	return append([]string{
		"/classes/new", "/classes/cs101/edit", "/classes/cs101/leases", "/classes/cs101/stats", "/classes/cs101/stats?span=1h&by=day", "/classes/cs101/roster", "/classes/cs101/roster/import", "/classes/cs101/assignments/new", "/classes/cs101/assignments/problem",
		hw1 + "/edit", hw1 + "/harness", hw3 + "/harness", hw3 + "/harness/cases", hw1 + "/progress", hw1 + "/experiments",
	}, w.sampleOfOne()...)
}

// sampleOfOne are pages about one student, whose submission has results, and about the class.
func (w *fixture) sampleOfOne() []string {
	ctx, tess := w.t.Context(), w.as("tess")
	w.graded("hw2", func(as *school.Assignment) { as.Text, as.ShowOutput = "# Heap\n\nWrite a **heap**.", true })
	tested := func(score float64) func(r *core.Result) {
		return func(r *core.Result) {
			r.Score, r.Stdout = &score, "compiling\nrunning\n"
			r.Tests = []core.Test{
				{Name: "empty heap", Score: 1, MaxScore: 1, Verdict: "accepted", Usage: &core.Usage{WallMs: 12}},
				{Name: "a million pushes and pops in random order", Group: "large inputs", Score: score, MaxScore: 10, Verdict: "wrong answer", Message: "expected `3`, got `4`", Usage: &core.Usage{WallMs: 2340}},
			}
		}
	}
	s := w.submit("student-01", "hw2")
	w.grade(tested(7))
	e := w.experiment("hw2", 2)
	w.ran(e, s, 0, tested(10))
	w.ran(e, s, 1, tested(4))
	require.NoError(w.t, w.reg.SetDeadline(ctx, tess, school.Deadline{Class: "cs101", Assignment: "hw2", User: "student-01", Cutoff: start + 9*day, Reason: "was ill for a week"}))
	hook, err := w.reg.AddWebhook(ctx, tess, core.Webhook{Class: "cs101", URL: "https://chat.a-school-with-a-long-name.example.org/hooks/cs101/a-long-path", Events: []string{core.EventTaskEnded}})
	require.NoError(w.t, err)
	delivery, err := w.reg.TestWebhook(ctx, tess, hook.ID)
	require.NoError(w.t, err)
	ledger := w.reg.Store.(school.ResultStore)
	require.NoError(w.t, ledger.FailTask(ctx, delivery.ID, core.TaskFailure{Generation: 1, Attempt: 1, At: start, Text: "the receiver answered 503 Service Unavailable"}))
	_, err = ledger.EndTask(ctx, core.TaskEnd{ID: delivery.ID, Generation: 1, State: core.TaskDead, Note: "it was tried for three days"})
	require.NoError(w.t, err)
	leads(w.t, w.post("root", "/classes/cs101/tasks/gradebook", "fill", "0"))
	const hw2 = "/classes/cs101/assignments/hw2"
	return []string{
		"/experiments/" + e.ID, hw1 + "/submissions", hw2 + "/deadlines", hw2 + "/report", "/classes/cs101/students/student-01",
		"/classes/cs101/students/student-01/assignments/hw2", "/submissions/" + s.ID + "/preview", "/submissions/" + s.ID + "/grade",
		"/classes/cs101/gradebook", "/classes/cs101/audit", "/classes/cs101/webhooks", "/webhooks/" + hook.ID,
	}
}
