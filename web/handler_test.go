package web_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"drover/core/service"
	"drover/web"
)

// site is a handler whose compatible APIs all do the same.
func site(t *testing.T, at string, do http.HandlerFunc) http.Handler {
	t.Helper()
	u, err := url.Parse(at)
	require.NoError(t, err)
	h, err := web.Handler(web.Config{URL: u, Log: quiet()}, web.Handlers{API: do, Judge0: do, Tango: do, Jobe: do, Events: do, Pages: do})
	require.NoError(t, err)
	return h
}

func quiet() *logrus.Logger {
	log := logrus.New()
	log.SetOutput(io.Discard)
	return log
}

func answer(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func ok(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "fine") }

func TestFormsFromOtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	h := site(t, "https://drover.example", ok)
	for name, test := range map[string]struct {
		method string
		header map[string]string
		want   int
	}{
		"own form":              {http.MethodPost, map[string]string{"Sec-Fetch-Site": "same-origin"}, http.StatusOK},
		"typed by hand":         {http.MethodPost, nil, http.StatusOK},
		"a proxy changes host":  {http.MethodPost, map[string]string{"Origin": "https://drover.example", "Host": "10.0.0.1"}, http.StatusOK},
		"another site":          {http.MethodPost, map[string]string{"Sec-Fetch-Site": "cross-site"}, http.StatusForbidden},
		"a neighbour":           {http.MethodPost, map[string]string{"Sec-Fetch-Site": "same-site"}, http.StatusForbidden},
		"an old browser":        {http.MethodPost, map[string]string{"Origin": "https://evil.example"}, http.StatusForbidden},
		"a sandboxed frame":     {http.MethodPost, map[string]string{"Origin": "null"}, http.StatusForbidden},
		"another site's delete": {http.MethodDelete, map[string]string{"Sec-Fetch-Site": "cross-site"}, http.StatusForbidden},
		"another site's link":   {http.MethodGet, map[string]string{"Sec-Fetch-Site": "cross-site"}, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(test.method, "/thing", nil)
			for k, v := range test.header {
				r.Header.Set(k, v)
			}
			require.Equal(t, test.want, answer(h, r).Code)
		})
	}
}

func TestEveryAnswerHoldsBrowsers(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"http://localhost:8080", "https://drover.example"} {
		for _, path := range []string{"/", "/api/v1/me", "/judge0/about", "/tango/x", "/jobe/x", "/events/cluster", "/robots.txt", "/healthz"} {
			got := answer(site(t, at, ok), httptest.NewRequest(http.MethodGet, path, nil)).Header()
			policy := got.Get("Content-Security-Policy")
			for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"} {
				require.Contains(t, policy, part, path)
			}
			require.NotContains(t, policy, "unsafe")
			require.Equal(t, "nosniff", got.Get("X-Content-Type-Options"))
			require.Equal(t, "DENY", got.Get("X-Frame-Options"))
			require.Equal(t, strings.HasPrefix(at, "https:"), got.Get("Strict-Transport-Security") != "", at)
		}
	}
}

func TestAPanicIsAnAnswer(t *testing.T) {
	t.Parallel()
	w := answer(site(t, "http://localhost", func(http.ResponseWriter, *http.Request) { panic("the secret is 1234") }), httptest.NewRequest(http.MethodGet, "/", nil))
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.NotContains(t, w.Body.String(), "1234")
	require.NotEmpty(t, w.Header().Get("Content-Security-Policy"))
}

func TestPagesAreCompressedAndStreamsAreNot(t *testing.T) {
	t.Parallel()
	h := site(t, "http://localhost", func(w http.ResponseWriter, r *http.Request) {
		kind := "text/html"
		if r.URL.Path == "/events/x" {
			kind = "text/event-stream"
		}
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, strings.Repeat("word ", 1000))
	})
	for path, want := range map[string]string{"/": "gzip", "/events/x": ""} {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Accept-Encoding", "gzip")
		require.Equal(t, want, answer(h, r).Header().Get("Content-Encoding"), path)
	}
}

func TestAnAddressThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	u, err := url.Parse("/no/site")
	require.NoError(t, err)
	_, err = web.Handler(web.Config{URL: u, Log: logrus.New()}, web.Handlers{API: http.NotFoundHandler(), Judge0: http.NotFoundHandler(), Tango: http.NotFoundHandler(), Jobe: http.NotFoundHandler(), Events: http.NotFoundHandler(), Pages: http.NotFoundHandler()})
	require.ErrorContains(t, err, "https://drover.example.org")
	_, err = web.Listen("256.0.0.1:1", nil, logrus.New())
	require.ErrorContains(t, err, "--listen")
}

// What streams ends when the server stops, and so does the server.
func TestStopEndsStreams(t *testing.T) {
	t.Parallel()
	began := make(chan struct{})
	s, err := web.Listen("127.0.0.1:0", nil, logrus.New())
	require.NoError(t, err)
	loop := s.Service(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "first")
		_ = http.NewResponseController(w).Flush()
		close(began)
		<-r.Context().Done()
	}))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- loop.Run(ctx) }()
	answered, err := http.Get("http://" + s.Addr())
	require.NoError(t, err)
	<-began
	stop()
	text, err := io.ReadAll(answered.Body)
	require.NoError(t, err)
	require.Equal(t, "first", string(text))
	require.NoError(t, answered.Body.Close())
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-time.After(time.Minute):
		t.Fatal("it does not stop")
	}
}

func TestOnlyProxiesSayWhereARequestCameFrom(t *testing.T) {
	t.Parallel()
	var seen string
	do := func(_ http.ResponseWriter, r *http.Request) { seen = r.RemoteAddr }
	h, err := web.Handler(web.Config{
		URL: &url.URL{Scheme: "https", Host: "drover.example"}, Log: quiet(), Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")},
	}, web.Handlers{API: http.HandlerFunc(do), Judge0: http.NotFoundHandler(), Tango: http.NotFoundHandler(), Jobe: http.NotFoundHandler(), Events: http.NotFoundHandler(), Pages: http.HandlerFunc(do)})
	require.NoError(t, err)
	for _, test := range []struct{ peer, said, want string }{
		{"10.1.2.3:99", "192.0.2.7", "192.0.2.7:0"},
		{"10.1.2.3:99", "6.6.6.6, 192.0.2.7, 10.9.9.9", "192.0.2.7:0"},
		{"10.1.2.3:99", "", "10.1.2.3:99"},
		{"10.1.2.3:99", "nonsense", "10.1.2.3:99"},
		{"192.0.2.9:99", "192.0.2.7", "192.0.2.9:99"},
		{"[::1]:99", "2001:db8::7", "[2001:db8::7]:0"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = test.peer
		r.Header.Set("X-Forwarded-For", test.said)
		answer(h, r)
		require.Equal(t, test.want, seen, "%+v", test)
	}
}

// The key that stands in a path of the Tango API is in no log.
func TestKeysAreNotLogged(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := logrus.New()
	log.SetOutput(&out)
	log.SetLevel(logrus.DebugLevel)
	u, err := url.Parse("https://drover.example.org")
	require.NoError(t, err)
	do := http.NotFoundHandler()
	h, err := web.Handler(web.Config{URL: u, Log: log}, web.Handlers{API: do, Judge0: do, Tango: do, Jobe: do, Events: do, Pages: do})
	require.NoError(t, err)
	for _, path := range []string{"/tango/open/secret/lab/", "/tango/info/secret", "/tango/poll/secret/lab/out/"} {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	}
	require.Contains(t, out.String(), "/tango/open/KEY/lab/")
	require.NotContains(t, out.String(), "secret")
}

// Strangers see whether the site works, and nothing of its internals.
func TestHealthTellsNoAddresses(t *testing.T) {
	t.Parallel()
	none := http.NotFoundHandler()
	h, err := web.Handler(web.Config{URL: &url.URL{Scheme: "https", Host: "drover.example"}, Log: quiet()}, web.Handlers{
		API: none, Judge0: none, Tango: none, Jobe: none, Events: none, Pages: none,
		Checks: map[string]service.Check{"redis": func(context.Context) error { return errors.New("dial tcp 10.0.0.5:6379") }},
	})
	require.NoError(t, err)
	w := answer(h, httptest.NewRequest(http.MethodGet, "/healthz", nil))
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Contains(t, w.Body.String(), "redis")
	require.NotContains(t, w.Body.String(), "10.0.0.5")
}
