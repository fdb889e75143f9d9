package operate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
)

// noted are changes of state in words: at, and the state or the end of a gap.
func noted(all []core.StateChange) string {
	var words []string
	for _, c := range all {
		if c.Kind == core.EntityGap {
			words = append(words, fmt.Sprintf("%d gap to %d", c.At, c.Until))
			continue
		}
		words = append(words, fmt.Sprintf("%d %s", c.At, c.State))
	}
	return strings.Join(words, ", ")
}

// A thing's changes come with the gaps in which others of its own may be missing, and with no other gap.
func TestChangesNameTheirGaps(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	change := func(kind core.Entity, thing string, at int64, state, how string) core.StateChange {
		return core.StateChange{Kind: kind, Thing: thing, At: at, State: state, How: how}
	}
	gap := func(at, until int64) core.StateChange {
		return core.StateChange{Kind: core.EntityGap, Thing: core.GapThing, At: at, N: 1, Until: until, How: "gap"}
	}
	require.NoError(t, w.store.AddStateChanges(t.Context(), []core.StateChange{
		gap(10, 20), gap(100, 110), gap(200, 210), gap(300, 310), gap(400, 410),
		change(core.EntityVM, "whole", 50, "creating", "create"), change(core.EntityVM, "whole", 120, "clean", "ready"), change(core.EntityVM, "whole", 250, "gone", "gone"),
		change(core.EntityVM, "headless", 220, "dirty", "retire"),
		change(core.EntityHost, "h1", 150, "up", "up"), change(core.EntityHost, "h1", 350, "down", "down"),
	}))
	read := func(kind core.Entity, thing, before string, limit int) []core.StateChange {
		t.Helper()
		all, err := w.op.Changes(t.Context(), olga, core.StateChangeFilter{Kind: kind, Thing: thing, Before: before, Limit: limit})
		require.NoError(t, err)
		return all
	}
	require.Equal(t, "250 gone, 200 gap to 210, 120 clean, 100 gap to 110, 50 creating", noted(read(core.EntityVM, "whole", "", 0)))
	require.Equal(t, "400 gap to 410, 300 gap to 310, 220 dirty, 200 gap to 210", noted(read(core.EntityVM, "headless", "", 0)), "its beginning is missing")
	require.Equal(t, "400 gap to 410, 350 down, 300 gap to 310, 200 gap to 210, 150 up, 100 gap to 110", noted(read(core.EntityHost, "h1", "", 0)))
	require.Empty(t, read(core.EntityVM, "unknown", "", 0))
	for limit := 1; limit < 6; limit++ {
		var paged []core.StateChange
		for before := ""; ; {
			some := read(core.EntityVM, "whole", before, limit)
			paged = append(paged, some...)
			if len(some) < limit {
				break
			}
			before = some[len(some)-1].Place()
		}
		require.Equal(t, noted(read(core.EntityVM, "whole", "", 0)), noted(paged), "pages of %d", limit)
	}
	_, err := w.op.Changes(t.Context(), ann, core.StateChangeFilter{Kind: core.EntityVM, Thing: "whole"})
	requireCode(t, core.CodeForbidden, err)
	_, err = w.op.Changes(t.Context(), olga, core.StateChangeFilter{Kind: "pool", Thing: "p1"})
	requireCode(t, core.CodeInvalid, err)
}

// A request's changes are those of all its generations.
func TestChangesOfARequest(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	w.submit(t, r1, "ann")
	w.end(t, w.claim(t), core.RequestCompleted, core.OutcomeDone)
	_, err := w.store.Rerun(t.Context(), r1, 5)
	require.NoError(t, err)
	var all []core.StateChange
	for at, state := range []string{"queued", "claimed", "completed", "queued"} {
		c := core.StateChange{Kind: core.EntityRequest, Thing: core.Key(r1, 1+at/3), At: int64(at + 1), State: state, How: "enqueue"}
		all = append(all, c)
	}
	require.NoError(t, w.store.AddStateChanges(t.Context(), all))
	read := func(before string, limit int) []core.StateChange {
		t.Helper()
		all, err := w.op.RequestChanges(t.Context(), olga, r1, before, limit)
		require.NoError(t, err)
		return all
	}
	require.Equal(t, "4 queued, 3 completed, 2 claimed, 1 queued", noted(read("", 0)))
	require.Equal(t, "4 queued, 3 completed", noted(read("", 2)))
	require.Equal(t, "2 claimed, 1 queued", noted(read("3-0", 2)))
	_, err = w.op.RequestChanges(t.Context(), olga, r2, "", 0)
	requireCode(t, core.CodeNotFound, err)
	_, err = w.op.RequestChanges(t.Context(), ann, r1, "", 0)
	requireCode(t, core.CodeForbidden, err)
	_, err = w.op.RequestChanges(t.Context(), olga, "R 1", "", 0)
	requireCode(t, core.CodeInvalid, err)
}
