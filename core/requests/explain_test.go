package requests_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/harness/explain"
)

// Staff read what decided a verdict, operators how attempts ended, and neither learns what is the other's.
func TestExplain(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	digest, size, err := w.service.Blobs.Put(t.Context(), strings.NewReader("a harness"), 1<<20)
	require.NoError(t, err)
	s := w.submit("ann", grading("cs101/hw1"), func(s *core.Spec) { s.Command, s.Harness = nil, &core.File{Path: "h", Digest: digest, Size: size} })
	c := w.claim()
	_, err = w.service.Explain(t.Context(), as("tess"), s.ID)
	requireCode(t, core.CodeConflict, err)
	require.NoError(t, w.store.AddStateChanges(t.Context(), []core.StateChange{
		{Kind: core.EntityRequest, Thing: s.Key(), At: 1, State: "queued", How: "enqueue"},
		{Kind: core.EntityRequest, Thing: s.Key(), At: 2, State: "queued", How: "retry", By: "overseer@h9#0", Why: "its host h9 is lost"},
	}))
	w.end(c, func(r *core.Result) {
		r.Attempt = 2
		r.Tests = []core.Test{{Name: "secret test", Verdict: core.TestTimeLimit, MaxScore: 1, Usage: &core.Usage{CPUMs: 1020}, Decision: &core.Decision{By: core.ByTime, TimeMs: 1000}}}
	})
	said := func(who string) string {
		lines, err := w.service.Explain(t.Context(), as(who), s.ID)
		require.NoError(t, err)
		return strings.Join(explain.English(lines), "\n")
	}
	staff, operator := said("tess"), said("olga")
	require.Contains(t, staff, "Test secret test computed for 1.02 s, and its limit of processor time is 1 s: time limit")
	require.Contains(t, staff, "An earlier attempt ended without a result")
	require.NotContains(t, staff, "h9")
	require.Contains(t, operator, "An earlier attempt, of overseer@h9#0, ended without a result and counts for nothing (its host h9 is lost)")
	require.NotContains(t, operator, "secret")
	_, err = w.service.Explain(t.Context(), as("ann"), s.ID)
	requireCode(t, core.CodeNotFound, err)
}
