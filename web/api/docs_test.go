package api_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest/tier"
	"drover/web/api"
	"drover/web/browsertest"
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
	w := newFixture(t)
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

// documentation is a site that has nothing but the documentation.
func documentation(t *testing.T) http.Handler {
	t.Helper()
	site, err := page.New(page.Config{Name: "Test school"}, api.Section())
	require.NoError(t, err)
	return site
}

// groups are the pages of operations, as the first page links to them.
func groups(first string) []string {
	var all []string
	for _, link := range regexp.MustCompile(`<h2[^>]*><a href="(/api/docs/[^"]+)"`).FindAllStringSubmatch(first, -1) {
		all = append(all, link[1])
	}
	return all
}

func TestDocumentationShowsEveryOperation(t *testing.T) {
	t.Parallel()
	site, pages := documentation(t), map[string]string{}
	open := func(path string) string {
		rec := httptest.NewRecorder()
		site.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		require.Equal(t, http.StatusOK, rec.Code, path)
		pages[path] = rec.Body.String()
		return pages[path]
	}
	first, all := open("/api/docs"), ""
	for _, path := range groups(first) {
		all += open(path)
	}
	for _, op := range api.Operations() {
		assert.Contains(t, all, `id="`+op.ID+`"`)
		assert.Contains(t, first, "#"+op.ID+`"`)
	}
	for path, text := range pages {
		assert.Less(t, len(text), 110_000, path) // a tenth of that is sent: pages are compressed
		assert.NotContains(t, text, "style=")
		assert.Less(t, strings.Count(text, "<script"), 2, "the site's own")
		for _, link := range regexp.MustCompile(`href="(/api/docs[^"#]*)?#([^"]+)"`).FindAllStringSubmatch(text, -1) {
			assert.Contains(t, pages[cmp.Or(link[1], path)], `id="`+link[2]+`"`, "a link of %s leads nowhere", path)
		}
	}
	for _, code := range []core.Code{core.CodeInvalid, core.CodeStale, core.CodeInternal} {
		assert.Contains(t, first, `id="problem-`+string(code)+`"`)
	}
	rec := httptest.NewRecorder()
	site.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/api/docs/nothing", http.NoBody))
	require.Equal(t, http.StatusNotFound, rec.Code)
}

// The pages fit a phone, in the light and in the dark, and can be used by all.
func TestDocumentationInABrowser(t *testing.T) {
	tier.OnlyInAll(t, tier.Browser)
	t.Parallel()
	site := httptest.NewServer(documentation(t))
	t.Cleanup(site.Close)
	tab := browsertest.Start(t).Tab(t)
	for _, path := range []string{"/api/docs", "/api/docs/requests"} {
		for _, screen := range []struct {
			name  string
			width int64
			dark  bool
		}{{"light", 1200, false}, {"phone", 360, true}} {
			tab.Screen(screen.width, 800, screen.dark)
			tab.Goto(site.URL + path)
			if dir := os.Getenv("DROVER_PICTURES"); dir != "" {
				tab.Screenshot(filepath.Join(dir, strings.ReplaceAll(path[1:], "/", "-")+"-"+screen.name+".png"))
			}
			require.LessOrEqual(t, tab.Overflow(), 0, "%s %s", path, screen.name)
			require.Empty(t, tab.Axe(), "%s %s", path, screen.name)
		}
	}
}
