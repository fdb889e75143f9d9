package judge0_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core/school"
	"drover/web/compat/compattest"
	"drover/web/compat/judge0"
)

// Each route is called by every kind of caller, about a submission of ann's.
func TestEveryRouteByEveryCaller(t *testing.T) {
	t.Parallel()
	bodies := map[string]string{
		"POST /submissions": echo, "POST /submissions/{$}": echo, "POST /submissions/batch": `{"submissions": [` + echo + `]}`, "POST /authenticate": "",
	}
	for _, r := range judge0.Routes() {
		t.Run(r.Method+" "+r.Path, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, school.Scopes(), r.Scope)
			body, known := bodies[r.Method+" "+r.Path]
			require.True(t, known || r.Method != http.MethodPost, "a route that takes a body needs one here")
			w := newFixture(t)
			w.Held = true
			for _, c := range w.Callers(r.Action, r.Scope) {
				path := strings.NewReplacer("{$}", "", "{id}", "46", "{token}", w.make(echo)).Replace(r.Path)
				if r.Method+path == "GET/submissions/batch" {
					path += "?tokens=" + w.make(echo)
				}
				for name, header := range map[string][2]string{"X-Auth-Token": {"X-Auth-Token", c.Key}, "Bearer": {"Authorization", "Bearer " + c.Key}} {
					if r.Method == http.MethodDelete {
						path = "/submissions/" + w.make(echo)
					}
					req := httptest.NewRequestWithContext(t.Context(), r.Method, path, strings.NewReader(body))
					req.Header.Set(header[0], header[1])
					req.AddCookie(&http.Cookie{Name: "drover", Value: "abc"})
					rec := httptest.NewRecorder()
					w.api.ServeHTTP(rec, req)
					got := answered(rec)
					assert.Equal(t, c.May, got, "with a key %s in %s: %d %s", c.Name, name, rec.Code, rec.Body)
				}
			}
		})
	}
}

// answered says what became of a call. A batch hides one by null.
func answered(rec *httptest.ResponseRecorder) compattest.Answer {
	switch {
	case rec.Code == http.StatusUnauthorized:
		return compattest.Unknown
	case rec.Code == http.StatusForbidden:
		return compattest.Forbidden
	case rec.Code == http.StatusNotFound, strings.TrimSpace(rec.Body.String()) == `{"submissions":[null]}`:
		return compattest.Hidden
	case rec.Code < http.StatusMultipleChoices:
		return compattest.Done
	}
	return compattest.Answer(rec.Body.String())
}
