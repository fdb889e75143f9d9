package frontend_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/web/compat/compattest"
	"drover/web/frontend"
)

// scs makes a store in memory before it is given another, and never stops it.

// site is the whole site in the fixture of compatible APIs, with what it logged.
type site struct {
	*compattest.Fixture

	t   *testing.T
	url string
	log *bytes.Buffer
}

func newSite(t *testing.T) *site {
	t.Helper()
	p := core.DefaultPool("judge0")
	s := &site{Fixture: compattest.New(t, p), t: t, log: &bytes.Buffer{}}
	log := logrus.New() // it locks what it writes to
	log.SetOutput(s.log)
	log.SetLevel(logrus.TraceLevel)
	s.Deps.Log = log
	server := httptest.NewUnstartedServer(nil)
	at, err := url.Parse("http://" + server.Listener.Addr().String())
	require.NoError(t, err)
	server.Config.Handler, err = frontend.New(frontend.Config{
		URL: at, Version: "test", Log: log, Judge0: frontend.Judge0{Pool: p.Name}, Jobe: frontend.Jobe{Pool: p.Name}, Callbacks: compattest.Here(t),
	}, frontend.Deps{Deps: s.Deps, Redis: s.Cluster.Store})
	require.NoError(t, err)
	server.Start()
	t.Cleanup(server.Close)
	s.url = at.String()
	return s
}

// ask asks the site.
func (s *site) ask(method, path, body string, header ...string) (*http.Response, string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	require.NoError(s.t, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(s.t, err)
	return resp, string(text)
}

// plain requires what every answer of a compatible API has, and that it knows no sessions.
func (s *site) plain(resp *http.Response, _ string) {
	s.t.Helper()
	require.Equal(s.t, "nosniff", resp.Header.Get("X-Content-Type-Options"))
	require.Contains(s.t, resp.Header.Get("Content-Security-Policy"), "default-src 'none'")
	require.Equal(s.t, "no-store", resp.Header.Get("Cache-Control"))
	require.Empty(s.t, resp.Header.Values("Set-Cookie"))
	require.Empty(s.t, resp.Header.Values("Access-Control-Allow-Origin"))
}

// The compatible APIs answer behind all that the site's requests pass.
func TestCompatibleAPIs(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	url, calls := compattest.Receiver(t, http.StatusOK)
	key := s.Tokens["ann"]
	body := `{"source_code": "echo hello", "language_id": 46, "callback_url": "` + url + `"}`
	resp, text := s.ask("POST", "/judge0/submissions?wait=true", body, "X-Auth-Token", key)
	s.plain(resp, text)
	require.Equal(t, http.StatusCreated, resp.StatusCode, text)
	var made struct{ Token, Stdout string }
	require.NoError(t, json.Unmarshal([]byte(text), &made))
	require.Equal(t, "hello\n", made.Stdout)
	resp, text = s.ask("GET", "/judge0/submissions/"+made.Token, "", "Authorization", "Bearer "+key)
	s.plain(resp, text)
	require.Equal(t, http.StatusOK, resp.StatusCode, text)

	resp, text = s.ask("GET", "/tango/open/"+key+"/lab/", "")
	s.plain(resp, text)
	require.Contains(t, text, "Created directory")
	resp, text = s.ask("POST", "/tango/upload/"+key+"/lab/", "all:\n\t@echo made\n", "Filename", "Makefile")
	s.plain(resp, text)
	require.Contains(t, text, "Uploaded file")
	job := `{"image": "judge0", "files": [{"localFile": "Makefile", "destFile": "Makefile"}], "jobName": "j", "output_file": "o", "callback_url": "` + url + `"}`
	resp, text = s.ask("POST", "/tango/addJob/"+key+"/lab/", job)
	s.plain(resp, text)
	require.Contains(t, text, "Job added")
	resp, text = s.ask("GET", "/tango/poll/"+key+"/lab/o/", "")
	s.plain(resp, text)
	require.Equal(t, "application/octet-stream", resp.Header.Get("Content-Type"))
	require.True(t, strings.HasSuffix(text, "made\n"), text)

	s.Taskrunner(frontend.Callbacks(s.Blobs))
	methods := []string{(<-calls).Method, (<-calls).Method}
	require.ElementsMatch(t, []string{http.MethodPut, http.MethodPost}, methods)
}

// A browser's session opens no compatible API, and a key is never logged nor answered.
func TestCompatibleAPIsKnowKeysAlone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	key := s.Tokens["ann"]
	for _, path := range []string{"/judge0/languages", "/judge0/submissions/abc", "/judge0/nowhere", "/tango/info/wrong/", "/tango/nowhere/" + key + "/"} {
		resp, text := s.ask("GET", path, "", "Cookie", "drover="+key)
		require.Empty(t, resp.Header.Values("Set-Cookie"), path)
		require.NotContains(t, text, key, path)
		require.False(t, resp.StatusCode == http.StatusOK && !strings.Contains(text, "Key not recognized"), "%s: %s", path, text)
	}
	for _, c := range [][]string{
		{"GET", "/tango/info/" + key + "/", ""},
		{"GET", "/tango/open/" + key + "/lab/", ""},
		{"POST", "/tango/addJob/" + key + "/lab/", "{"},
		{"GET", "/tango//info/" + key + "/", ""},
		{"GET", "/tango/info/" + key, ""},
		{"POST", "/tango/info/" + key + "/", ""},
		{"GET", "/tango/x/y/z/" + key, ""},
		{"GET", "/judge0/../tango/info/" + key + "/", ""},
		{"GET", "/%74ango/info/" + key + "/", ""},
		{"GET", "/tango/info%2F" + key + "/", ""},
		{"GET", "/judge0/languages?X-Auth-Token=" + key, ""},
	} {
		s.ask(c[0], c[1], c[2])
		s.ask("POST", "/judge0/submissions", "{", "X-Auth-Token", key)
	}
	require.Contains(t, s.log.String(), "/judge0/submissions", "it is logged")
	for line := range strings.Lines(s.log.String()) {
		require.NotContains(t, line, key)
	}
}

// CodeRunner and pages of other sites, with a key, reach the Jobe API where they expect it; a session opens nothing.
func TestJobeAPI(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const at = "/jobe/index.php/restapi/"
	run := `{"run_spec": {"language_id": "bash", "sourcecode": "echo hello"}}`
	for _, header := range [][]string{
		{"X-API-KEY", s.Tokens["ann"]},
		{"X-API-KEY", s.Tokens["ann"], "Sec-Fetch-Site", "cross-site", "Origin", "https://moodle.example.org"},
	} {
		resp, text := s.ask("POST", at+"runs", run, header...)
		require.Equal(t, http.StatusOK, resp.StatusCode, text)
		require.Contains(t, text, `"stdout":"hello\n"`)
		require.Equal(t, "*", resp.Header.Get("Access-Control-Allow-Origin"))
		require.Equal(t, "no-store", resp.Header.Get("Cache-Control"))
		require.Empty(t, resp.Header.Values("Set-Cookie"))
		require.Empty(t, resp.Header.Values("Access-Control-Allow-Credentials"))
	}
	resp, _ := s.ask("OPTIONS", at+"runs", "", "Origin", "https://moodle.example.org", "Access-Control-Request-Method", "POST")
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Contains(t, resp.Header.Get("Access-Control-Allow-Headers"), "X-API-KEY")
	resp, text := s.ask("POST", at+"runs", run, "Cookie", "drover="+s.Tokens["ann"])
	require.Equal(t, http.StatusForbidden, resp.StatusCode, text)
	for line := range strings.Lines(s.log.String()) {
		require.NotContains(t, line, s.Tokens["ann"])
	}
}

// Another site's page can make a browser ask, and gets nothing by it.
func TestOtherSitesCannotUseCompatibleAPIs(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	resp, text := s.ask("POST", "/judge0/submissions", "{}", "Sec-Fetch-Site", "cross-site", "X-Auth-Token", s.Tokens["ann"])
	require.Equal(t, http.StatusForbidden, resp.StatusCode, text)
}
