package frontend_test

import (
	"cmp"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/web/lti"
	"drover/web/page"
)

// sample is a request that stands for a route.
type sample struct {
	path  func(w *fixture, who string) string // with a thing of its own, for who may; nil: the names of things that there are
	form  func(w *fixture, who string) form   // nil: none
	files bool                                // the form is one with files
	query string                              // of a GET
	who   map[string]string                   // where the verdict is not that of the action's row: of what is one's own, or not there yet
	is    int                                 // the status if it may be; 0: 200 of a GET, a redirect of a POST
	same  bool                                // nobody gets the same answer
}

// things are the names of what there is: all of it is ann's, or of cs101.
type things struct{ submission, request, task, download, experiment, batch, lease string }

func (w *fixture) things() things {
	w.assignment("hw1")
	s := w.submission()
	return things{submission: s.ID, request: w.request(), task: w.task(core.TaskQueued), download: w.task(core.TaskDone), experiment: w.experiment(), batch: w.batch(), lease: w.lease()}
}

// fill puts names into a pattern's path. One that is not known is left.
func (all things) fill(path string) string {
	id := ""
	for begin, name := range map[string]string{
		"/submissions/": all.submission, "/requests/": all.request, "/cluster/requests/": all.request, "/tasks/": all.task, "/cluster/tasks/": all.task,
		"/experiments/": all.experiment, "/batches/": all.batch, "/cluster/leases/": all.lease,
	} {
		if strings.HasPrefix(path, begin) {
			id = name
		}
	}
	if strings.HasSuffix(path, "/download") {
		id = all.download
	}
	pairs := []string{
		"{$}", "", "{class}", "cs101", "{assignment}", "hw1", "{user}", "ann", "{host}", "h1", "{pool}", pool, "{type}", jobType, "{vm}", "vm-1", "{path...}", "main.py",
	}
	if id != "" {
		pairs = append(pairs, "{id}", id)
	}
	return strings.NewReplacer(pairs...).Replace(path)
}

// rights is core/classes/testdata/rights.txt: action → who → yes, no or hidden.
func rights(t *testing.T) (who []string, verdicts map[core.Action]map[string]string) {
	t.Helper()
	raw, err := os.ReadFile("../../core/classes/testdata/rights.txt")
	require.NoError(t, err)
	verdicts = map[core.Action]map[string]string{}
	for line := range strings.Lines(string(raw)) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#" || words[0] == "admin":
		case words[0] == "action":
			who = words[1 : len(words)-1] // but who has left
		default:
			row := map[string]string{}
			for i, one := range who {
				row[one] = words[i+1]
			}
			verdicts[core.Action(words[0])] = row
		}
	}
	return who, verdicts
}

// matrix is a fixture in which every route is tried.
type matrix struct {
	*fixture
	things

	samples map[string]sample
}

// request is a sample's, as somebody makes it; fresh has it be about a thing of its own.
func (m *matrix) request(route page.Route, s sample, who string, fresh bool) *http.Request {
	m.t.Helper()
	method, pattern, _ := strings.Cut(route.Pattern, " ")
	path := m.fill(pattern)
	if s.path != nil && (fresh || strings.Contains(path, "{")) {
		path = s.path(m.fixture, who)
	}
	require.NotContains(m.t, path, "{", "%s has names that are not known: it has to be in samples", route.Pattern)
	var kind string
	var body io.Reader = http.NoBody
	if method == http.MethodPost {
		var f form
		if s.form != nil {
			f = s.form(m.fixture, who)
		}
		kind, body = f.body(m.t, s.files)
	}
	r := httptest.NewRequest(method, at+path+s.query, body)
	r.Header.Set("Content-Type", kind)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return r
}

// wanted is the status that an answer has to have, by the verdict on the caller.
func wanted(method, verdict string, s sample) int {
	switch {
	case verdict == "no":
		return http.StatusForbidden
	case verdict == "hidden":
		return http.StatusNotFound
	case method == http.MethodGet:
		return cmp.Or(s.is, http.StatusOK)
	}
	return cmp.Or(s.is, http.StatusSeeOther)
}

// Every route is asked by everybody, and answers as the table of rights says: who may gets
// the page, or has what the form is for done; others are refused, or find nothing there.
// A new route that changes something fails until it has a sample.
func TestEveryRouteChecksItsRight(t *testing.T) {
	t.Parallel()
	who, verdicts := rights(t)
	m := &matrix{fixture: newFixture(t), samples: samples()}
	m.things = m.fixture.things()
	for _, route := range m.routes {
		method, _, _ := strings.Cut(route.Pattern, " ")
		s, ok := m.samples[route.Pattern]
		if !ok && method != http.MethodGet {
			t.Errorf("%s has to be in samples", route.Pattern)
			continue
		}
		if route.Action != "" && !assert.Contains(t, verdicts, route.Action, route.Pattern) {
			continue
		}
		for _, one := range who {
			verdict := "yes"
			if route.Action != "" {
				verdict = cmp.Or(s.who[one], verdicts[route.Action][one])
			}
			got := m.send(one, m.request(route, s, one, verdict == "yes"))
			assert.Equal(t, wanted(method, verdict, s), got.Code, "%s by %s: %s", route.Pattern, one, told(got))
		}
		got := m.send("", m.request(route, s, "", route.Public))
		if route.Public {
			if method == http.MethodGet && !s.same {
				s.is = 0
			}
			assert.Equal(t, wanted(method, "yes", s), got.Code, "%s by nobody: %s", route.Pattern, told(got))
		} else {
			assert.Equal(t, http.StatusSeeOther, got.Code, "%s by nobody", route.Pattern)
			to, _, _ := strings.Cut(got.Header().Get("Location"), "?")
			assert.Equal(t, "/sign-in", to, "%s by nobody", route.Pattern)
		}
	}
}

// What a page of another site sends is refused on every route that changes something, as
// an admin's browser would send it.
func TestEveryFormIsOfThisSite(t *testing.T) {
	t.Parallel()
	m := &matrix{fixture: newFixture(t), samples: samples()}
	m.things = m.fixture.things()
	for _, route := range m.routes {
		if strings.HasPrefix(route.Pattern, "GET ") || slices.Contains(lti.CrossSite, route.Pattern) {
			continue
		}
		for name, header := range map[string][2]string{
			"a page of another site": {"Sec-Fetch-Site", "cross-site"}, "a neighbour": {"Sec-Fetch-Site", "same-site"},
			"an old browser": {"Origin", "https://evil.example"}, "a sandbox": {"Origin", "null"},
		} {
			r := m.request(route, m.samples[route.Pattern], "root", true)
			r.Header.Del("Sec-Fetch-Site")
			r.Header.Set(header[0], header[1])
			got := m.send("root", r)
			assert.Equal(t, http.StatusForbidden, got.Code, "%s from %s", route.Pattern, name)
			assert.Contains(t, got.Body.String(), "cross-origin", "%s from %s", route.Pattern, name)
		}
	}
}

// told is what a page says went wrong, or where it leads.
func told(rec *httptest.ResponseRecorder) string {
	text := rec.Body.String()
	for _, part := range regexp.MustCompile(`(?s)<main.*?>.*?</main>`).FindAllString(text, 1) {
		text = regexp.MustCompile(`(?s)<[^>]*>|\s+`).ReplaceAllString(part, " ")
	}
	return rec.Header().Get("Location") + " " + text[:min(len(text), 300)]
}
