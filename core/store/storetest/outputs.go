package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

// wordy makes a result with outputs; equal numbers name equal files.
func wordy(spec core.Spec, token string, n int) core.Result {
	score := 3.5
	r := Result(spec, token)
	r.Stdout, r.Stderr, r.Truncated = strings.Repeat("out\x00", 5000), "err\xff", true
	r.Files = []core.File{{Path: "plot.svg", Digest: digest(n), Size: 5}}
	r.LeftOut = []core.LeftOut{{Path: "core", Why: "too large"}}
	r.Score, r.Tests = &score, []core.Test{{Name: "t", Score: 3.5, MaxScore: 1e21, Message: "<ü>"}}
	return r
}

// bare is what is left of a result at a time.
func bare(r core.Result, at int64) core.Result {
	r.Stdout, r.Stderr, r.Files, r.Expired = "", "", nil, at
	return r
}

// mustExpire expires outputs of the default pool and requires how many.
func mustExpire(t *testing.T, s school.ResultStore, limit, want int) {
	t.Helper()
	n, err := s.ExpireOutputs(t.Context(), "default", soon(), limit)
	require.NoError(t, err)
	require.Equal(t, want, n)
}

// named returns the digests that a store names.
func named(t *testing.T, s school.ResultStore) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	require.NoError(t, s.Digests(t.Context(), func(digest string) error { all[digest] = true; return nil }))
	return all
}

func outputs(t *testing.T, s school.ResultStore) {
	spec := Spec("ann")
	spec.Files = []core.File{{Path: "a", Digest: digest(9), Size: 1}}
	spec = mustCreate(t, s, spec)
	first, late := wordy(spec, "1.1", 1), wordy(spec, "2.1", 2)
	mustRecord(t, s, first, true)
	mustRecord(t, s, late, false)
	elsewhere := Spec("ann")
	elsewhere.Pool = "other"
	elsewhere = mustCreate(t, s, elsewhere)
	mustRecord(t, s, wordy(elsewhere, "1.1", 3), true)
	there := mustGet(t, s, elsewhere.ID)
	waits := mustCreate(t, s, Spec("ann"))
	mustRecord(t, s, wordy(waits, "1.1", 4), true)
	waits, err := s.Rerun(t.Context(), waits.ID, 5)
	require.NoError(t, err)

	n, err := s.ExpireOutputs(t.Context(), "default", time.Now().Add(-time.Hour), 10)
	require.NoError(t, err)
	require.Zero(t, n, "nothing is that old")
	n, err = s.ExpireOutputs(t.Context(), "nobodys", soon(), 10)
	require.NoError(t, err)
	require.Zero(t, n)
	mustExpire(t, s, 0, 0)
	before := mustGet(t, s, spec.ID)
	require.Equal(t, &first, before.Result)
	mustExpire(t, s, 10, 1)
	mustExpire(t, s, 10, 0)

	got := mustGet(t, s, spec.ID)
	require.WithinDuration(t, time.Now(), time.UnixMilli(got.Result.Expired), time.Hour)
	left := bare(first, got.Result.Expired)
	before.Result = &left
	require.Equal(t, before, got, "all else stays")
	history, err := s.Attempts(t.Context(), spec.ID)
	require.NoError(t, err)
	require.Equal(t, []core.Result{left, bare(late, got.Result.Expired)}, []core.Result{history[0].Result, history[1].Result})
	page, err := s.List(t.Context(), core.Filter{})
	require.NoError(t, err)
	require.Equal(t, got, page[len(page)-1])
	require.Equal(t, there, mustGet(t, s, elsewhere.ID), "another pool's")
	history, err = s.Attempts(t.Context(), waits.ID)
	require.NoError(t, err)
	require.Zero(t, history[0].Result.Expired, "it has not ended again")
	require.Equal(t, map[string]bool{digest(9): true, digest(3): true, digest(4): true}, named(t, s))

	mustRecord(t, s, Result(waits, "2.1"), true)
	mustExpire(t, s, 10, 1)
	require.Equal(t, map[string]bool{digest(9): true, digest(3): true}, named(t, s), "now all its generations'")
	require.Positive(t, mustGet(t, s, waits.ID).Result.Expired, "also of one that wrote nothing")
}

// outputsLater shows that what comes after outputs expired expires as well, and no
// more than that.
func outputsLater(t *testing.T, s school.ResultStore) {
	spec := mustCreate(t, s, Spec("ann"))
	mustRecord(t, s, wordy(spec, "1.1", 1), true)
	mustExpire(t, s, 10, 1)
	first := mustGet(t, s, spec.ID)
	mustRecord(t, s, wordy(spec, "1.1", 1), true) // the same call again brings nothing back
	mustExpire(t, s, 10, 0)
	require.Equal(t, first, mustGet(t, s, spec.ID))

	mustRecord(t, s, wordy(spec, "2.1", 2), false) // a zombie's
	require.True(t, named(t, s)[digest(2)])
	mustExpire(t, s, 10, 1)
	require.Equal(t, first, mustGet(t, s, spec.ID))
	require.Empty(t, named(t, s))

	again, err := s.Rerun(t.Context(), spec.ID, 5)
	require.NoError(t, err)
	mustExpire(t, s, 10, 0)
	r := wordy(again, "3.1", 3)
	mustRecord(t, s, r, true)
	require.Equal(t, &r, mustGet(t, s, spec.ID).Result, "the new one is whole")
	mustExpire(t, s, 10, 1)
	history, err := s.Attempts(t.Context(), spec.ID)
	require.NoError(t, err)
	require.Len(t, history, 3)
	require.Equal(t, first.Result, &history[0].Result)
	for _, attempt := range history {
		require.Positive(t, attempt.Result.Expired)
		require.Empty(t, attempt.Result.Stdout+attempt.Result.Stderr)
	}
	mustExpire(t, s, 10, 0)
	n, err := s.Purge(t.Context(), soon(), 10)
	require.NoError(t, err)
	require.Equal(t, 1, n, "its row goes at its own time")
}

// outputsBatches expires more than any batch, the oldest first.
func outputsBatches(t *testing.T, s school.ResultStore) {
	const n, first = 120, 105 // more than any batch
	specs := make([]core.Spec, n)
	together(t, n, func(i int) error {
		specs[i] = Spec("ann")
		_, _, err := s.Create(t.Context(), specs[i])
		if err == nil {
			_, err = s.Record(t.Context(), wordy(specs[i], "1.1", i))
		}
		return err
	})
	mustExpire(t, s, first, first)
	var expired, kept []int64
	names := named(t, s)
	for i, spec := range specs {
		row := mustGet(t, s, spec.ID)
		require.Equal(t, row.Result.Expired == 0, names[digest(i)], "%d", i)
		if row.Result.Expired > 0 {
			expired = append(expired, row.Finished)
		} else {
			kept = append(kept, row.Finished)
		}
	}
	require.Len(t, expired, first)
	for _, at := range expired {
		for _, later := range kept {
			require.LessOrEqual(t, at, later)
		}
	}
	mustExpire(t, s, n, n-first)
	require.Empty(t, named(t, s))
}

// outputsRace expires while results are recorded: none is torn, and all are expired in the end.
func outputsRace(t *testing.T, s school.ResultStore) {
	var specs [racers]core.Spec
	for i := range specs {
		specs[i] = mustCreate(t, s, Spec("ann"))
	}
	race(t, func(i int) error {
		_, err := s.Record(t.Context(), wordy(specs[i], "1.1", i))
		if err == nil {
			_, err = s.ExpireOutputs(t.Context(), "default", soon(), 5)
		}
		if err != nil {
			return err
		}
		row, err := s.Get(t.Context(), specs[i].ID)
		if whole := row.Result != nil && row.Result.Stdout != ""; err == nil && whole != (row.Result.Expired == 0) {
			return fmt.Errorf("%s is neither whole nor expired", specs[i].ID)
		}
		return err
	})
	_, err := s.ExpireOutputs(t.Context(), "default", soon(), racers)
	require.NoError(t, err)
	require.Empty(t, named(t, s))
	for _, spec := range specs {
		row := mustGet(t, s, spec.ID)
		require.Equal(t, bare(wordy(spec, "1.1", 0), row.Result.Expired), *row.Result)
		require.Positive(t, row.Result.Expired)
	}
}

// downloads shows that a task and its file stay until the download expires.
func downloads(t *testing.T, s school.ResultStore) {
	for i, d := range []*core.Download{nil, download(1, time.Now().Add(-time.Hour)), download(2, soon()), download(3, soon())} {
		id := fmt.Sprintf("t%d", i)
		mustTask(t, s, Task(id))
		end := dead(id, 1)
		end.Download = d
		mustEnd(t, s, end, true)
	}
	require.Equal(t, map[string]bool{digest(2): true, digest(3): true}, named(t, s))
	n, err := s.Purge(t.Context(), soon(), 10)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	left, err := s.ListTasks(t.Context(), core.TaskFilter{})
	require.NoError(t, err)
	require.Equal(t, []string{"t3", "t2"}, taskIDs(left))
	require.Equal(t, digest(2), mustGetTask(t, s, "t2").Download.Digest)

	_, err = s.RetryTask(t.Context(), "t3", 5)
	require.NoError(t, err)
	require.Equal(t, map[string]bool{digest(2): true}, named(t, s), "a retry makes it anew")
}
