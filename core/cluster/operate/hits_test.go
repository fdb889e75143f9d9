package operate_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cluster/history"
	"drover/core/coretest"
	"drover/core/store/storetest"
)

// The counted part of claims that met a VM comes with what fixed numbers of warm VMs would have done.
func TestHits(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	ctx, until := t.Context(), time.Now().Add(time.Hour)
	from := until.Add(-24 * time.Hour)
	h, err := w.op.Hits(ctx, otto, "p1", from, until, false)
	require.NoError(t, err)
	require.Equal(t, "-", h.Met())
	_, err = w.op.Hits(ctx, otto, "p1", from, until, true)
	requireCode(t, core.CodeNotFound, err)
	for i := range int64(10) {
		spec := storetest.Spec(fmt.Sprint("s", i))
		spec.Pool = "p1"
		_, _, err := w.store.Create(ctx, spec)
		require.NoError(t, err)
		r := storetest.Result(spec, "1.1")
		r.Times = core.Times{Submitted: spec.Submitted + 60_000*i, Queued: 0, Claimed: 900, Started: 1000, Finished: 2000}
		var begun ulid.ULID
		require.NoError(t, begun.SetTime(uint64(r.Times.Submitted-500+1000*(i/8))))
		r.VM = strings.ToLower(begun.String())
		_, err = w.store.Record(ctx, r)
		require.NoError(t, err)
	}
	_, err = history.Counter{Store: w.store, Now: time.Now, Keep: 24 * time.Hour}.Count(ctx)
	require.NoError(t, err)
	w.pass(time.Minute) // that nothing ran is forgotten
	h, err = w.op.Hits(ctx, otto, "p1", from, until, true)
	require.NoError(t, err)
	require.Equal(t, 8, h.Warm)
	require.Equal(t, 2, h.Cold)
	require.Equal(t, 10, h.Replayed)
	require.NotNil(t, h.AsSet)
	require.Equal(t, 0, h.Fixed[0].Warm)
	require.Zero(t, h.Fixed[0].HitRate, "nothing is kept ready")
	require.Greater(t, h.Fixed[1].HitRate, 0.8, "one a minute finds the one that is kept")
	require.Greater(t, h.Fixed[1].Hours, h.Fixed[0].Hours)
	_, err = w.op.Hits(ctx, ann, "p1", from, until, true)
	requireCode(t, core.CodeForbidden, err)
	_, err = w.op.Hits(ctx, otto, "p2", from, until, false)
	requireCode(t, core.CodeNotFound, err)
}
