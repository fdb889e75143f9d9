package staff_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"drover/core"
	"drover/core/school"
)

// grade ends the tests of what waits, one after the other, as change says.
func (w *fixture) grade(change func(r *core.Result)) {
	w.t.Helper()
	w.cluster.AddVMs(w.t, 1)
	w.seq++
	for _, c := range w.cluster.Exchange(w.t, w.seq, 1).Claims {
		score, most := 7.0, 10.0
		r := core.Result{
			ID: c.ReadSpec().ID, Generation: c.ReadSpec().Generation, State: core.RequestCompleted, Token: c.Token, VM: c.VM,
			Score: &score, MaxScore: &most, Stdout: "hidden test 3", Host: "h1",
		}
		if change != nil {
			change(&r)
		}
		_, err := w.in.Store.Record(w.t.Context(), r)
		require.NoError(w.t, err)
		w.seq++
		w.cluster.Exchange(w.t, w.seq, 0, core.Finish{Key: c.Key, Token: c.Token, Outcome: core.OutcomeDone})
	}
}

// graded makes an assignment with a harness.
func (w *fixture) graded(handle string, change ...func(as *school.Assignment)) {
	w.t.Helper()
	w.assignment(handle, change...)
	leads(w.t, w.send("tess", "/classes/cs101/assignments/"+handle+"/harness",
		newUpload().field(w.t, "use", "now").file(w.t, "archive", "h.zip", zipped(w.t, "main", program, "harness.json", settings))))
}

func TestSubmissionsAreFiltered(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	ann := w.submit("ann", "hw1")
	w.grade(nil)
	cleo := w.submit("cleo", "hw1")
	at := hw1 + "/submissions"
	text := w.shows("tina", at)
	require.Contains(t, text, "/submissions/"+ann.ID)
	require.Contains(t, text, "/submissions/"+cleo.ID)
	require.Contains(t, text, "7 of 10")
	text = w.shows("tina", at+"?user=ann")
	require.Contains(t, text, "/submissions/"+ann.ID)
	require.NotContains(t, text, cleo.ID)
	text = w.shows("tina", at+"?state=waiting")
	require.NotContains(t, text, ann.ID)
	require.Contains(t, text, cleo.ID)
	require.Contains(t, w.shows("tina", at+"?state=failed"), "There is none.")
	again(t, w.get("tina", at+"?state=%3Cscript%3Ealert(1)"), "is not a state")
	text = w.shows("tina", at+"?user=%22%3E%3Cscript%3Ealert(1)%3C/script%3E")
	require.Contains(t, text, "There is none.")
	require.NotContains(t, text, "<script>alert")
	require.Contains(t, text, `value="&#34;&gt;&lt;script`)
}

// fill puts submissions to an assignment of cs101 into the store, of the users in turn.
func (w *fixture) fill(assignment string, n int, users ...string) {
	w.t.Helper()
	var group errgroup.Group // together, so that the store waits for its disk once for many
	group.SetLimit(256)
	for i := range n {
		group.Go(func() error {
			_, _, err := w.reg.Store.CreateSubmission(w.t.Context(), school.Submission{
				ID: fmt.Sprintf("01hf%022d", i), Class: "cs101", Assignment: assignment, User: users[i%len(users)], Kind: "public", At: start,
				Files: []core.File{{Path: "a", Digest: "sha256:" + strings.Repeat("ab", 32)}},
			}, nil)
			return err
		})
	}
	require.NoError(w.t, group.Wait())
}

func TestSubmissionsArePagedAndFewAreLookedThrough(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	w.fill("hw1", 1100, "ann")
	c := w.count()
	text := w.shows("tess", hw1+"/submissions")
	require.Equal(t, 50, strings.Count(text, "/grade\""))
	require.Contains(t, text, fmt.Sprintf("?before=01hf%022d", 1050))
	require.Less(t, len(text), 60_000)
	text = w.shows("tess", hw1+"/submissions?state=submitted&before="+fmt.Sprintf("01hf%022d", 60))
	require.Contains(t, text, fmt.Sprintf("/submissions/01hf%022d/grade", 10))
	require.Contains(t, text, `rel="next"`)
	text = w.shows("tess", hw1+"/submissions?state=failed")
	require.Contains(t, text, "1,000 submissions were searched")
	require.Contains(t, text, fmt.Sprintf("before=01hf%022d", 100))
	require.NotContains(t, w.shows("tess", fmt.Sprintf("%s/submissions?state=failed&before=01hf%022d", hw1, 100)), `rel="next"`)
	require.LessOrEqual(t, c.most.Load(), int64(1000))
}

func TestAStudentsPage(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1", func(as *school.Assignment) { as.Text = "**Sort** " + evil })
	w.assignment("secret", func(as *school.Assignment) { as.HideUntil = start + day })
	s := w.submit("ann", "hw1")
	w.grade(func(r *core.Result) {
		r.Tests = []core.Test{{Name: "one " + evil, Message: "**so**", Score: 1, MaxScore: 2}}
	})
	require.NoError(t, w.reg.SetDeadline(t.Context(), w.as("tess"), school.Deadline{Class: "cs101", Assignment: "hw1", User: "ann", Cutoff: start + 9*day}))
	at := "/classes/cs101/students/ann"
	text := w.shows("tina", at)
	for _, want := range []string{"ANN", "ann@example.org", "their own", "7 of 10", "/submissions/" + s.ID + "/grade"} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "secret", "she does not see it")

	text = w.shows("tina", at+"/assignments/hw1")
	require.Contains(t, text, "<strong>Sort</strong>")
	require.Contains(t, text, "/submissions/"+s.ID+"/preview")
	require.NotContains(t, text, "<script>alert")
	text = w.shows("tina", "/submissions/"+s.ID+"/preview")
	require.Contains(t, text, "<strong>so</strong>")
	require.NotContains(t, text, "hidden test 3", "she sees no output")
	require.NotContains(t, text, "<script>alert")

	for path, want := range map[string]int{
		at + "/assignments/secret": http.StatusNotFound, at + "/assignments/none": http.StatusNotFound,
		"/classes/cs101/students/eve": http.StatusNotFound, "/classes/cs101/students/" + "%3Cb%3E": http.StatusNotFound,
		"/submissions/none/preview": http.StatusNotFound,
	} {
		require.Equal(t, want, w.get("tess", path).Code, path)
	}
	require.NoError(t, w.reg.Drop(t.Context(), w.as("tess"), "cs101", "ann"))
	text = w.shows("tess", at)
	require.Contains(t, text, "dropped from the class")
	require.Contains(t, text, s.ID)
	require.Equal(t, http.StatusNotFound, w.get("tess", "/submissions/"+s.ID+"/preview").Code)
}
