package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/cluster/history"
	"drover/core/cluster/operate"
	"drover/core/coretest/tier"
)

// What ran stands in the histories of its request, its VM and its host, and in the hit rate of its pool.
func TestHistoryOfWhatRan(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Journey)
	h := newTestCluster(t)
	h.pool()
	h.up()
	id := h.submit(1, "true")[0]
	h.submit(2, "true")
	h.awaitLeft(0)
	changes := func(args ...string) (all []core.StateChange) {
		h.asJSON(&all, args...)
		return all
	}
	// states are those of a thing, oldest first, once the last one is there.
	states := func(last string, args ...string) (words []string) {
		await(t, strings.Join(args, " ")+" says "+last, func() bool {
			words = nil
			for _, c := range changes(args...) {
				words = append([]string{c.State}, words...)
			}
			return len(words) > 0 && words[len(words)-1] == last
		})
		return words
	}
	require.Equal(t, []string{"queued", "claimed", "running", "completed"}, states("completed", "request", "history", id))
	row, err := h.cluster.Store.Get(t.Context(), id)
	require.NoError(t, err)
	vm, host := row.Result.VM, row.Result.Host
	require.Contains(t, h.said("request", "history", id), vm, "with which VM it was claimed")
	require.Subset(t, states("gone", "vm", "history", vm), []string{"creating", "clean", "claimed", "dirty", "gone"})
	require.Contains(t, h.said("vm", "history", vm), row.Spec.Key(), "with which request it was claimed")
	require.Equal(t, []string{"up"}, states("up", "host", "history", host)[:1])

	// Pages are parted where they end.
	all := changes("vm", "history", vm)
	require.Equal(t, all[:2], changes("vm", "history", "--limit", "2", vm))
	require.Equal(t, all[2:], changes("vm", "history", "--before", all[1].Place(), vm))
	_, errs, code := h.run("vm", "history", "--limit", "2", vm)
	require.Zero(t, code)
	require.Contains(t, errs, all[1].Place(), "where to go on")

	var s history.Stats
	h.said("overseer", "--once") // which does not wait until it is time to count
	h.asJSON(&s, "stats", "--by", "pool")
	require.Equal(t, 3, s.Total.Total)
	var hits operate.Hits
	h.asJSON(&hits, "pool", "hits", "default")
	require.Equal(t, 3, hits.Warm+hits.Cold)
	require.Equal(t, 3, hits.Replayed)
	require.NotNil(t, hits.AsSet)
	require.Len(t, hits.Fixed, 4, "0, 1, 2 and 4 of at most 6")
	require.Regexp(t, `of 3 claims[^$]*newest 3 requests[^$]*as set now`, h.said("pool", "hits", "default"))

	for _, noun := range []string{"request", "vm", "host"} {
		h.refused(terminal.ExitUsage, "history", noun, "history")
		h.refused(terminal.ExitUsage, "soon", noun, "history", "--before", "soon", id)
		h.refused(terminal.ExitUsage, "limit", noun, "history", "--limit", "1001", id)
	}
	require.Contains(t, h.said("vm", "history", "nobody"), "nothing is known of nobody")
	require.Contains(t, h.said("host", "history", "nobody"), "nothing is known of nobody")
	h.refused(terminal.ExitNotFound, "nobody", "request", "history", "nobody")
	h.refused(terminal.ExitNotFound, "no request of pool default ran in that time", "pool", "hits", "--since", "1ms", "default")
}

// The statistics of a class are asked of a site by its staff, as they are on the cluster.
func TestClassStatsOfASite(t *testing.T) {
	t.Parallel()
	h := newStillCluster(t)
	h.pool()
	h.class()
	h.ended("cs101/hw1")
	h.said("overseer", "--once")
	s := newTestSite(t, h.cluster)
	s.login("tess")
	for _, args := range [][]string{{"--by", "assignment"}, {"--by", "day"}, nil} {
		args = append([]string{"stats", "--class", "cs101"}, args...)
		out := s.said(args...)
		require.Equal(t, h.said(append(args, "--as", "tess")...), out, args)
		require.Regexp(t, `\b1\b`, out, args)
	}
	require.Contains(t, s.said("stats", "--class", "cs101", "--by", "assignment"), "hw1")
	var stats history.Stats
	require.NoError(t, json.Unmarshal([]byte(s.said("stats", "--class", "cs101", "--json")), &stats))
	require.Equal(t, 1, stats.Total.Total)
	s.refused(terminal.ExitUsage, "not parted by", "stats", "--class", "cs101", "--by", "submitter")
	s.refused(terminal.ExitNotFound, "cs999", "stats", "--class", "cs999")
	s.refused(terminal.ExitRefused, "may not", "stats")
	s.login("ann")
	s.refused(terminal.ExitRefused, "may not", "stats", "--class", "cs101")
}
