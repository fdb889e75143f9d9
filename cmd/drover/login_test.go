package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core/config"
	"drover/core/school"
)

// loginsAtASite are signing in by password, what ends it, and signing out.
func loginsAtASite(h *testCluster, s *testSite) {
	h.t.Helper()
	t := h.t
	tokens := func() []school.Token {
		sheet, err := s.site.Accounts.View(t.Context(), access.Operator(), "ann")
		require.NoError(t, err)
		return sheet.Tokens
	}
	before := len(tokens())
	s.password("ann", "three blind mice")
	shown, said, code := s.typed([]string{"login"}, "ann", "three blind mice")
	require.Zero(t, code, said)
	require.Contains(t, said, "read, submit, teach")
	require.NotContains(t, shown+said, "blind", "it is not shown")
	require.Len(t, tokens(), before+1)
	require.Contains(t, s.said("whoami"), "cs101 (student)")
	_, said, code = s.typed([]string{"login", "--user", "ann@example.org", "--scope", "submit", "--life", "12h"}, "three blind mice")
	require.Equal(t, terminal.ExitRefused, code, said)
	_, said, code = s.typed([]string{"login", "--user", "ann", "--scope", "submit", "--life", "12h"}, "three blind mice")
	require.Zero(t, code, said)
	require.Len(t, tokens(), before+1, "the earlier login's is revoked")
	require.Contains(t, tokens()[0].Name, "drover login on ")
	s.refused(terminal.ExitRefused, "scope", "grades", "export", "cs101")

	s.later.Store(int64(13 * time.Hour))
	s.refused(terminal.ExitRefused, "drover login --server "+s.url, "class", "list")
	s.refused(terminal.ExitRefused, "drover login --server "+s.url, "run", "--", "true")
	s.later.Store(0)
	require.Contains(t, s.said("logout"), "where you were ann")
	require.Len(t, tokens(), before, "the token is revoked")
	s.refused(terminal.ExitRefused, "not signed in", "class", "list")

	_, said, code = s.typed([]string{"login", "--user", "ann"}, "three blind men")
	require.Equal(t, terminal.ExitRefused, code, said)
	s.login("ann")
	require.NoError(t, s.site.Accounts.Revoke(t.Context(), access.Operator(), "ann", tokens()[0].ID))
	s.refused(terminal.ExitRefused, "drover login --server "+s.url, "class", "list")
	s.said("logout") // of what is revoked already
}

// typed runs a command on a terminal, and answers what it asks; it returns what the
// terminal shows of that, and what the command says.
func (s *testSite) typed(args []string, answers ...string) (shown, said string, code int) {
	s.t.Helper()
	ours, peer := newTerminal(s.t)
	defer ours.Close()
	out := &output{}
	ended := make(chan int, 1)
	go func() {
		ended <- typeIn(s.t.Context(), append(append([]string{"drover"}, args...), "--logins", s.logins, "--server", s.url, "--server-timeout", "5m"), peer, out, out)
	}()
	for i, answer := range answers {
		await(s.t, "it asks", func() bool { return strings.Count(out.String(), ": ") > i || len(ended) > 0 })
		if i == len(answers)-1 {
			await(s.t, "it hides what is typed", func() bool { return !echoes(s.t, peer) || len(ended) > 0 })
		}
		require.Empty(s.t, ended, "it has ended: %s", out)
		_, err := ours.WriteString(answer + "\n")
		require.NoError(s.t, err)
	}
	code = <-ended
	require.True(s.t, echoes(s.t, peer), "the terminal is as it was")
	require.NoError(s.t, peer.Close())
	var text bytes.Buffer
	_, err := text.ReadFrom(ours)
	require.Error(s.t, err, "EIO")
	return text.String(), out.String(), code
}

// nobody answers that nobody is signed in.
func nobody(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(http.StatusUnauthorized)
	_, _ = w.Write([]byte(`{"code":"FORBIDDEN","detail":"nobody is signed in"}`))
}

func TestLoginRefuses(t *testing.T) {
	t.Parallel()
	s := loggedIn(t, httptest.NewServer(http.HandlerFunc(nobody)))
	for name, one := range map[string]struct {
		stdin string
		want  string
		code  int
		args  []string
	}{
		"unknown":     {"dro_x", "nobody is signed in", terminal.ExitRefused, []string{"--token-stdin"}},
		"no token":    {"hunter2", "that is no token", terminal.ExitUsage, []string{"--token-stdin"}},
		"two lines":   {"dro_a\ndro_b", "that is no token", terminal.ExitUsage, []string{"--token-stdin"}},
		"no terminal": {"ann\nthree blind mice\n", "--token-file", terminal.ExitUsage, nil},
		"token typed": {"dro_x", "no terminal", terminal.ExitUsage, []string{"--token"}},
		"no file":     {"", "cannot be read", terminal.ExitUsage, []string{"--token-file", "/no/such/file"}},
		"both":        {"", "do not go together", terminal.ExitUsage, []string{"--token-file", "x", "--token-stdin"}},
		"argument":    {"", "takes no argument", terminal.ExitUsage, []string{"dro_secret"}},
	} {
		_, errs, code := s.run(one.stdin, append([]string{"login"}, one.args...)...)
		require.Equal(t, one.code, code, "%s: %s", name, errs)
		require.Contains(t, errs, one.want, name)
		require.NotContains(t, errs, "hunter2")
	}
	var out, errs bytes.Buffer
	code := typeIn(t.Context(), []string{"drover", "login", "--token-stdin", "--logins", s.logins, "--server", "http://drover.example.org"}, strings.NewReader("dro_x"), &out, &errs)
	require.Equal(t, terminal.ExitUsage, code)
	require.Contains(t, errs.String(), "--insecure-http")
}

func TestLogins(t *testing.T) {
	t.Parallel()
	f := access.Logins(filepath.Join(t.TempDir(), "a", "b", "logins.json"))
	all, err := f.Read()
	require.NoError(t, err)
	require.Empty(t, all)
	var group sync.WaitGroup
	for _, server := range []string{"https://c", "https://a", "https://b"} {
		group.Go(func() {
			before, err := f.Put(access.Login{Server: server, User: "ann", Token: "dro_1"})
			assert.NoError(t, err)
			assert.Nil(t, before)
		})
	}
	group.Wait()
	before, err := f.Put(access.Login{Server: "https://b", User: "bob", Token: "dro_2"})
	require.NoError(t, err)
	require.Equal(t, &access.Login{Server: "https://b", User: "ann", Token: "dro_1"}, before)
	require.NoError(t, f.Forget("https://a"))
	all, err = f.Read()
	require.NoError(t, err)
	require.Equal(t, []access.Login{{Server: "https://b", User: "bob", Token: "dro_2"}, {Server: "https://c", User: "ann", Token: "dro_1"}}, all)
	entries, err := os.ReadDir(filepath.Dir(string(f)))
	require.NoError(t, err)
	require.Len(t, entries, 2, "the file and its lock")

	require.NoError(t, os.Chmod(string(f), 0o640))
	_, err = f.Read()
	require.ErrorContains(t, err, "chmod 600")
	require.NoError(t, os.Chmod(string(f), 0o600))
	require.NoError(t, os.WriteFile(string(f), []byte("{"), 0o600))
	_, err = f.Read()
	require.ErrorContains(t, err, "cannot be read")
	_, err = f.Put(access.Login{Server: "https://a"})
	require.Error(t, err, "what cannot be read is not written over")
	_, err = access.Logins("").Put(access.Login{})
	require.ErrorContains(t, err, "--logins")
}

func TestHasCluster(t *testing.T) {
	t.Parallel()
	require.False(t, access.HasCluster(&config.Config{Redis: "unix:///no/such/redis.sock"}))
	here := filepath.Join(t.TempDir(), "redis.sock")
	require.NoError(t, os.WriteFile(here, nil, 0o600))
	require.True(t, access.HasCluster(&config.Config{Redis: config.URL("unix://" + here)}), "drover up runs")
	for _, set := range []map[string]string{{"redis": "redis://10.0.0.1:6379/0"}, {"data": t.TempDir()}} {
		cfg, err := config.Load(set, nil)
		require.NoError(t, err)
		require.True(t, access.HasCluster(cfg))
	}
}
