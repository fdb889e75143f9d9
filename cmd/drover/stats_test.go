package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/cmd/drover/terminal"
	"drover/core/cluster/history"
	"drover/core/store/storetest"
)

// class makes class cs101 with teacher tess and student ann.
func (h *testCluster) class() {
	h.t.Helper()
	h.said("class", "add", "cs101")
	h.said("user", "add", "tess")
	h.said("user", "add", "ann")
	h.said("class", "enrol", "--role", "teacher", "cs101", "tess")
	h.said("class", "enrol", "cs101", "ann")
}

// ended records a result of each of the assignments.
func (h *testCluster) ended(assignments ...string) {
	h.t.Helper()
	for _, assignment := range assignments {
		spec := storetest.Spec("ann")
		spec.Pool, spec.Type, spec.Assignment = "default", "tests", assignment
		_, _, err := h.cluster.Store.Create(h.t.Context(), spec)
		require.NoError(h.t, err)
		_, err = h.cluster.Store.Record(h.t.Context(), storetest.Result(spec, "1.1"))
		require.NoError(h.t, err)
	}
}

// drover stats shows what an overseer counted, of the cluster and of a class, and says what is wrong with a question.
func TestStatsCommand(t *testing.T) {
	t.Parallel()
	h := newStillCluster(t)
	h.pool()
	out, _, code := h.run("stats")
	require.Zero(t, code)
	require.Contains(t, out, "nothing ended")
	h.class()
	h.ended("cs101/hw1", "cs101/hw1", "cs102/hw1", "")
	h.said("overseer", "--once")
	for _, by := range append(history.Ways(), "") {
		var s history.Stats
		require.NoError(t, json.Unmarshal([]byte(h.said("stats", "--json", "--by", by)), &s))
		want := 4
		if by == "class" {
			want-- // one is of no class
		}
		require.Equal(t, want, s.Total.Total, by)
		require.Equal(t, by != "", len(s.Rows) > 0, by)
	}
	require.Regexp(t, `default\D+4\b`, h.said("stats", "--by", "pool"))
	for _, test := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--class", "cs101", "--by", "assignment", "--as", "tess"}, 0, "hw1"},
		{[]string{"--class", "cs101", "--by", "day"}, 0, "SUBMISSION'S FAULT"},
		{[]string{"--since", "2h", "--until", "1h"}, 0, "nothing ended"},
		{[]string{"--by", "love"}, terminal.ExitUsage, "not parted by"},
		{[]string{"--by", "submitter", "--class", "cs101"}, terminal.ExitUsage, "not parted by"},
		{[]string{"--since", "1h", "--until", "2h"}, terminal.ExitUsage, "begins before it ends"},
		{[]string{"--since", "30000h"}, terminal.ExitUsage, "two years"},
		{[]string{"--since", "soon"}, terminal.ExitUsage, "since"},
		{[]string{"more"}, terminal.ExitUsage, "more"},
		{[]string{"--class", "cs999"}, terminal.ExitNotFound, "cs999"},
		{[]string{"--class", "cs101", "--as", "ann"}, terminal.ExitRefused, "may not"},
		{[]string{"--as", "tess"}, terminal.ExitRefused, "may not"},
		{[]string{"--as", "nobody"}, terminal.ExitNotFound, "nobody"},
	} {
		out, errs, code := h.run(append([]string{"stats"}, test.args...)...)
		require.Equal(t, test.code, code, "%v: %s", test.args, errs)
		require.Contains(t, out+errs, test.says, "%v", test.args)
	}
	out = h.said("pool", "show", "default")
	require.Contains(t, out, "claims that met a VM, last day")
	_, errs, code := h.run("pool", "hits", "other")
	require.Equal(t, terminal.ExitNotFound, code, errs)
}
