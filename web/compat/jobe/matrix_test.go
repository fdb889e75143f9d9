package jobe_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core/school"
	"drover/web/compat/compattest"
	"drover/web/compat/jobe"
)

// Each route is called by every kind of caller, about a file of ann's.
func TestEveryRouteByEveryCaller(t *testing.T) {
	t.Parallel()
	const put = `{"file_contents": "aGVsbG8="}`
	bodies := map[string]string{
		"POST /restapi/runs":      `{"run_spec": {"language_id": "bash", "sourcecode": "echo 1", "file_list": [["0123456789", "a"]]}}`,
		"PUT /restapi/files/{id}": put,
	}
	for _, r := range jobe.Routes() {
		t.Run(r.Method+" "+r.Path, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, school.Scopes(), r.Scope)
			body, known := bodies[r.Method+" "+r.Path]
			require.True(t, known || r.Method == http.MethodGet || r.Method == http.MethodHead, "a route that takes a body needs one here")
			w := newFixture(t)
			at := strings.Replace(r.Path, "{id}", "0123456789", 1)
			require.Equal(t, http.StatusNoContent, w.ask(step{Method: http.MethodPut, Path: "/restapi/files/0123456789", Body: json.RawMessage(put)}).Code)
			for _, c := range w.Callers(r.Action, r.Scope) {
				if r.Method != http.MethodPut && strings.Contains(r.Path+body, "file") && c.May == compattest.Done && c.Name != "its own" {
					c.May = compattest.Hidden // an operator's files are its own as well
				}
				key := c.Key
				if key == "" {
					key = "none"
				}
				rec := w.ask(step{Method: r.Method, Path: at, Key: key, Body: json.RawMessage(body)})
				assert.Equal(t, c.May, answered(rec), "with a key %s: %d %s", c.Name, rec.Code, rec.Body)
			}
		})
	}
}

// answered says what became of a call. A key of nobody's and one without the right are both forbidden, as in Jobe.
func answered(rec *httptest.ResponseRecorder) compattest.Answer {
	switch {
	case rec.Code == http.StatusForbidden && (rec.Body.Len() == 0 || strings.Contains(rec.Body.String(), "X-API-KEY")):
		return compattest.Unknown
	case rec.Code == http.StatusForbidden:
		return compattest.Forbidden
	case rec.Code == http.StatusNotFound:
		return compattest.Hidden
	case rec.Code < http.StatusMultipleChoices:
		return compattest.Done
	}
	return compattest.Answer(rec.Body.String())
}
