package api_test

import (
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/web/api"
	"drover/web/page"
)

var update = flag.Bool("update", false, "write docs/openapi.yaml")

const written = "../../docs/openapi.yaml"

func TestWrittenDescriptionIsCurrent(t *testing.T) {
	t.Parallel()
	now, err := api.Description().YAML()
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile(written, now, 0o644))
	}
	was, err := os.ReadFile(written)
	require.NoError(t, err)
	require.Equal(t, string(was), string(now), "run go generate ./web/api")
}

// The description says of every operation who is let in, names the parameters of its path,
// and refers to nothing that it does not have.
func TestDescriptionIsWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.send(nil, httptest.NewRequest(http.MethodGet, "/api/openapi.json", http.NoBody)).is(http.StatusOK)
	require.Equal(t, "application/openapi+json", a.Header().Get("Content-Type"))
	var o struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			OperationID string
			Security    []map[string][]string
			Parameters  []struct{ Name, In string }
			Responses   map[string]any
		}
		Components struct{ Schemas map[string]any }
	}
	a.into(&o)
	require.Equal(t, "3.1.0", o.OpenAPI)
	ids := map[string]bool{}
	for path, item := range o.Paths {
		for method, op := range item {
			assert.False(t, ids[op.OperationID], op.OperationID)
			ids[op.OperationID] = true
			named := []string{}
			for _, p := range op.Parameters {
				if p.In == "path" {
					named = append(named, "{"+p.Name+"}")
				}
			}
			assert.ElementsMatch(t, regexp.MustCompile(`\{\w+\}`).FindAllString(path, -1), named, "%s %s", method, path)
			assert.Contains(t, op.Responses, "default", "%s tells of problems", op.OperationID)
		}
	}
	for _, op := range api.Operations() {
		assert.True(t, ids[op.ID], op.ID)
		assert.Equal(t, op.Scope != "", o.Paths[op.Path][strings.ToLower(op.Method)].Security != nil, op.ID)
	}
	for _, ref := range regexp.MustCompile(`"#/components/schemas/([^"]+)"`).FindAllStringSubmatch(a.Body.String(), -1) {
		assert.Contains(t, o.Components.Schemas, ref[1])
	}
	assert.NotContains(t, o.Components.Schemas, "ErrorModel")
	require.True(t, json.Valid(a.Body.Bytes()))
}

func TestDocumentationShowsEveryOperation(t *testing.T) {
	t.Parallel()
	site, err := page.New(page.Config{Name: "Test school"}, api.Section())
	require.NoError(t, err)
	rec := httptest.NewRecorder()
	site.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/api/docs", http.NoBody))
	require.Equal(t, http.StatusOK, rec.Code)
	text := rec.Body.String()
	for _, op := range api.Operations() {
		assert.Contains(t, text, `id="`+op.ID+`"`)
	}
	for _, link := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(text, -1) {
		assert.Contains(t, text, `id="`+link[1]+`"`, "a link leads nowhere")
	}
	assert.NotContains(t, text, "style=")
	assert.Less(t, strings.Count(text, "<script"), 2, "the site's own")
}
