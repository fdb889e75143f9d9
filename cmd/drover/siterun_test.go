package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/stretchr/testify/require"

	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/requests"
)

// runsOnASite runs commands by a site, and on the cluster itself as the same user.
func runsOnASite(h *testCluster, s *testSite) {
	h.t.Helper()
	t := h.t
	h.said("user", "add", "--role", "runner", "rosa")
	s.login("rosa")
	for _, args := range [][]string{
		{"run", "--", "sh", "-c", "echo out; echo bad >&2; exit 7"},
		{"run", "--timeout", "200ms", "--", "sleep", "60"},
		{"run", "--file", "site_test.go", "--stdin", "login_test.go", "--env", "WORD=bird", "--", "sh", "-c", "echo $WORD; cat site_test.go - | wc -c"},
		{"run", "--", "sh", "-c", `printf 'caf\\303\\251 \\377\\000.'`},
		{"run", "--pool", "nowhere", "--", "true"},
		{"run", "--priority", "high", "--", "true"},
		{"run", "--submitter", "bob", "--", "true"},
		{"run", "--memory", "100GiB", "--", "true"},
		{"run", "--file", "/no/such/file", "--", "true"},
		{"run", "--file", ".", "--", "true"},
		{"request", "show", "nobody"},
		{"request", "list", "--submitter", "bob"},
	} {
		at := slices.Index(args, "--")
		if at < 0 {
			at = len(args)
		}
		out, errs, code := h.run(slices.Insert(slices.Clone(args), at, "--as", "rosa")...)
		gotOut, gotErrs, got := s.run("", args...)
		require.Equal(t, code, got, "%v: %s", args, gotErrs)
		require.Equal(t, out, gotOut, args)
		require.Equal(t, steady(errs), steady(gotErrs), args)
	}
	s.refused(terminal.ExitUsage, "high, normal, low", "run", "--priority", "best", "--", "true")
	s.refused(terminal.ExitUsage, "timed_out", "request", "list", "--state", "gone")
	out, errs, code := s.run("typed\n", "run", "--stdin", "-", "--collect", "made", "--json", "--", "sh", "-c", "cat; echo $0 > made", "here")
	require.Zero(t, code, errs)
	var v requests.View
	require.NoError(t, json.Unmarshal([]byte(out), &v))
	require.Equal(t, "typed\n", v.Stdout)
	for _, line := range []string{"request show " + v.ID, "request output " + v.ID, "request files " + v.ID, "request output --json " + v.ID, "request cancel " + v.ID} {
		out, errs, code := h.run(append(strings.Fields(line), "--as", "rosa")...)
		gotOut, gotErrs, got := s.run("", strings.Fields(line)...)
		require.Equal(t, []any{age.ReplaceAllString(out, "then"), errs, code}, []any{age.ReplaceAllString(gotOut, "then"), gotErrs, got}, line)
	}
	folder := filepath.Join(t.TempDir(), "made")
	s.said("request", "files", "--to", folder, v.ID)
	made, err := os.ReadFile(filepath.Join(folder, "made"))
	require.NoError(t, err)
	require.Equal(t, "here\n", string(made))
	require.Contains(t, s.said("request", "list", "--state", "completed"), v.ID)
	require.Contains(t, s.said("request", "rerun", v.ID), "generation 2")
	h.awaitLeft(0)
	cancelsOnASite(h, s)
}

// cancelsOnASite sees output as it comes, and stops what prints it by Ctrl-C.
func cancelsOnASite(h *testCluster, s *testSite) {
	h.t.Helper()
	t := h.t
	p := h.start("run", "--logins", s.logins, "--server", s.url, "--", "sh", "-c", "echo begun; sleep 3600")
	await(t, "output comes live", func() bool { return strings.Contains(p.said(), "begun") })
	rows, err := h.cluster.Store.List(context.Background(), core.Filter{Submitter: "rosa", Limit: 1})
	require.NoError(t, err)
	id := rows[0].Spec.ID
	require.Equal(t, "begun\n", s.said("request", "output", id), "what there is by now")
	p.signal(syscall.SIGINT)
	p.await()
	require.Equal(t, terminal.ExitStopped, p.cmd.ProcessState.ExitCode(), p.said())
	h.requireState(id, core.RequestCancelled)
	require.Contains(t, s.said("request", "show", id), "cancelled by rosa")
}

// gradingOnASite submits what is graded, and has it graded once more.
func gradingOnASite(h *testCluster, s *testSite) {
	h.t.Helper()
	t := h.t
	h.said("assignment", "add", "--due", "+7d", "cs101/ledger")
	h.said("assignment", "harness", "cs101/ledger", ledgerHarness)
	local := h.said("submit", "--as", "rosa", "--harness", ledgerHarness, "--submission", partlyRight)
	require.Equal(t, steady(local), steady(s.said("submit", "--harness", ledgerHarness, "--submission", partlyRight)))
	s.login("ann")
	local = h.said("submit", "--as", "ann", "--to", "mine/ledger", partlyRight)
	require.Equal(t, steady(local), steady(s.said("submit", "--to", "mine/ledger", partlyRight)))
	id := strings.Fields(strings.Split(s.said("submission", "list", "cs101/ledger"), "\n")[1])[0]
	s.refused(terminal.ExitUsage, "cannot be read", "submit", "--to", "mine/ledger", "/no/such/file")
	s.refused(terminal.ExitRefused, "", "submission", "resubmit", id)
	s.login("tom")
	require.Equal(t, steady(h.said("submission", "resubmit", "--as", "tom", id)), steady(s.said("submission", "resubmit", id)))
}

// aSiteThatGoesAway is one that ends and comes back while somebody reads.
func aSiteThatGoesAway(h *testCluster, s *testSite) {
	h.t.Helper()
	t := h.t
	s.login("rosa")
	const lines = 40
	p := h.start("run", "--logins", s.logins, "--server", s.url, "--server-timeout", "1m", "--", "sh", "-c", fmt.Sprintf("for i in $(seq %d); do echo line $i; sleep 0.1; done", lines))
	await(t, "output comes live", func() bool { return strings.Contains(p.said(), "line 3\n") })
	s.away()
	await(t, "it is noticed", func() bool { return strings.Contains(p.said(), "trying again") })
	s.back()
	p.await()
	require.Zero(t, p.cmd.ProcessState.ExitCode(), p.said())
	var want, got []string
	for i := range lines {
		want = append(want, fmt.Sprintf("line %d", i+1))
	}
	for line := range strings.Lines(p.said()) {
		if !strings.HasPrefix(line, "drover: ") {
			got = append(got, strings.TrimSuffix(line, "\n"))
		}
	}
	require.Equal(t, want, got)
	s.away()
	s.refused(terminal.ExitNoCluster, "does not answer", "request", "list")
	s.back()
}
