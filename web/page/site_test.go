package page_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/web/caller"
	"drover/web/page"
)

// aSite has one section with one page, which shows what it is given.
func aSite(t *testing.T, routes ...page.Route) http.Handler {
	t.Helper()
	sessions := scs.New()
	site, err := page.New(page.Config{Name: "Test school", Sessions: sessions, Now: func() time.Time { return time.UnixMilli(1_000_000) }},
		page.Section{Name: "some", Routes: routes, Pages: fstest.MapFS{
			"pages/thing.html": {Data: []byte(`{{define "title"}}{{.Data}}{{end}}{{define "main"}}<h1>{{.Data}}</h1>{{end}}`)},
		}})
	require.NoError(t, err)
	return sessions.LoadAndSave(site)
}

// ask asks for a page as ann, or as nobody.
func ask(site http.Handler, who string, r *http.Request) *httptest.ResponseRecorder {
	if who != "" {
		r = r.WithContext(caller.With(r.Context(), &caller.Caller{Actor: core.Actor{Handle: who}, Name: who}))
	}
	w := httptest.NewRecorder()
	site.ServeHTTP(w, r)
	return w
}

func get(path string) *http.Request { return httptest.NewRequest(http.MethodGet, path, nil) }

func shows(data any) func(*page.Request) error {
	return func(r *page.Request) error { return r.Render("some/thing", data) }
}

func TestPageEscapesWhatItShows(t *testing.T) {
	t.Parallel()
	site := aSite(t, page.Route{Pattern: "GET /thing", Serve: shows("<script>x</script>")})
	w := ask(site, "ann", get("/thing"))
	require.Equal(t, http.StatusOK, w.Code)
	require.Contains(t, w.Body.String(), "<h1>&lt;script&gt;x&lt;/script&gt;</h1>")
	require.NotContains(t, w.Body.String(), "<script>x")
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
}

func TestWhoHasNotSignedInIsAskedTo(t *testing.T) {
	t.Parallel()
	site := aSite(t, page.Route{Pattern: "GET /thing", Serve: shows("x")}, page.Route{Pattern: "GET /open", Public: true, Serve: shows("open")})
	w := ask(site, "", get("/thing?a=b"))
	require.Equal(t, http.StatusSeeOther, w.Code)
	require.Equal(t, "/sign-in?next=%2Fthing%3Fa%3Db", w.Header().Get("Location"))
	require.Equal(t, http.StatusOK, ask(site, "", get("/open")).Code)
}

func TestErrorsArePages(t *testing.T) {
	t.Parallel()
	for code, want := range map[core.Code]int{
		core.CodeNotFound: http.StatusNotFound, core.CodeForbidden: http.StatusForbidden, core.CodeFull: http.StatusTooManyRequests,
		core.CodeUnavailable: http.StatusServiceUnavailable, core.CodeInternal: http.StatusInternalServerError,
	} {
		site := aSite(t, page.Route{Pattern: "GET /thing", Serve: func(*page.Request) error {
			return core.Errorf(code, "", "the secret of the store is 1234")
		}})
		w := ask(site, "ann", get("/thing"))
		require.Equal(t, want, w.Code)
		if want >= http.StatusInternalServerError {
			require.NotContains(t, w.Body.String(), "1234", "causes are for the log")
		}
	}
	require.Equal(t, http.StatusNotFound, ask(aSite(t), "ann", get("/nothing")).Code)
}

func TestAWrongFormIsShownAgain(t *testing.T) {
	t.Parallel()
	site := aSite(t, page.Route{Pattern: "POST /thing", Serve: func(r *page.Request) error {
		return r.Again(core.Errorf(core.CodeInvalid, "", "no <b>such</b> date"), "some/thing", r.FormValue("typed"))
	}})
	r := httptest.NewRequest(http.MethodPost, "/thing", strings.NewReader(url.Values{"typed": {"mine"}}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := ask(site, "ann", r)
	require.Equal(t, http.StatusUnprocessableEntity, w.Code)
	require.Contains(t, w.Body.String(), `role="alert">no &lt;b&gt;such&lt;/b&gt; date`)
	require.Contains(t, w.Body.String(), "<h1>mine</h1>")
}

func TestLargeFormsAreRefused(t *testing.T) {
	t.Parallel()
	site := aSite(t, page.Route{Pattern: "POST /thing", Body: 10, Serve: func(r *page.Request) error {
		return core.Wrap(r.ParseForm(), core.CodeInvalid, "", "the form cannot be read")
	}})
	r := httptest.NewRequest(http.MethodPost, "/thing", strings.NewReader("typed=12345678"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	require.Equal(t, http.StatusRequestEntityTooLarge, ask(site, "ann", r).Code)
}

func TestNextStaysOnThisSite(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"/a", "/a?b=c#d", "/a/../b"} {
		require.Equal(t, to, page.SafePath(to, "/"))
	}
	for _, to := range []string{"", "a", "//evil.example", `/\evil.example`, `\\evil.example`, "https://evil.example", "javascript:x", "/a\n", "/\t/evil.example", "http:/x", "///evil.example"} {
		require.Equal(t, "/", page.SafePath(to, "/"), "%q", to)
	}
}

func TestMarkdownHasNothingThatRuns(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"<script>alert(1)</script>", "[x](javascript:alert(1))", "<img src=x onerror=alert(1)>", "![x](https://evil.example/p.png)",
		"<a href=\"#\" onclick=\"x\">y</a>", "<style>*{}</style>", "<p style=\"position:fixed\">x</p>", "<iframe src=//evil.example></iframe>",
		"<form action=/sign-out><button>x</button></form>", "[x](/sign-out)", "[x](data:text/html,x)",
	} {
		html := string(page.Markdown(text))
		for _, bad := range []string{"<script", "javascript:", "<img", "onerror", "onclick", "<style", "style=", "<iframe", "<form", "href=\"/", "href=\"data"} {
			require.NotContains(t, html, bad, "%q became %q", text, html)
		}
	}
	require.Contains(t, string(page.Markdown("**b** `c`\n\n|a|b|\n|-|-|\n|1|2|")), "<strong>b</strong>")
	require.Contains(t, string(page.Markdown(strings.Repeat("<b>", page.MaxMarkdown))), "<pre>&lt;b&gt;")
}

func TestStaticFilesAreKept(t *testing.T) {
	t.Parallel()
	site := aSite(t, page.Route{Pattern: "GET /thing", Serve: shows("x")})
	body := ask(site, "ann", get("/thing")).Body.String()
	_, rest, ok := strings.Cut(body, `<link rel="stylesheet" href="`)
	require.True(t, ok)
	path, _, _ := strings.Cut(rest, `"`)
	w := ask(site, "", get(path))
	require.Equal(t, http.StatusOK, w.Code)
	require.Contains(t, w.Header().Get("Content-Type"), "text/css")
	require.Contains(t, w.Header().Get("Cache-Control"), "immutable")
	require.Equal(t, http.StatusNotFound, ask(site, "", get("/static/%2e%2e%2fsite.go")).Code)
	require.Equal(t, http.StatusNotFound, ask(site, "", get("/static/drover.css")).Code, "only under its hash")
}
