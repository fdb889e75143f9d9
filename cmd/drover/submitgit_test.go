package main

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/cmd/drover/terminal"
	"drover/core/classes"
	"drover/core/school"
	"drover/web/forgetest"
)

// A commit is submitted by a command, through a site and on the cluster itself, and refused with how to mend it.
func TestSubmitFromGit(t *testing.T) {
	t.Parallel()
	h := newStillCluster(t)
	for _, line := range []string{
		"pool set default", "user add ann", "user add bob", "class add cs101", "class enrol cs101 ann", "assignment add --title First cs101/hw1",
	} {
		h.said(strings.Fields(line)...)
	}
	s := newTestSite(t, h.cluster)
	s.login("ann")
	const elsewhere = "https://example.org/ann/hw1"
	to := []string{"submit", "--no-wait", "--to", "cs101/hw1", "--git"}
	s.refused(terminal.ExitUsage, "are fetched from github.com", append(to, elsewhere)...)
	h.refused(terminal.ExitUsage, "are fetched from github.com", append(to, elsewhere, "--as", "ann")...)
	h.refused(terminal.ExitUsage, "must begin with https://", append(to, "git@github.com:ann/hw1", "--as", "ann")...)
	s.refused(terminal.ExitUsage, "has no address: write one such as", append(to, "")...)
	s.refused(terminal.ExitUsage, "is no name of a branch", append(to, "https://github.com/ann/hw1", "--ref", "a..b")...)
	s.refused(terminal.ExitUsage, "do not go together", append(to, elsewhere, "main.py")...)
	s.refused(terminal.ExitUsage, "--harness and --to do not go together", append(to, elsewhere, "--harness", "x")...)
	s.refused(terminal.ExitUsage, "need --to", "submit", "--git", elsewhere)
	s.refused(terminal.ExitUsage, "need --to", "submit", "--ref", "main", "--harness", "x", "--submission", "y")
	s.refused(terminal.ExitUsage, "--ref needs --git", "submit", "--to", "cs101/hw1", "--ref", "main", "main.py")
	h.refused(terminal.ExitNotFound, "cs101", append(to, elsewhere, "--as", "bob")...)
	require.Contains(t, s.said("submission", "list", "cs101"), "no submissions")

	f := forgetest.New(t)
	commit := f.Commit(map[string]string{"main.py": "print()\n"})
	f.Git("tag", "v1")
	fetches := h.cluster.Repositories
	fetches.Hosts, fetches.Port, fetches.Cert = []string{f.Host}, f.Port, f.Cert
	fetches.Addresses.Allowed = []netip.Prefix{netip.MustParsePrefix(forgetest.Network)}
	args := append(to, f.URL+"/hw1", "--ref", "v1", "--key", "k1")
	out, errs, code := s.run("", args...)
	require.Zero(t, code, errs)
	require.Contains(t, errs, "it is commit "+commit[:12]+" of "+f.URL)
	id := strings.TrimSpace(out)
	require.Equal(t, id, strings.TrimSpace(s.said(args...)), "the same key is the same submission")
	var v classes.SubmissionView
	require.NoError(t, json.Unmarshal([]byte(s.said("submission", "show", "--json", id)), &v))
	require.Equal(t, &school.Source{Address: f.URL + "/hw1", Ref: "v1", Commit: commit}, v.Submission.Source)
	require.Regexp(t, `commit +`+commit, s.said("submission", "show", id))
	require.Contains(t, s.said("submission", "files", id), "main.py")
}
