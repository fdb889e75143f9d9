package history_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"drover/core"
	"drover/core/cluster/history"
	"drover/core/service/clock"
	"drover/core/store/sqlite"
	"drover/core/store/storetest"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"
)

// books is a store, and a Counter of it, with a clock that the test sets.
type books struct {
	*sqlite.Store
	hands *clock.Manual
	count history.Counter
}

func newBooks(t *testing.T) *books {
	t.Helper()
	b := &books{hands: clock.NewManual(time.Date(2026, 3, 4, 12, 1, 0, 0, time.UTC))}
	s, err := sqlite.Open(t.Context(), t.TempDir()+"/drover.db", sqlite.Options{Clock: b.hands})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	b.Store = s
	b.count = history.Counter{Store: s, Now: b.hands.Now, Keep: 30 * 24 * time.Hour, Cluster: history.Cluster{
		Hosts: func(context.Context) ([]core.HostInfo, error) {
			return []core.HostInfo{{State: core.HostUp, VMs: map[string]int{"clean": 2}}}, nil
		},
		Waiting: func(context.Context) ([]core.QueueInfo, error) {
			return []core.QueueInfo{{Pool: "p", Waiting: 3}, {Pool: "p", Waiting: 4}}, nil
		},
	}}
	return b
}

// end records the end of a request that waited and ran so long.
func (b *books) end(t *testing.T, submitter, assignment string, wait, run int64) core.Spec {
	t.Helper()
	spec := storetest.Spec(submitter)
	spec.Assignment = assignment
	_, _, err := b.Create(t.Context(), spec)
	require.NoError(t, err)
	b.record(t, spec, wait, run)
	return spec
}

func (b *books) record(t *testing.T, spec core.Spec, wait, run int64) {
	t.Helper()
	r := storetest.Result(spec, fmt.Sprintf("%d.1", spec.Generation))
	r.Times.Queued, r.Times.Claimed, r.Times.Started, r.Times.Finished = 0, wait, wait, wait+run
	r.Usage.CPUMs, r.Receipt = 4*run, &core.Receipt{AgainMs: run}
	is, err := b.Record(t.Context(), r)
	require.NoError(t, err)
	require.True(t, is)
}

// is requires what is counted of the last two days, by value.
func (b *books) is(t *testing.T, by string, want map[string]int) history.Stats {
	t.Helper()
	now := b.hands.Now()
	s, err := history.Read(t.Context(), b.Store, by, now.AddDate(0, 0, -2), now.Add(time.Second), now)
	require.NoError(t, err)
	got := map[string]int{}
	for _, r := range s.Rows {
		got[r.Value] = r.Total
	}
	require.Equal(t, want, got)
	return s
}

func (b *books) run(t *testing.T) {
	t.Helper()
	_, err := b.count.Count(t.Context())
	require.NoError(t, err)
}

// However often it is counted, and whatever the clock does, each end counts once.
func TestEachEndCountsOnce(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	spec := b.end(t, "ann", "cs101/hw1", 1000, 50)
	b.end(t, "ann", "", 3000, 70)
	b.run(t)
	b.run(t)
	b.is(t, "submitter", map[string]int{"ann": 2})
	b.is(t, "class", map[string]int{"cs101": 1})
	again, err := b.Rerun(t.Context(), spec.ID, 5)
	require.NoError(t, err)
	b.run(t)
	b.is(t, "submitter", map[string]int{"ann": 2})
	b.hands.Advance(20 * time.Minute)
	b.record(t, again, 9000, 10)
	b.end(t, "bob", "cs102/hw1", 2000, 10)
	b.run(t)
	b.is(t, "submitter", map[string]int{"ann": 3, "bob": 1})
	b.is(t, "day", map[string]int{"2026-03-04": 4})
	b.hands.Advance(-15 * time.Minute)
	b.end(t, "zoe", "", 1, 1)
	b.run(t)
	b.hands.Advance(time.Hour)
	b.run(t)
	s := b.is(t, "submitter", map[string]int{"ann": 3, "bob": 1, "zoe": 1})
	require.Equal(t, "ann", s.Rows[0].Value)
	require.Equal(t, 5, s.Total.Total)
	require.EqualValues(t, 50+70+10+10+1, s.Total.AgainMs)
	require.Equal(t, "25 %", s.Total.Again())
	require.Equal(t, "-", history.Row{CPUMs: 5}.Again())
	require.Equal(t, "1 %", history.Row{CPUMs: 5000, AgainMs: 1}.Again())
	require.EqualValues(t, 9000, s.Total.Wait.Max)
	require.InDelta(t, 2000, s.Total.Wait.P50, 400)
	require.InDelta(t, 9000, s.Total.Wait.P95, 1800)
	b.hands.Advance(25 * time.Hour)
	b.end(t, "bob", "", 1, 1)
	b.run(t)
	b.is(t, "day", map[string]int{"2026-03-04": 5, "2026-03-05": 1})
}

// A store that had results before there were statistics has them counted.
func TestOldResultsAreCounted(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.end(t, "ann", "", 1, 1)
	b.hands.Advance(20 * 24 * time.Hour)
	b.run(t)
	now := b.hands.Now()
	s, err := history.Read(t.Context(), b.Store, "", now.AddDate(0, 0, -30), now, now)
	require.NoError(t, err)
	require.Equal(t, 1, s.Total.Total)
	s, err = history.Read(t.Context(), b.Store, "day", now.AddDate(-1, 0, 0), now, now)
	require.NoError(t, err)
	require.Equal(t, "2026-03-04", s.Rows[0].Value)
}

// A bucket stays small however many submitters there are.
func TestManyValuesAreBounded(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.end(t, "busy", "", 1, 1)
	b.end(t, "busy", "", 1, 1)
	for i := range 250 {
		b.end(t, fmt.Sprintf("u%d", i), "", 1, 1)
	}
	b.run(t)
	now := b.hands.Now()
	s, err := history.Read(t.Context(), b.Store, "submitter", now.Add(-time.Hour), now.Add(time.Second), now)
	require.NoError(t, err)
	require.Len(t, s.Rows, 200)
	require.Equal(t, history.Others, s.Rows[0].Value)
	require.Equal(t, 52, s.Rows[0].Total)
	require.Equal(t, "busy", s.Rows[1].Value)
	require.Equal(t, 252, s.Total.Total)
}

func TestSamplesOfLongerStepsAreTheGreatest(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	require.NoError(t, b.count.Sample(t.Context()))
	b.count.Cluster.Waiting = func(context.Context) ([]core.QueueInfo, error) { return []core.QueueInfo{{Pool: "p", Waiting: 1}}, nil }
	b.hands.Advance(2 * time.Minute)
	require.NoError(t, b.count.Sample(t.Context()))
	now := b.hands.Now()
	for span, want := range map[time.Duration][]int{time.Hour: {7, 1}, 24 * time.Hour: {7}, 6 * 24 * time.Hour: {7}} {
		s, err := history.ReadSeries(t.Context(), b.Store, now.Add(-span), now.Add(time.Second), now)
		require.NoError(t, err)
		var got []int
		for _, p := range s.Samples {
			got = append(got, p.Values["waiting/p"])
			require.Equal(t, 2, p.Values["vms/clean"])
			require.Equal(t, 1, p.Values["hosts/up"])
		}
		require.Equal(t, want, got, "%s", span)
	}
	n, err := b.count.Trim(t.Context())
	require.NoError(t, err)
	require.Zero(t, n)
	b.hands.Advance(40 * 24 * time.Hour)
	n, err = b.count.Trim(t.Context())
	require.NoError(t, err)
	require.Equal(t, 4, n)
}

func TestOddQuestionsAreRefused(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	now := b.hands.Now()
	for _, c := range []struct {
		by          string
		from, until time.Time
	}{{"love", now.Add(-1), now}, {"", now, now}, {"", now, now.Add(-1)}, {"", now.AddDate(-3, 0, 0), now}} {
		_, err := history.Read(t.Context(), b.Store, c.by, c.from, c.until, now)
		require.Equal(t, core.CodeInvalid, core.CodeOf(err))
	}
}

// A claim met a VM if this was begun before the request came; VMs tell when by their names.
func TestClaimsThatMetAVM(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	for begun, kind := range map[int64]string{-5000: "tests", 0: "tests", 1: "tests", 700: ""} {
		spec := storetest.Spec("ann")
		spec.Type = kind
		_, _, err := b.Create(t.Context(), spec)
		require.NoError(t, err)
		r := storetest.Result(spec, "1.1")
		r.Times.Queued, r.Times.Claimed = 0, 900
		var id ulid.ULID
		require.NoError(t, id.SetTime(uint64(spec.Submitted+begun)))
		r.VM = strings.ToLower(id.String())
		_, err = b.Record(t.Context(), r)
		require.NoError(t, err)
	}
	b.end(t, "ann", "", 1, 1) // of a VM with another name it is not known
	b.run(t)
	s := b.is(t, "type", map[string]int{"tests": 3})
	require.Equal(t, "66 %", s.Rows[0].Met())
	require.Equal(t, 2, s.Total.Warm)
	require.Equal(t, 1, s.Total.Cold)
	require.Equal(t, "-", history.Row{}.Met())
}
