package classes_test

import (
	"testing"
	"time"

	"drover/core"
	"drover/core/cluster/history"
	"drover/core/store/storetest"

	"github.com/stretchr/testify/require"
)

// A class's statistics are about the tests of its own submissions, and begin with it.
func TestStatsOfAClass(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	counter := history.Counter{Store: w.store, Now: time.Now, Keep: time.Hour * 24 * 30}
	for _, assignment := range []string{"cs101/hw1", "cs101/hw1", "cs101/hw2", "cs202/hw1"} {
		spec := storetest.Spec("ann")
		spec.Assignment = assignment
		_, _, err := w.store.Create(ctx, spec)
		require.NoError(t, err)
		_, err = w.store.Record(ctx, storetest.Result(spec, "1.1"))
		require.NoError(t, err)
	}
	_, err := counter.Count(ctx)
	require.NoError(t, err)
	until := time.Now().Add(time.Hour)
	w.pass(until.UnixMilli() - start)
	from := until.Add(-24 * time.Hour)

	s, err := w.reg.Stats(ctx, w.as("tina"), "cs101", history.ByAssignment, from, until)
	require.NoError(t, err)
	require.Equal(t, 3, s.Total.Total)
	require.Len(t, s.Rows, 2)
	require.Equal(t, "hw1", s.Rows[0].Value)
	series, err := w.reg.StatsSeries(ctx, w.as("tess"), "cs101", from, until)
	require.NoError(t, err)
	require.Len(t, series.Ended, 1)
	require.Equal(t, 3, series.Ended[0].Total)
	s, err = w.reg.Stats(ctx, w.as("theo"), "cs202", "", from, until)
	require.NoError(t, err)
	require.Equal(t, 1, s.Total.Total)

	_, err = w.reg.Stats(ctx, w.as("tess"), "cs101", "submitter", from, until)
	require.Equal(t, core.CodeInvalid, core.CodeOf(err))

	// A class that has the name anew does not show what was before it.
	c, err := w.store.GetClass(ctx, "cs101")
	require.NoError(t, err)
	c.Created = until.UnixMilli() - 1
	_, err = w.store.PutClass(ctx, c)
	require.NoError(t, err)
	s, err = w.reg.Stats(ctx, w.as("tess"), "cs101", "", from, until)
	require.NoError(t, err)
	require.Zero(t, s.Total.Total)
	_, err = w.reg.Stats(ctx, w.as("tess"), "cs101", "", from, until.Add(-time.Minute))
	require.Equal(t, core.CodeInvalid, core.CodeOf(err))
	require.ErrorContains(t, err, "was created at")
}
