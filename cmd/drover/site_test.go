package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/config"
	"drover/web/api"
	"drover/web/caller"
	"drover/web/parts"
)

// testSite is the API of a test's herd, in this process. The token of a user is dro_ and its handle.
type testSite struct {
	*httptest.Server
	t      *testing.T
	logins string

	mu      sync.Mutex
	revoked map[string]bool
}

func newTestSite(t *testing.T, h *herd) *testSite {
	t.Helper()
	s := &testSite{t: t, logins: filepath.Join(t.TempDir(), "own", "logins.json"), revoked: map[string]bool{}}
	reg := h.registrar()
	behind := api.New(parts.Parts{Name: "Test school", Registrar: reg})
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "+tokenPrefix)
		if a, err := reg.Actor(r.Context(), user); err == nil && s.knows(user) {
			r = r.WithContext(caller.With(r.Context(), &caller.Caller{Actor: a, Token: "of-" + user, Scopes: core.Scopes()}))
		}
		switch known := caller.From(r.Context()) != nil; {
		case r.Method != http.MethodDelete:
			behind.ServeHTTP(w, r)
		case known && r.URL.Path == "/api/v1/tokens/of-"+user:
			s.revoke(user)
			w.WriteHeader(http.StatusNoContent)
		default:
			nobody(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// nobody answers that nobody is signed in.
func nobody(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(http.StatusUnauthorized)
	_, _ = w.Write([]byte(`{"code":"FORBIDDEN","detail":"nobody is signed in"}`))
}

func (s *testSite) knows(user string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return user != "" && !s.revoked[user]
}

func (s *testSite) revoke(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked[user] = true
}

// run runs a command of this program with the site's logins.
func (s *testSite) run(stdin string, args ...string) (stdout, stderr string, code int) {
	s.t.Helper()
	var out, errs bytes.Buffer
	at := len(args)
	for i, one := range args {
		if one == "--" {
			at = i
		}
	}
	all := append([]string{"drover"}, args[:at]...)
	all = append(append(all, "--logins", s.logins, "--server", s.URL, "--patience", "0s"), args[at:]...)
	code = run(context.WithoutCancel(s.t.Context()), all, strings.NewReader(stdin), &out, &errs)
	return out.String(), errs.String(), code
}

func (s *testSite) said(args ...string) string {
	s.t.Helper()
	out, errs, code := s.run("", args...)
	require.Zero(s.t, code, "%v: %s%s", args, out, errs)
	return out
}

func (s *testSite) refused(code int, want string, args ...string) {
	s.t.Helper()
	out, errs, got := s.run("", args...)
	require.Equal(s.t, code, got, "%v: %s%s", args, out, errs)
	require.Contains(s.t, errs, want, "%v", args)
}

// login signs a user in.
func (s *testSite) login(user string) {
	s.t.Helper()
	out, errs, code := s.run(tokenPrefix+user+"\n", "login", "--token-stdin")
	require.Zero(s.t, code, errs)
	require.Contains(s.t, out, "as "+user)
}

// ago is how long ago something was, with the spaces that go with it.
var ago = regexp.MustCompile(` *\b(just now|\S+ \S+ ago)\b *`)

// What commands say of a herd they say of a site too.
func TestCommandsAskASite(t *testing.T) {
	t.Parallel()
	h := newTestHerd(t)
	up := h.up()
	for _, line := range []string{
		"user add tom", "user add ann", "class add --title Programming cs101", "class enrol --role teacher cs101 tom", "class enrol cs101 ann",
		"assignment add --title First --due +7d --cutoff +8d cs101/hw1", "submit --as ann --to cs101/hw1 site_test.go",
		"assignment grade --reason seen cs101/hw1 ann 9.5",
	} {
		h.said(strings.Fields(line)...)
	}
	s := newTestSite(t, h.herd)
	s.refused(exitRefused, "drover login --server "+s.URL, "class", "list")
	s.login("tom")
	info, err := os.Stat(s.logins)
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())

	id := strings.Fields(strings.Split(h.said("submission", "list", "--as", "tom"), "\n")[1])[0]
	for _, line := range []string{
		"class list", "class show cs101", "class members --json cs101", "assignment list --json", "assignment show cs101/hw1", "assignment progress cs101/hw1",
		"submission list --json", "submission show " + id, "submission files " + id, "task list", "assignment list --all cs",
	} {
		local := h.said(append(strings.Fields(line), "--as", "tom")...)
		require.Equal(t, ago.ReplaceAllString(local, "-"), ago.ReplaceAllString(s.said(strings.Fields(line)...), "-"), line)
	}
	for _, line := range []string{
		"class show nowhere", "class show", "class list --limit 0", "submission show no-such", "task show no-such", "task cancel no-such",
		"assignment show hw1", "assignment grade cs101/hw1 ann 3", "grades export nowhere", "task list --state no",
	} {
		_, local, code := h.run(append(strings.Fields(line), "--as", "tom")...)
		require.NotZero(t, code, line)
		_, errs, got := s.run("", strings.Fields(line)...)
		require.Equal(t, code, got, "%s: %s", line, errs)
		require.Equal(t, local, errs, line)
	}

	to := filepath.Join(t.TempDir(), "grades.csv")
	s.said("grades", "export", "--to", to, "cs101")
	grades, err := os.ReadFile(to)
	require.NoError(t, err)
	require.Equal(t, "Username,hw1\nann,9.5\n", string(grades))
	s.refused(exitRefused, "there already", "grades", "export", "--to", to, "cs101")
	var task core.Task
	require.NoError(t, json.Unmarshal([]byte(s.said("grades", "export", "--no-wait", "--json", "cs101")), &task))
	require.Contains(t, s.said("task", "show", "--follow", task.ID), "done")
	require.Equal(t, string(grades), s.said("task", "fetch", "--to", "-", task.ID))
	folder := filepath.Join(t.TempDir(), "files")
	s.said("submission", "files", "--to", folder, id)
	require.FileExists(t, filepath.Join(folder, "site_test.go"))
	s.said("submission", "files", "--zip", folder+".zip", id)
	s.said("assignment", "grade", "--reason", "again", "cs101/hw1", "ann", "8")
	require.Contains(t, s.said("submission", "show", id), "8")

	s.refused(exitUsage, "--as is for a herd", "class", "list", "--as", "ann")
	s.revoke("tom")
	s.refused(exitRefused, "drover login --server "+s.URL, "class", "list")
	s.said("logout") // of what is revoked already
	s.refused(exitRefused, "not signed in", "class", "list")
	s.login("ann")
	require.Contains(t, s.said("whoami"), "cs101 (student)")
	require.Contains(t, s.said("logout"), "where you were ann")
	require.False(t, s.knows("ann"), "the token is revoked")
	up.stop()
	h.requireNothingLeft()
}

// loggedIn is a site of which nothing is known but a login.
func loggedIn(t *testing.T, answer http.HandlerFunc) *testSite {
	t.Helper()
	s := &testSite{t: t, logins: filepath.Join(t.TempDir(), "logins.json"), revoked: map[string]bool{}}
	s.Server = httptest.NewServer(answer)
	t.Cleanup(s.Close)
	require.NoError(t, logins(s.logins).put(login{Server: s.URL, User: "ann", Token: "dro_ann", ID: "t1", Insecure: true}))
	return s
}

func TestSitesThatAreNone(t *testing.T) {
	t.Parallel()
	s := loggedIn(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<h1>hello")) })
	s.refused(exitNoHerd, "does not answer as a site of drover", "class", "list")
	s.refused(exitNoHerd, "does not answer as a site of drover", "logout")
	_, errs, code := s.run("dro_x", "login", "--token-stdin")
	require.Equal(t, exitNoHerd, code, errs)
	s = loggedIn(t, http.NotFound)
	s.Close()
	s.refused(exitNoHerd, "does not answer", "class", "list")
}

// What a site says of its users is not the terminal's to obey.
func TestSitesThatAreHostile(t *testing.T) {
	t.Parallel()
	s := loggedIn(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"handle":"ann\u001b]0;x\u0007","roles":["admin\u001b[2J"],"classes":[{"class":"c\u001b[1A","role":"student"}],"scopes":["read\u001b[8m"]}`))
	})
	out, errs, code := s.run("dro_x", "login", "--token-stdin")
	require.Zero(t, code, errs)
	out += s.said("whoami")
	require.Contains(t, out, `ann\x1b]0;x`)
	require.NotContains(t, out+errs, "\x1b")
}

func TestLoginRefuses(t *testing.T) {
	t.Parallel()
	s := loggedIn(t, nobody)
	for name, one := range map[string]struct {
		stdin string
		want  string
		code  int
		args  []string
	}{
		"unknown":     {"dro_x", "nobody is signed in", exitRefused, []string{"--token-stdin"}},
		"no token":    {"hunter2", "that is no token", exitUsage, []string{"--token-stdin"}},
		"two lines":   {"dro_a\ndro_b", "that is no token", exitUsage, []string{"--token-stdin"}},
		"no terminal": {"", "--token-file", exitUsage, nil},
		"no file":     {"", "cannot be read", exitUsage, []string{"--token-file", "/no/such/file"}},
		"both":        {"", "do not go together", exitUsage, []string{"--token-file", "x", "--token-stdin"}},
		"argument":    {"", "takes no argument", exitUsage, []string{"dro_secret"}},
	} {
		_, errs, code := s.run(one.stdin, append([]string{"login"}, one.args...)...)
		require.Equal(t, one.code, code, "%s: %s", name, errs)
		require.Contains(t, errs, one.want, name)
		require.NotContains(t, errs, "hunter2")
	}
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"drover", "login", "--token-stdin", "--logins", s.logins, "--server", "http://drover.example.org"}, strings.NewReader("dro_x"), &out, &errs)
	require.Equal(t, exitUsage, code)
	require.Contains(t, errs.String(), "--insecure-http")
}

func TestLogins(t *testing.T) {
	t.Parallel()
	f := logins(filepath.Join(t.TempDir(), "a", "b", "logins.json"))
	all, err := f.read()
	require.NoError(t, err)
	require.Empty(t, all)
	var group sync.WaitGroup
	for _, server := range []string{"https://c", "https://a", "https://b"} {
		group.Go(func() { assert.NoError(t, f.put(login{Server: server, User: "ann", Token: "dro_1"})) })
	}
	group.Wait()
	require.NoError(t, f.put(login{Server: "https://b", User: "bob", Token: "dro_2"}))
	require.NoError(t, f.forget("https://a"))
	all, err = f.read()
	require.NoError(t, err)
	require.Equal(t, []login{{Server: "https://b", User: "bob", Token: "dro_2"}, {Server: "https://c", User: "ann", Token: "dro_1"}}, all)
	entries, err := os.ReadDir(filepath.Dir(string(f)))
	require.NoError(t, err)
	require.Len(t, entries, 2, "the file and its lock")

	require.NoError(t, os.Chmod(string(f), 0o640))
	_, err = f.read()
	require.ErrorContains(t, err, "chmod 600")
	require.NoError(t, os.Chmod(string(f), 0o600))
	require.NoError(t, os.WriteFile(string(f), []byte("{"), 0o600))
	_, err = f.read()
	require.ErrorContains(t, err, "cannot be read")
	require.Error(t, f.put(login{Server: "https://a"}), "what cannot be read is not written over")
	require.ErrorContains(t, logins("").put(login{}), "--logins")
}

func TestHasHerd(t *testing.T) {
	t.Parallel()
	require.False(t, hasHerd(&config.Config{Redis: "unix:///no/such/redis.sock"}))
	here := filepath.Join(t.TempDir(), "redis.sock")
	require.NoError(t, os.WriteFile(here, nil, 0o600))
	require.True(t, hasHerd(&config.Config{Redis: config.URL("unix://" + here)}), "drover up runs")
	for _, set := range []map[string]string{{"redis": "redis://10.0.0.1:6379/0"}, {"data": t.TempDir()}} {
		cfg, err := config.Load(set, nil)
		require.NoError(t, err)
		require.True(t, hasHerd(cfg))
	}
}
