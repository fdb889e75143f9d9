package lti_test

import (
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core/classes/lti/ltitest"
	"drover/core/coretest/tier"
	"drover/web/browsertest"
)

// stage serves answers of the site to a real browser, each at a path, and what platforms have beside them.
type stage struct {
	*httptest.Server

	answers map[string]*httptest.ResponseRecorder
}

// opener is the page of a platform that waits for the end of a registration. It closes the window of this site.
const opener = `<!doctype html><title>Platform</title><button onclick="window.open('/registered')">Register</button>
<script>onmessage = (event) => { event.source.close(); document.body.append(event.data.subject); }</script>`

func (w *fixture) stage(t *testing.T) *stage {
	t.Helper()
	s := &stage{answers: map[string]*httptest.ResponseRecorder{}}
	mux := http.NewServeMux()
	mux.Handle("GET /static/", w)
	mux.HandleFunc("POST /platform", func(rw http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(rw, "The platform got %q.", html.EscapeString(r.PostFormValue("JWT")))
	})
	mux.HandleFunc("GET /opener", func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte(opener)) })
	mux.HandleFunc("GET /{page}", func(rw http.ResponseWriter, r *http.Request) {
		rec := s.answers[r.PathValue("page")]
		if rec == nil {
			http.NotFound(rw, r)
			return
		}
		here := strings.NewReplacer(html.EscapeString(ltitest.Return), s.URL+"/platform", withoutQuery(ltitest.Return), s.URL+"/platform")
		for name, values := range rec.Header() {
			for _, value := range values {
				rw.Header().Add(name, here.Replace(value))
			}
		}
		_, _ = rw.Write([]byte(here.Replace(rec.Body.String())))
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func withoutQuery(address string) string {
	address, _, _ = strings.Cut(address, "?")
	return address
}

// What teachers and admins see of platforms can be read by all, on a phone and in the dark. With LOOK=folder it leaves
// pictures there.
func TestHowPlatformsLook(t *testing.T) {
	tier.OnlyInAll(t, tier.Browser)
	t.Parallel()
	w, b := listed(t)
	s := w.stage(t)
	_, token := leads(t, b.choose("tess", "Instructor"))
	s.answers["deep"] = b.get("/lti/deep?" + url.Values{"t": {token}}.Encode())
	s.answers["course"] = b.get(roster)
	s.answers["members"] = b.compare()
	_, token = leads(t, b.come("tess", "Instructor", func(c map[string]any) { c[ltitest.Claim+"resource_link"] = map[string]any{"id": "link-2"} }))
	s.answers["link"] = b.get("/lti/link?" + url.Values{"t": {token}}.Encode())
	_, token = leads(t, b.come("tess", "Instructor", func(c map[string]any) {
		c[ltitest.Claim+"context"] = map[string]any{"id": "course-2", "title": "Computer science for everybody else"}
	}))
	s.answers["connect"] = b.get("/lti/connect?" + url.Values{"t": {token}}.Encode())
	s.answers["assignment"] = b.get("/classes/cs101/assignments/hw1/platform")
	admin := w.admin()
	s.answers["platforms"], s.answers["platform"] = admin.get("/lti/platforms"), admin.get("/lti/platforms/moodle")
	s.answers["register"] = w.browser().get(admin.registration() + "?" + w.asks().Encode())

	tab := browsertest.Start(t).Tab(t)
	for name, rec := range s.answers {
		require.Equal(t, http.StatusOK, rec.Code, "%s: %s", name, said(rec))
		for _, screen := range []struct {
			name  string
			width int64
			dark  bool
		}{{"light", 1280, false}, {"phone", 360, true}} {
			tab.Screen(screen.width, 900, screen.dark)
			tab.Goto(s.URL + "/" + name)
			require.LessOrEqual(t, tab.Overflow(), 0, "%s at %d pixels", name, screen.width)
			if dir := os.Getenv("LOOK"); dir != "" {
				tab.Screenshot(filepath.Join(dir, "lti-"+name+"-"+screen.name+".png"))
				continue
			}
			require.Empty(t, tab.Axe(), name)
		}
	}
}

// What a button would do is done by the page itself: a choice goes to the platform, and the platform hears that a
// registration has ended.
func TestPagesGoOnByThemselves(t *testing.T) {
	tier.OnlyInAll(t, tier.Browser)
	t.Parallel()
	w := choosing(t)
	s, b := w.stage(t), w.browser()
	path, token := leads(t, b.choose("tess", "Instructor"))
	s.answers["return"] = b.post(path, url.Values{"t": {token}, "assignment": {"hw2"}, "points": {"10"}})
	_, answer := returned(t, s.answers["return"])
	tab := browsertest.Start(t).Tab(t)
	tab.Goto(s.URL + "/return")
	tab.AwaitPath("/platform")
	require.Contains(t, tab.Text("body"), answer)

	s.answers["registered"] = w.browser().post(w.admin().registration(), w.asks())
	require.Contains(t, s.answers["registered"].Body.String(), "data-close")
	tab.Goto(s.URL + "/opener")
	tab.Click("button")
	tab.Await("org.imsglobal.lti.close")
}
