package staff_test

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"slices"
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
	old := w.submit("ann", "hw1")
	w.grade(nil)
	ann := w.submit("ann", "hw1")
	w.grade(nil)
	at := hw1 + "/submissions"
	text := w.shows("tina", at)
	require.Contains(t, text, "/submissions/"+ann.ID+"?from=")
	require.NotContains(t, text, old.ID, "it does not count")
	require.Contains(t, text, "7 of 10")
	require.Contains(t, text, ">ANN</a>")
	require.Regexp(t, `(?s)>CLEO</a>.*has not submitted`, text)
	require.NotContains(t, text, ">TESS</a>", "staff who have not submitted are not missing")
	for query, names := range map[string]string{
		"?q=nN": "ANN", "?q=cleo@ex": "CLEO", "?outcome=partial": "ANN", "?outcome=full": "", "?only=missing": "CLEO", "?only=submitted": "ANN",
		"?only=late": "", "?only=ungraded": "", "?sort=-name": "CLEO ANN", "?sort=score": "CLEO ANN", "?sort=-score": "ANN CLEO", "?sort=-time": "ANN CLEO",
		"?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E": "",
	} {
		text = w.shows("tina", at+query)
		require.Equal(t, names, strings.Join(listed(text), " "), query)
		require.NotContains(t, text, "<script>alert")
		if names == "" {
			require.Contains(t, text, "There is none.")
		}
	}
	require.Contains(t, w.shows("tina", at+"?only=missing"), ">cleo@example.org</textarea>")
	again(t, w.get("tina", at+"?outcome=%3Cscript%3Ealert(1)"), "is not an outcome")
	again(t, w.get("tina", at+"?sort=x"), "is not an order")
	require.Equal(t, "user,name,email,section,submission,submitted,late,kind,outcome,score,max_score\ncleo,CLEO,cleo@example.org,,,,,,,,\n",
		w.get("tina", at+"/csv?only=missing").Body.String())
	require.Contains(t, w.get("tina", at+"/csv").Body.String(), ",partial,7,10\n")

	text = w.shows("tina", at+"/all")
	require.Contains(t, text, old.ID)
	require.Regexp(t, `(?s)`+ann.ID+`.*>counts<.*`+old.ID, text)
	require.Contains(t, w.shows("tina", at+"/all?user=cleo"), "There is none.")
}

// Open questions about any attempt are found, and lead to where they are answered.
func TestSubmissionsWithQuestions(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	old := w.submit("ann", "hw1")
	w.submit("ann", "hw1")
	w.submit("cleo", "hw1")
	ask := func() {
		_, err := w.reg.Ask(t.Context(), w.as("ann"), old.ID, "Why?", "")
		require.NoError(t, err)
	}
	ask()
	at := hw1 + "/submissions?only=asked"
	text := w.shows("tina", at)
	require.Equal(t, []string{"ANN"}, listed(text))
	require.Contains(t, text, `href="/submissions/`+old.ID+`/comments">1 open question</a>`)
	ask()
	require.Contains(t, w.shows("tina", hw1+"/submissions"), ">2 open questions</a>")
	_, err := w.reg.Answer(t.Context(), w.as("tess"), old.ID, "So.", "")
	require.NoError(t, err)
	require.Contains(t, w.shows("tina", at), "There is none.")
}

// listed are the names in the rows of a list of students.
func listed(text string) []string {
	var names []string
	for _, m := range regexp.MustCompile(`<th scope="row"><a href="/classes/cs101/students/[a-z0-9-]+">([^<]*)</a>`).FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	return names
}

// Who looks at one submission of a list goes on to the next in the list's order.
func TestWalkThroughAList(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	ann := w.submit("ann", "hw1")
	w.grade(nil)
	cleo := w.submit("cleo", "hw1")
	w.grade(func(r *core.Result) {
		r.State, r.Score, r.MaxScore, r.Blame = core.RequestDead, nil, nil, core.BlamePlatform
	})
	tina := w.submit("tina", "hw1")
	w.grade(nil)
	at := func(id, query string) string { return w.shows("tina", "/submissions/"+id+"/grade"+query) }
	text := at(cleo.ID, "?from=")
	require.Contains(t, text, `rel="prev" href="/submissions/`+ann.ID+`/grade?from="`)
	require.Contains(t, text, `rel="next" href="/submissions/`+tina.ID+`/grade?from="`)
	require.Contains(t, text, "2 of 3")
	require.NotContains(t, text, "Next without a score", "it is this one")
	text = at(ann.ID, "?from=sort%3D-name")
	require.Contains(t, text, `rel="prev" href="/submissions/`+cleo.ID+`/grade?from=sort%3d-name"`)
	require.NotContains(t, text, `rel="next"`)
	require.Contains(t, text, `action="/submissions/`+ann.ID+`/grade?from=sort%3D-name"`)
	require.Regexp(t, cleo.ID+`/grade\?from=sort%3d-name">Next without a score`, text)
	require.NotContains(t, at(ann.ID, ""), `class="row walk"`)
	require.Contains(t, leads(t, w.post("tina", "/submissions/"+ann.ID+"/grade?from=sort%3D-name", "score", "9", "reason", "well")), "/grade?from=sort%3D-name")
	require.Contains(t, at(ann.ID, "?from=sort%3D-name"), `value="next">Change it and go on`)
	require.Contains(t, leads(t, w.post("tina", "/submissions/"+ann.ID+"/grade?from=sort%3D-name", "score", "8", "reason", "well", "do", "next")), cleo.ID+"/grade?from=sort%3D-name", "which has no score")
	require.NotContains(t, at(ann.ID, ""), "go on")
	require.Contains(t, leads(t, w.post("tina", "/submissions/"+ann.ID+"/grade", "score", "9", "reason", "well", "do", "next")), ann.ID+"/grade", "there is no list")
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

// A list of many students is cut into pages, which a submission in between does not shift.
func TestSubmissionsArePaged(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	users := make([]string, 120)
	for i := range users {
		users[i] = fmt.Sprintf("student-%03d", i)
		_, err := w.reg.Store.PutUser(t.Context(), school.User{Handle: users[i], Name: fmt.Sprintf("Number %03d", i), Created: start})
		require.NoError(t, err)
		require.NoError(t, w.reg.Store.Enrol(t.Context(), school.Enrolment{Class: "cs101", User: users[i], Role: core.RoleStudent}))
	}
	w.fill("hw1", 1100, users...)
	const first = hw1 + "/submissions?q=number&sort=name"
	text := w.shows("tess", first)
	require.Less(t, len(text), 60_000)
	names := listed(text)
	next := regexp.MustCompile(`rel="next" href="([^"]*)"`).FindStringSubmatch(text)
	require.Len(t, next, 2)
	require.Contains(t, text, "120 of 122 students")
	_, err := w.reg.Store.PutUser(t.Context(), school.User{Handle: "another", Name: "A number before all", Created: start})
	require.NoError(t, err)
	require.NoError(t, w.reg.Store.Enrol(t.Context(), school.Enrolment{Class: "cs101", User: "another", Role: core.RoleStudent}))
	for next != nil {
		text = w.shows("tess", hw1+"/submissions"+html.UnescapeString(next[1]))
		names = append(names, listed(text)...)
		next = regexp.MustCompile(`rel="next" href="([^"]*)"`).FindStringSubmatch(text)
	}
	require.Len(t, names, 120)
	require.True(t, slices.IsSorted(names))
	require.Equal(t, 50, strings.Count(w.shows("tess", hw1+"/submissions/all"), `<th scope="row">`))
	require.Contains(t, w.shows("tess", hw1+"/submissions/all"), fmt.Sprintf("?before=01hf%022d", 1050))
	require.Len(t, listed(w.shows("tess", hw1+"/submissions?q=r+077")), 1, "the search is over all, not over a page")
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
