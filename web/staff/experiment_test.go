package staff_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"
)

// httptestPost is a form whose body must not be read.
func httptestPost(path string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, path, unread{})
	r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	return r
}

type unread struct{}

func (unread) Read([]byte) (int, error) { panic("it is read") }

// ready is an experiment whose task has done its work.
func (w *fixture) ready(id string) school.Experiment {
	w.t.Helper()
	e, err := w.reg.Store.GetExperiment(w.t.Context(), id)
	require.NoError(w.t, err)
	e.State = school.ExperimentReady
	e.Revision, err = w.reg.Store.PutExperiment(w.t.Context(), e)
	require.NoError(w.t, err)
	return e
}

func TestExperimentIsBegunAndAborted(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	leads(t, w.send("tess", hw1+"/harness", newUpload().field(t, "use", "now").file(t, "archive", "h.zip", zipped(t, "main", program))))
	w.submit("ann", "hw1")
	require.Contains(t, w.shows("tina", hw1+"/experiments"), `name="repeat"`)
	text := again(t, w.post("tina", hw1+"/experiments", "users", "ann nobody"+evil, "repeat", "2"), "nobody")
	require.NotContains(t, text, "<script>alert")
	require.Contains(t, text, `value="ann nobody`)
	again(t, w.post("tina", hw1+"/experiments", "repeat", "9999"), "9999")
	again(t, w.post("tina", hw1+"/experiments", "repeat", "x"), "Runs of each")

	at := leads(t, w.post("tina", hw1+"/experiments", "users", "ann, cleo", "repeat", "2"))
	text = w.shows("tess", at)
	require.Contains(t, text, "ann, cleo")
	require.Contains(t, text, `data-events="/events/experiments/`+strings.TrimPrefix(at, "/experiments/"))
	require.NotContains(t, text, at+`/apply"`, "it runs")
	require.NotContains(t, w.shows("tess", hw1+"/experiments"), `name="repeat"`, "one at a time")
	again(t, w.post("tess", at+"/apply", "sure", "yes"), "still runs")
	again(t, w.post("tess", at+"/abort"), "Tick the box to confirm")
	require.Equal(t, at, leads(t, w.post("tess", at+"/abort", "sure", "yes")))
	text = w.shows("tess", at)
	require.Contains(t, text, "aborted")
	require.NotContains(t, text, "data-events")
	for who, want := range map[string]int{"ann": http.StatusForbidden, "eve": http.StatusNotFound, "theo": http.StatusNotFound} {
		require.Equal(t, want, w.get(who, at).Code, who)
		require.Equal(t, want, w.post(who, at+"/abort", "sure", "yes").Code, who)
	}
}

// Old and new tests are side by side for each student and each test.
func TestAnExperimentsTests(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	tested := func(a, b float64, more ...core.Test) func(r *core.Result) {
		return func(r *core.Result) {
			score := a + b
			r.Score = &score
			r.Tests = append([]core.Test{{Name: "small", Score: a, MaxScore: 5}, {Name: "large", Score: b, MaxScore: 5}}, more...)
		}
	}
	ann := w.submit("ann", "hw1")
	w.grade(tested(5, 5))
	cleo := w.submit("cleo", "hw1")
	w.grade(tested(0, 5))
	e := w.experiment("hw1", 1)
	w.ran(e, ann, 0, tested(5, 0, core.Test{Name: "extra", Score: 0, MaxScore: 1}))
	w.ran(e, cleo, 0, tested(5, 5, core.Test{Name: "extra", Score: 1, MaxScore: 1}))
	text := w.shows("tess", "/experiments/"+e.ID)
	require.Contains(t, text, "1 student gains points, 1 loses some.")
	require.Regexp(t, `(?s)<th scope="row">small</th>\s*<td[^>]*>1 of 2</td>\s*<td[^>]*>2 of 2</td>\s*<td[^>]*><strong>1</strong></td>\s*<td[^>]*><span class="none">0`, text)
	require.Regexp(t, `(?s)<th scope="row">extra <span class="badge calm">new</span></th>\s*<td[^>]*>–</td>\s*<td[^>]*>1 of 2`, text)
	_, grid, ok := strings.Cut(text, `<table class="moves">`)
	require.True(t, ok)
	require.Regexp(t, `(?s)ANN</th>.*passed before and now.*lost.*new, not passed.*CLEO</th>.*gained.*passed before and now.*new, passed`, grid)
}

// What an experiment says of real outcomes: the matrix, the differences, the flaky ones.
func TestAnExperimentsOutcomes(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	full, none := 10.0, 0.0
	scored := func(score *float64) func(r *core.Result) { return func(r *core.Result) { r.Score = score } }
	ann := w.submit("ann", "hw1")
	w.grade(nil)
	cleo := w.submit("cleo", "hw1")
	w.grade(scored(&full))
	tina := w.submit("tina", "hw1")
	w.grade(scored(&full))
	e := w.experiment("hw1", 2)
	at := "/experiments/" + e.ID
	for run := range 2 {
		w.ran(e, ann, run, scored(&full))
		w.ran(e, tina, run, scored(&full))
	}
	w.ran(e, cleo, 0, scored(&full))
	w.ran(e, cleo, 1, scored(&none))

	text := w.shows("tess", at)
	require.Regexp(t, `(?s)all points</span></th>\s*<td[^>]*>2</td>\s*<td[^>]*><strong>3</strong></td>.*some points</span></th>\s*<td[^>]*>1</td>\s*<td[^>]*><strong>0</strong>`, text)
	require.Regexp(t, `(?s)<th scope="row">some points</th><td class="num"><strong>1</strong></td>`, text, "ann's partial became passed")
	require.Regexp(t, `(?s)<th scope="row">passed</th><td class="num">2</td>`, text)
	_, flaky, ok := strings.Cut(text, "<h2>Flaky</h2>")
	require.True(t, ok)
	flaky, differing, _ := strings.Cut(flaky, "</ul>")
	require.Contains(t, flaky, ">CLEO</a>")
	require.NotContains(t, flaky, ">ANN</a>")
	require.Contains(t, differing, ">ANN</a>")
	require.Contains(t, differing, `class="num">3</td>`, "ann has 3 points more")
	require.NotContains(t, differing, ">TINA</a>", "hers stays")
	require.Contains(t, w.shows("tess", at+"?all=yes"), ">TINA</a>")

	again(t, w.post("tess", at+"/apply"), "Tick the box to confirm")
	_, err := w.reg.ChangeGrade(t.Context(), w.as("tess"), classes.GradeChange{Class: "cs101", Assignment: "hw1", User: "tina", Score: &none, Reason: "x"})
	require.NoError(t, err)
	w.submit("cleo", "hw1")
	rec := w.post("tess", at+"/apply", "sure", "yes")
	if rec.Code == http.StatusOK {
		require.Contains(t, rec.Body.String(), "Left unchanged")
	} else {
		require.Equal(t, at, leads(t, rec))
	}
	v, err := w.reg.ViewSubmission(t.Context(), w.as("tess"), ann.ID)
	require.NoError(t, err)
	require.InDelta(t, full, *v.Score, 0)
	require.Contains(t, w.shows("tess", at), "applied")
}
