package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"drover/cmd/drover/terminal"
	"drover/core/school"
)

// teachingOnASite is what a teacher does who has no access to the cluster itself, from the roster to an
// experiment. The site is asked and the cluster says what came of it.
func teachingOnASite(h *testCluster, s *testSite) {
	h.t.Helper()
	t := h.t
	h.said("class", "add", "cs200")
	h.said("class", "enrol", "--role", "teacher", "cs200", "tom")
	h.said("user", "add", "--email", "dan@example.org", "dan")
	s.login("tom")
	s.said("class", "enrol", "cs200", "ann")
	roster := filepath.Join(t.TempDir(), "roster.csv")
	require.NoError(t, os.WriteFile(roster, []byte("email,role\ndan@example.org,student\nnobody@example.org,\n"), 0o600))
	dry, errs, code := s.run("", "class", "import", "--dry-run", "cs200", roster)
	require.Equal(t, terminal.ExitUsage, code, errs)
	require.Contains(t, errs, "line 3")
	require.Contains(t, dry, "1 to enrol")
	_, _, code = s.run("", "class", "import", "cs200", roster)
	require.Equal(t, terminal.ExitUsage, code)
	require.Contains(t, h.said("class", "members", "cs200"), "dan@example.org")
	s.refused(terminal.ExitRefused, "may not", "class", "enrol", "--role", "teacher", "cs200", "ann")
	s.said("class", "drop", "cs200", "dan")
	require.NotContains(t, h.said("class", "members", "cs200"), "dan@example.org")

	brackets := func(parts ...string) string {
		return filepath.Join(append([]string{"..", "..", "examples", "brackets"}, parts...)...)
	}
	said := s.said("assignment", "add", "--title", "Brackets", "--due", "+7d", "--cutoff", "+8d", "--final", "--harness", brackets("harness"), "cs200/brackets")
	require.Contains(t, said, "is made: ")
	s.refused(terminal.ExitRefused, "already", "assignment", "add", "cs200/brackets")
	view := func() school.Assignment {
		as, err := h.cluster.Store.GetAssignment(t.Context(), "cs200", "brackets")
		require.NoError(t, err)
		return as
	}
	before := view()
	require.True(t, before.AllowFinal && before.Harness != nil && before.Cutoff > before.Due)
	s.said("assignment", "set", "--cutoff", "none", "--final=false", "--timeout", "9s", "cs200/brackets")
	after := view()
	require.Zero(t, after.Cutoff, "what is taken away is told, too")
	require.False(t, after.AllowFinal)
	require.Equal(t, 9*time.Second, after.Limits.Timeout)
	require.Equal(t, before.Due, after.Due, "and nothing else changes")
	require.Equal(t, before.Harness, after.Harness)
	s.said("assignment", "harness", "--none", "cs200/brackets")
	require.Nil(t, view().Harness)
	local := h.said("assignment", "harness", "cs200/brackets", brackets("harness"))
	require.Equal(t, local, s.said("assignment", "harness", "cs200/brackets", brackets("harness")))
	require.Equal(t, before.Harness, view().Harness)
	s.said("assignment", "deadline", "--user", "ann", "--due", "+9d", "--reason", "was ill", "cs200/brackets")
	require.Contains(t, h.said("assignment", "deadline", "cs200/brackets"), "was ill")
	s.said("assignment", "deadline", "--user", "ann", "--none", "--reason", "is well", "cs200/brackets")
	require.NotContains(t, h.said("assignment", "deadline", "cs200/brackets"), "ann")

	for _, who := range []string{"missing", "missing --after a"} {
		args := append(append([]string{"submission"}, strings.Fields(who)...), "cs200/brackets")
		require.Contains(t, h.said(args...), "ann")
		require.Equal(t, h.said(args...), s.said(args...))
	}
	h.said("submit", "--as", "ann", "--to", "cs200/brackets", brackets("submissions", "right"))
	out := s.said("assignment", "rerun", "--repeat", "2", "--user", "ann", "--harness", brackets("harness"), "--wait", "cs200/brackets")
	require.Contains(t, out, "is ready")
	require.Contains(t, s.said("submission", "missing", "cs200/brackets"), "everybody has submitted something")
	var all []school.Experiment
	require.NoError(t, json.Unmarshal([]byte(s.said("experiment", "list", "--json", "cs200/brackets")), &all))
	require.Len(t, all, 1)
	require.Equal(t, []string{"ann"}, all[0].Users)
	require.Equal(t, 2, all[0].Repeat)
	require.Equal(t, h.said("experiment", "show", "--all", all[0].ID), s.said("experiment", "show", "--all", all[0].ID))
	require.Contains(t, s.said("experiment", "apply", all[0].ID), "the new results of 1 submissions count")
	s.said("assignment", "rerun", "cs200/brackets")
	require.NoError(t, json.Unmarshal([]byte(s.said("experiment", "list", "--json", "cs200/brackets")), &all))
	s.said("experiment", "abort", all[0].ID)

	s.login("ann")
	s.refused(terminal.ExitRefused, "may not", "assignment", "set", "--due", "+9d", "cs200/brackets")
	s.refused(terminal.ExitRefused, "may not", "assignment", "rerun", "cs200/brackets")
	s.login("tom")
	require.Contains(t, s.said("assignment", "remove", "cs200/brackets"), "is deleted")
}
