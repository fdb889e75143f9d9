package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/cmd/drover/wiring"
	"drover/core"
	"drover/core/coretest/tier"
	"drover/core/school"
	"drover/core/service"
)

// testSite is the site of a test's cluster, in this process.
type testSite struct {
	t      *testing.T
	h      *access.Cluster
	url    string
	logins string
	later  atomic.Int64 // how much later than now it is there, ns

	site   *wiring.Website
	serves *service.Group
}

func newTestSite(t *testing.T, h *access.Cluster) *testSite {
	t.Helper()
	s := &testSite{t: t, h: h, logins: filepath.Join(t.TempDir(), "own", "logins.json")}
	h.Config.Listen = "127.0.0.1:0"
	s.back()
	s.url, h.Config.Listen = s.site.URL.String(), s.site.Server.Addr()
	t.Cleanup(s.away)
	return s
}

// back has the site answer, where it did before.
func (s *testSite) back() {
	s.t.Helper()
	quiet := logrus.New()
	quiet.SetOutput(io.Discard)
	var err error
	s.site, err = wiring.NewWebsite(s.h, quiet)
	require.NoError(s.t, err)
	s.site.Accounts.Now = func() time.Time { return time.Now().Add(time.Duration(s.later.Load())) }
	s.serves = service.Start(context.Background(), s.site.Services()...)
}

// away ends the site, whatever is under way.
func (s *testSite) away() {
	s.t.Helper()
	now, cancel := context.WithCancel(context.Background())
	cancel()
	require.NoError(s.t, s.serves.Stop(now))
}

// run runs a command of this program with the site's logins.
func (s *testSite) run(stdin string, args ...string) (stdout, stderr string, code int) {
	s.t.Helper()
	var out, errs bytes.Buffer
	at := slices.Index(args, "--")
	if at < 0 {
		at = len(args)
	}
	all := slices.Insert(slices.Concat([]string{"drover"}, args), at+1, "--logins", s.logins, "--server", s.url, "--server-timeout", "0s")
	code = typeIn(context.WithoutCancel(s.t.Context()), all, strings.NewReader(stdin), &out, &errs)
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

// login signs a user in by a new token.
func (s *testSite) login(user string) {
	s.t.Helper()
	secret, _, err := s.site.Accounts.IssueToken(context.Background(), core.Actor{Handle: user}, "test", school.Scopes(), 0)
	require.NoError(s.t, err)
	out, errs, code := s.run(secret+"\n", "login", "--token-stdin")
	require.Zero(s.t, code, errs)
	require.Contains(s.t, out, "as "+user)
}

// password gives a user a password of its own.
func (s *testSite) password(user, password string) {
	s.t.Helper()
	ctx, first := context.Background(), "once upon a time"
	require.NoError(s.t, s.site.Accounts.GivePassword(ctx, access.Operator(), user, first))
	_, err := s.site.Accounts.ChangePassword(ctx, core.Actor{Handle: user}, first, password, "127.0.0.1")
	require.NoError(s.t, err)
}

// changing is what two commands that say the same do not say the same of: when something
// was, how long it took, and which request it is.
var changing = regexp.MustCompile(` *\b(just now|\S+ \S+ ago|01[0-9a-z]{24}|[0-9.]+ ?m?s|[0-9.]+ ?[KMG]iB)\b[ .]*`)

// age is how long ago something was.
var age = regexp.MustCompile(`just now|\S+ \S+ ago`)

func steady(text string) string { return changing.ReplaceAllString(text, "-") }

// What commands say of a cluster they say of a site too.
func TestCommandsAskASite(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t)
	up := h.up()
	h.here = true
	s := newTestSite(t, h.cluster)
	coursesOnASite(h, s)
	linksOnASite(h, s)
	teachingOnASite(h, s)
	runsOnASite(h, s)
	gradingOnASite(h, s)
	aSiteThatGoesAway(h, s)
	loginsAtASite(h, s)
	up.stop()
	h.requireNothingLeft()
}

func coursesOnASite(h *testCluster, s *testSite) {
	h.t.Helper()
	t := h.t
	for _, line := range []string{
		"user add tom", "user add ann", "class add --title Programming cs101", "class enrol --role teacher cs101 tom", "class enrol cs101 ann",
		"assignment add --title First --due +7d --cutoff +8d cs101/hw1", "submit --as ann --to cs101/hw1 site_test.go",
		"assignment grade --reason seen cs101/hw1 ann 9.5",
	} {
		h.said(strings.Fields(line)...)
	}
	s.refused(terminal.ExitRefused, "drover login --server "+s.url, "class", "list")
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
		require.Equal(t, steady(local), steady(s.said(strings.Fields(line)...)), line)
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
	s.refused(terminal.ExitRefused, "there already", "grades", "export", "--to", to, "cs101")
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

	s.refused(terminal.ExitUsage, "--as is for a cluster", "class", "list", "--as", "ann")
}

// loggedIn is a site of which nothing is known but a login.
func loggedIn(t *testing.T, answer *httptest.Server) *testSite {
	t.Helper()
	t.Cleanup(answer.Close)
	s := &testSite{t: t, url: answer.URL, logins: filepath.Join(t.TempDir(), "logins.json")}
	_, err := access.Logins(s.logins).Put(access.Login{Server: s.url, User: "ann", Token: "dro_ann", ID: "t1"})
	require.NoError(t, err)
	return s
}

func TestSitesThatAreNone(t *testing.T) {
	t.Parallel()
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<h1>hello")) })
	s := loggedIn(t, httptest.NewServer(hello))
	s.refused(terminal.ExitNoCluster, "does not answer as a site of drover", "class", "list")
	s.refused(terminal.ExitNoCluster, "does not answer as a site of drover", "run", "--", "true")
	s.refused(terminal.ExitNoCluster, "does not answer as a site of drover", "logout")
	_, errs, code := s.run("dro_x", "login", "--token-stdin")
	require.Equal(t, terminal.ExitNoCluster, code, errs)
	gone := httptest.NewServer(http.HandlerFunc(http.NotFound))
	s = loggedIn(t, gone)
	gone.Close()
	s.refused(terminal.ExitNoCluster, "does not answer", "class", "list")
	strange := httptest.NewTLSServer(hello)
	strange.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	loggedIn(t, strange).refused(terminal.ExitNoCluster, "the certificate of https://127.0.0.1", "class", "list")
}

// What a site says of its users is not the terminal's to obey.
func TestSitesThatAreHostile(t *testing.T) {
	t.Parallel()
	s := loggedIn(t, httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"handle":"ann\u001b]0;x\u0007","roles":["admin\u001b[2J"],"classes":[{"class":"c\u001b[1A","role":"student"}],"scopes":["read\u001b[8m"]}`))
	})))
	out, errs, code := s.run("dro_x", "login", "--token-stdin")
	require.Zero(t, code, errs)
	out += s.said("whoami")
	require.Contains(t, out, `ann\x1b]0;x`)
	require.NotContains(t, out+errs, "\x1b")
}
