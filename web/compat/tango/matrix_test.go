package tango_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core/school"
	"drover/web/compat/compattest"
	"drover/web/compat/tango"
)

// Each route is called by every kind of caller. What a key opens is its user's own
// courselabs: so even an operator finds nothing of ann's.
func TestEveryRouteByEveryCaller(t *testing.T) {
	t.Parallel()
	for _, r := range tango.Routes() {
		t.Run(r.Method+" "+r.Path, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, school.Scopes(), r.Scope)
			w := newFixture(t)
			w.ready()
			w.says("POST", "/addJob/ann/lab/", addJob, "Job added")
			body := "x"
			if strings.HasPrefix(r.Path, "/addJob/") {
				body = addJob
			}
			for _, c := range w.Callers(r.Action, r.Scope) {
				key := url.PathEscape(c.Key)
				if key == "" {
					key = "%20"
				}
				path := strings.NewReplacer("{$}", "", "{key}", key, "{courselab}", "lab", "{output}", "o", "{dead}", "1").Replace(r.Path)
				status, answer := w.ask(r.Method, path, body, "Makefile")
				require.Equal(t, http.StatusOK, status)
				assert.Equal(t, wanted(r, c), answered(answer), "with a key %s: %s", c.Name, answer)
				if c.May != compattest.Unknown && c.Name != "its own" {
					assert.NotContains(t, answer, "made")
					assert.NotContains(t, answer, `"j"`)
				}
			}
		})
	}
}

func wanted(r tango.Route, c compattest.Caller) compattest.Answer {
	switch another := c.Name == "of another" || c.Name == "of an operator"; {
	case strings.HasPrefix(r.Path, "/jobs/") && c.May == compattest.Hidden:
		return compattest.Done // an own list, with nothing
	case another && (strings.HasPrefix(r.Path, "/upload/") || strings.HasPrefix(r.Path, "/addJob/") || strings.HasPrefix(r.Path, "/poll/")):
		return compattest.Hidden
	}
	return c.May
}

func answered(answer string) compattest.Answer {
	switch {
	case strings.Contains(answer, "Key not recognized"):
		return compattest.Unknown
	case strings.Contains(answer, "needs the scope"), strings.Contains(answer, "may not"), strings.Contains(answer, "no right"):
		return compattest.Forbidden
	case strings.Contains(answer, "not found"):
		return compattest.Hidden
	case strings.Contains(answer, `"statusId":0`), strings.HasPrefix(answer, "Autograder"):
		return compattest.Done
	}
	return compattest.Answer(answer)
}
