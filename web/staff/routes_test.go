package staff_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/classes"
	"drover/core/classes/experiment"
	"drover/core/school"
	"drover/web/page"
)

// school is a class with one of everything, of whose texts each is the given one.
type campus struct {
	*fixture
	submission, experiment, webhook string // ids
}

func newCampus(t *testing.T, text string) *campus {
	t.Helper()
	w := newFixture(t)
	ctx, tess := t.Context(), w.as("tess")
	ann, err := w.reg.Store.GetUser(ctx, "ann")
	require.NoError(t, err)
	ann.Name = text
	_, err = w.reg.Store.PutUser(ctx, ann)
	require.NoError(t, err)
	leads(t, w.post("tess", "/classes/cs101/edit", "title", text, "term", text, "revision", "1"))
	w.graded("hw1", func(as *school.Assignment) { as.Title, as.Text, as.ShowOutput = text, text, true })
	require.NoError(t, w.reg.SetDeadline(ctx, tess, school.Deadline{Class: "cs101", Assignment: "hw1", User: "ann", Due: start + 2*day, Reason: text}))

	_, err = w.reg.ImportRoster(ctx, w.as("root"), "cs101", strings.NewReader("handle,email\nzed,zed@example.org\n"), classes.ImportOptions{})
	require.NoError(t, err)

	h := classes.NewSubmission{Class: "cs101", Assignment: "hw1", Files: files(strings.ReplaceAll(text, "/", "-"), "print()")}
	s, err := w.reg.Submit(ctx, w.as("ann"), h)
	require.NoError(t, err)
	ended := func(score float64) func(r *core.Result) {
		return func(r *core.Result) {
			r.Score, r.Stdout, r.Stderr, r.Reason = &score, text, text, text
			r.Tests = []core.Test{{Name: text, Group: text, Verdict: text, Message: text, Score: score, MaxScore: 10, Usage: &core.Usage{WallMs: 5}}}
		}
	}
	w.grade(ended(7))
	score := 8.0
	_, err = w.reg.ChangeGrade(ctx, tess, classes.GradeChange{Class: "cs101", Assignment: "hw1", User: "ann", Score: &score, Reason: text})
	require.NoError(t, err)

	e := w.experiment("hw1", 2)
	w.ran(e, s, 0, ended(3))
	w.ran(e, s, 1, ended(4))
	hook, err := w.reg.AddWebhook(ctx, tess, core.Webhook{Class: "cs101", URL: "https://chat.example.org/?" + strings.ReplaceAll(text, " ", "+"), Events: []string{core.EventTaskEnded}})
	require.NoError(t, err)
	delivery, err := w.reg.TestWebhook(ctx, tess, hook.ID)
	require.NoError(t, err)
	ledger := w.reg.Store.(school.ResultStore)
	require.NoError(t, ledger.FailTask(ctx, delivery.ID, core.TaskFailure{Generation: 1, Attempt: 1, At: start, Text: text}))
	_, err = ledger.EndTask(ctx, core.TaskEnd{ID: delivery.ID, Generation: 1, State: core.TaskDead, Note: text})
	require.NoError(t, err)
	leads(t, w.post("root", "/classes/cs101/tasks/gradebook", "fill", "0"))
	return &campus{w, s.ID, e.ID, hook.ID}
}

// experiment is one of an assignment of cs101 whose task has done its work.
func (w *fixture) experiment(assignment string, repeat int) school.Experiment {
	w.t.Helper()
	e, err := w.reg.StartExperiment(w.t.Context(), w.as("tess"), "cs101", assignment, classes.Trial{Repeat: repeat})
	require.NoError(w.t, err)
	return w.ready(e.ID)
}

// ran records a run of an experiment.
func (w *fixture) ran(e school.Experiment, s school.Submission, run int, change func(r *core.Result)) {
	w.t.Helper()
	as := w.stored(e.Assignment)
	spec, err := experiment.Request(e, as, s, run)
	require.NoError(w.t, err)
	ledger := w.reg.Store.(school.ResultStore)
	spec.Generation, spec.Submitted = 1, start
	_, _, err = ledger.Create(w.t.Context(), spec)
	require.NoError(w.t, err)
	score, most := 7.0, 10.0
	r := core.Result{ID: spec.ID, Generation: 1, State: core.RequestCompleted, Score: &score, MaxScore: &most}
	if change != nil {
		change(&r)
	}
	_, err = ledger.Record(w.t.Context(), r)
	require.NoError(w.t, err)
}

// path is where a route of the school is.
func (s *campus) path(route page.Route) (method, path string) {
	method, path, _ = strings.Cut(route.Pattern, " ")
	id := s.submission
	switch {
	case strings.HasPrefix(path, "/experiments/"):
		id = s.experiment
	case strings.HasPrefix(path, "/webhooks/"):
		id = s.webhook
	}
	kind := school.KindGradebook
	if strings.Contains(path, "{assignment}") {
		kind = school.KindArchive
	}
	return method, strings.NewReplacer("{path...}", "harness.tar", "{kind}", kind, "{class}", "cs101", "{assignment}", "hw1", "{user}", "ann", "{id}", id).Replace(path)
}

// pages are where all pages of the school are.
func (s *campus) pages() []string {
	var all []string
	for _, route := range s.routes {
		if method, path := s.path(route); method == http.MethodGet && !strings.Contains(path, "/harness/files/") && !strings.HasSuffix(path, "/gradebook/file") && !strings.HasSuffix(path, "/csv") {
			all = append(all, path)
		}
	}
	return all
}

// Each page and form, for each kind of user: what one may not know of is not there.
func TestWhoMayDoWhat(t *testing.T) {
	t.Parallel()
	s := newCampus(t, "x")
	for _, route := range s.routes {
		method, path := s.path(route)
		for _, who := range []string{"root", "tess", "tina", "ann", "cleo", "theo", "eve", "nick", "olga"} {
			a := s.as(who)
			rec := s.get(who, path)
			if method == http.MethodPost { // an empty form
				rec = s.post(who, path)
			}
			o := core.Object{}
			if strings.Contains(route.Pattern, "{") {
				o.Class = "cs101"
			}
			if route.Action == core.ActSubmissionView {
				o.Owner = "ann"
			}
			require.NotEmpty(t, route.Action, route.Pattern)
			switch {
			case core.Allow(a, route.Action, o) == nil:
				require.Less(t, rec.Code, http.StatusInternalServerError, "%s as %s: %s", route.Pattern, who, rec.Body)
				require.NotContains(t, []int{http.StatusForbidden, http.StatusNotFound}, rec.Code, "%s as %s: %s", route.Pattern, who, rec.Body)
			case o.Class != "" && core.Allow(a, core.ActClassView, core.Object{Class: o.Class}) != nil,
				strings.Contains(route.Pattern, "/submissions/{id}") && who == "cleo": // it is ann's
				require.Equal(t, http.StatusNotFound, rec.Code, "%s as %s", route.Pattern, who)
			default:
				require.Equal(t, http.StatusForbidden, rec.Code, "%s as %s", route.Pattern, who)
			}
		}
		rec := s.ask("", httptest.NewRequest(method, path, nil))
		require.Equal(t, http.StatusSeeOther, rec.Code, "%s: who has not signed in is asked to", route.Pattern)
		require.True(t, strings.HasPrefix(rec.Header().Get("Location"), "/sign-in"), route.Pattern)
	}
}

// What is hidden from students is not there for them, and what is not there for nobody.
func TestWhatIsHiddenIsNotThere(t *testing.T) {
	t.Parallel()
	s := newCampus(t, "x")
	s.assignment("exam", func(as *school.Assignment) { as.HideUntil = start + day })
	for _, route := range s.routes {
		if !strings.Contains(route.Pattern, "{assignment}") {
			continue
		}
		method, path := s.path(route)
		for handle, who := range map[string]string{"exam": "ann", "none": "root"} {
			rec := s.ask(who, httptest.NewRequest(method, strings.Replace(path, "hw1", handle, 1), nil))
			want := http.StatusNotFound
			if strings.Contains(route.Pattern, "/students/") && who == "ann" {
				want = http.StatusForbidden // students look at nobody
			}
			require.Equal(t, want, rec.Code, "%s of %s as %s", route.Pattern, handle, who)
		}
	}
}

// In no page does what somebody wrote become more than text, in no language is a sentence broken.
func TestAllPagesInAllLanguages(t *testing.T) {
	t.Parallel()
	s := newCampus(t, evil)
	for _, path := range s.pages() {
		for _, language := range []string{"en", "de"} {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			r.Header.Set("Accept-Language", language)
			rec := s.ask("root", r)
			text := rec.Body.String()
			require.Equal(t, http.StatusOK, rec.Code, "%s: %s", path, text)
			require.Contains(t, text, `<html lang="`+language+`">`, path)
			require.NotContains(t, text, "<script>alert", path)
			require.NotContains(t, text, "%!", "%s in %s", path, language)
			require.NotContains(t, text, " style=", path)
			require.NotContains(t, text, "ZgotmplZ", path)
			require.Less(t, len(text), 60_000, path)
		}
	}
}

// What is typed into any field of any form comes back as text.
func TestEvilInEveryField(t *testing.T) {
	t.Parallel()
	s := newCampus(t, "x")
	var typed []string
	for _, field := range []string{
		"handle", "title", "term", "name", "revision", "user", "users", "role", "member", "after", "repeat", "delivery", "url", "event", "fill", "actor",
		"text", "due", "cutoff", "hide_until", "final", "show_output", "pool", "priority", "max_files", "max_bytes", "timeout", "memory", "disk", "file_size",
		"pids", "open_files", "output", "score", "max_score", "reason", "latest", "no-header", "use", "archives",
	} {
		typed = append(typed, field, evil)
	}
	refused := 0
	for _, route := range s.routes {
		method, path := s.path(route)
		if method != http.MethodPost {
			continue
		}
		rec := s.post("root", path, typed...)
		require.Less(t, rec.Code, http.StatusInternalServerError, "%s: %s", path, rec.Body)
		require.NotContains(t, rec.Body.String(), "<script>alert", path)
		if rec.Code == http.StatusUnprocessableEntity {
			refused++
		}
	}
	require.Greater(t, refused, 12, "most forms say what is wrong")
}

// A page asks the store as often with ten thousand submissions as with a few, and is small.
func TestPagesDoNotGrowWithSubmissions(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it fills a store")
	}
	s := newCampus(t, "x")
	s.fill("hw1", 300, "ann", "cleo", "tina")
	c := s.count()
	calls := func() map[string]int64 {
		all := map[string]int64{}
		for _, path := range append(s.pages(), hw1+"/submissions?state=failed", hw1+"/submissions?user=ann") {
			before := c.calls.Load()
			text := s.shows("root", path)
			require.Less(t, len(text), 60_000, path)
			all[path] = c.calls.Load() - before
		}
		return all
	}
	few := calls()
	s.fill("hw1", 10_000, "ann", "cleo", "tina")
	require.Equal(t, few, calls())
	require.LessOrEqual(t, c.most.Load(), int64(1000))
}
