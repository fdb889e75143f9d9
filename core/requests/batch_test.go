package requests_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"drover/core"
	"drover/core/requests"
	"drover/core/requests/intake"

	"github.com/stretchr/testify/require"
)

// jobs is a batch of so many jobs that differ in their environment.
func jobs(n int) requests.BatchDraft {
	d := requests.BatchDraft{Pool: pool, Job: requests.Job{Command: []string{"true"}}}
	for i := range n {
		d.Jobs = append(d.Jobs, requests.Job{Env: []string{fmt.Sprintf("JOB=%d", i)}})
	}
	return d
}

func (w *fixture) batch(who string, d requests.BatchDraft) requests.BatchView {
	w.t.Helper()
	v, created, err := w.service.SubmitBatch(w.t.Context(), as(who), d)
	require.NoError(w.t, err)
	require.True(w.t, created)
	return v
}

func brought(all ...requests.JobUpload) iter.Seq2[requests.JobUpload, error] {
	return func(yield func(requests.JobUpload, error) bool) {
		for _, u := range all {
			if !yield(u, nil) {
				return
			}
		}
	}
}

func (w *fixture) job(batch string, job int) core.Row {
	w.t.Helper()
	id, err := intake.JobID(batch, job)
	require.NoError(w.t, err)
	row, err := w.store.Get(w.t.Context(), id)
	require.NoError(w.t, err)
	return row
}

func (w *fixture) content(f *core.File) string {
	w.t.Helper()
	require.NotNil(w.t, f)
	r, err := w.service.Blobs.Open(w.t.Context(), f.Digest)
	require.NoError(w.t, err)
	defer func() { require.NoError(w.t, r.Close()) }()
	raw, err := io.ReadAll(r)
	require.NoError(w.t, err)
	return string(raw)
}

// Each job has what all have, and its own.
func TestBatchMergesItsJobs(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	d := requests.BatchDraft{
		Pool: pool, Assignment: "cs101/hw1",
		Job: requests.Job{
			Command: []string{"true"}, Env: []string{"A=1", "B=2"}, Stdin: "all", Collect: []string{"out"}, Priority: core.PriorityLow,
			Limits: core.Limits{Timeout: 2 * time.Second, Memory: 32 << 20},
		},
		Jobs: []requests.Job{{}, {
			Command: []string{"false"}, Env: []string{"B=3"}, Stdin: "own", Collect: []string{"log"}, Priority: core.PriorityNormal,
			Limits: core.Limits{Timeout: time.Second},
		}},
		Files: brought(requests.JobUpload{Upload: file("a", "common"), Job: requests.AllJobs}, requests.JobUpload{Upload: file("b", "one"), Job: 1}),
	}
	v := w.batch("rosa", d)
	require.Equal(t, []any{"rosa", requests.BatchQueued, 2, map[core.RequestState]int{"queued": 2}}, []any{v.Submitter, v.State, v.Jobs, v.Counts})
	one, two := w.job(v.ID, 0).Spec, w.job(v.ID, 1).Spec
	require.Equal(t, []any{[]string{"true"}, []string{"A=1", "B=2"}, []string{"out"}, core.PriorityLow, 2 * time.Second, int64(32 << 20), "cs101/hw1", v.ID},
		[]any{one.Command, one.Env, one.Collect, one.Priority, one.Limits.Timeout, one.Limits.Memory, one.Assignment, one.Batch})
	require.Equal(t, []any{[]string{"false"}, []string{"A=1", "B=3"}, []string{"log"}, core.PriorityNormal, time.Second, int64(32 << 20)},
		[]any{two.Command, two.Env, two.Collect, two.Priority, two.Limits.Timeout, two.Limits.Memory})
	require.Equal(t, []string{"all", "own"}, []string{w.content(one.Stdin), w.content(two.Stdin)})
	require.Equal(t, []int{1, 2}, []int{len(one.Files), len(two.Files)})
	require.Equal(t, []string{"common", "one"}, []string{w.content(&two.Files[0]), w.content(&two.Files[1])})
}

func TestBatchOfAType(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.setType(core.JobType{Command: []string{"make"}, Limits: core.Limits{Timeout: 5 * time.Second}})
	d := requests.BatchDraft{Type: "compile", Jobs: []requests.Job{{}, {Limits: core.Limits{Timeout: time.Second}}}, Idempotency: "k"}
	v := w.batch("rosa", d)
	require.Equal(t, []any{"compile", 5 * time.Second}, []any{w.job(v.ID, 0).Spec.Type, w.job(v.ID, 0).Spec.Limits.Timeout})
	require.Equal(t, time.Second, w.job(v.ID, 1).Spec.Limits.Timeout)
	bad := requests.BatchDraft{Type: "compile", Jobs: []requests.Job{{}, {Limits: core.Limits{Timeout: 6 * time.Second}, Command: []string{"rm"}, Env: []string{"="}}}}
	_, _, err := w.service.SubmitBatch(t.Context(), as("rosa"), bad)
	requireFields(t, err, "jobs[1].command", "jobs[1].limits.timeout_ns", "jobs[1].env")
	require.NoError(t, w.service.DeleteJobType(t.Context(), as("olga"), "compile"))
	again, created, err := w.service.SubmitBatch(t.Context(), as("rosa"), d)
	require.NoError(t, err, "it was accepted")
	require.False(t, created)
	require.Equal(t, v.ID, again.ID)
	d.Idempotency = ""
	_, _, err = w.service.SubmitBatch(t.Context(), as("rosa"), d)
	requireCode(t, core.CodeNotFound, err)
}

// requireFields requires the faults of an input by their fields.
func requireFields(t *testing.T, err error, fields ...string) {
	t.Helper()
	requireCode(t, core.CodeInvalid, err)
	var faults core.Faults
	require.ErrorAs(t, err, &faults)
	var got []string
	for _, f := range faults {
		got = append(got, f.Field)
	}
	require.Equal(t, fields, got)
}

func TestBatchRefuses(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	try := func(who string, change func(d *requests.BatchDraft)) error {
		d := jobs(3)
		change(&d)
		_, _, err := w.service.SubmitBatch(t.Context(), as(who), d)
		return err
	}
	read := false
	files := func(yield func(requests.JobUpload, error) bool) {
		read = true
		yield(requests.JobUpload{}, errors.New("broken"))
	}
	requireFields(t, try("rosa", func(d *requests.BatchDraft) {
		d.Pool, d.Jobs[1].Collect, d.Files = "gone", []string{"/"}, files
	}), "pool", "jobs[1].collect")
	require.False(t, read, "no file is read in vain")
	requireFields(t, try("rosa", func(d *requests.BatchDraft) {
		d.Files = brought(requests.JobUpload{Upload: file("a", ""), Job: requests.AllJobs}, requests.JobUpload{Upload: file("a", ""), Job: 2})
	}), "jobs[2].files")
	requireCode(t, core.CodeInvalid, try("rosa", func(d *requests.BatchDraft) { d.Files = files }))
	requireCode(t, core.CodeInvalid, try("rosa", func(d *requests.BatchDraft) { d.Files = brought(requests.JobUpload{Upload: file("a", ""), Job: 3}) }))
	requireCode(t, core.CodeInvalid, try("rosa", func(d *requests.BatchDraft) { d.Jobs = nil }))
	requireCode(t, core.CodeLimit, try("rosa", func(d *requests.BatchDraft) { d.Jobs = make([]requests.Job, core.MaxBatchJobs+1) }))
	requireCode(t, core.CodeForbidden, try("rosa", func(d *requests.BatchDraft) { d.Jobs[2].Priority = core.PriorityHigh }))
	requireCode(t, core.CodeForbidden, try("rosa", func(d *requests.BatchDraft) { d.Submitter = "ann" }))
	requireCode(t, core.CodeForbidden, try("rosa", func(d *requests.BatchDraft) { d.Notify = []string{"hook"} }))
	requireCode(t, core.CodeForbidden, try("ann", func(*requests.BatchDraft) {}))
	w.pool(func(p *core.Pool) { p.MaxWaiting = 2 })
	requireCode(t, core.CodeFull, try("rosa", func(*requests.BatchDraft) {}))
	page, err := w.service.List(t.Context(), as("root"), requests.Filter{})
	require.NoError(t, err)
	require.Empty(t, page.Items, "all or nothing")
}

func TestBatchKeyIsOfItsContent(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	d := jobs(2)
	d.Idempotency = "k"
	with := func(text string) requests.BatchDraft {
		d.Files = brought(requests.JobUpload{Upload: file("a", text), Job: requests.AllJobs})
		return d
	}
	v := w.batch("rosa", with("one"))
	again, created, err := w.service.SubmitBatch(t.Context(), as("rosa"), with("one"))
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, v, again)
	_, _, err = w.service.SubmitBatch(t.Context(), as("rosa"), with("two"))
	requireCode(t, core.CodeConflict, err)
	d.Jobs[1].Env = nil
	_, _, err = w.service.SubmitBatch(t.Context(), as("rosa"), with("one"))
	requireCode(t, core.CodeConflict, err)
	other := w.batch("olga", with("one"))
	require.NotEqual(t, v.ID, other.ID, "another's key")
}

// A batch runs if any of its requests does, else waits if any does, else has completed.
func TestStateOfABatch(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	v := w.batch("rosa", jobs(3))
	state := func(want requests.BatchStatus, counts map[core.RequestState]int) {
		t.Helper()
		got, err := w.service.ViewBatch(t.Context(), as("rosa"), v.ID)
		require.NoError(t, err)
		require.Equal(t, want, got.State)
		require.Equal(t, counts, got.Counts)
		page, err := w.service.ListBatches(t.Context(), as("rosa"), core.BatchFilter{})
		require.NoError(t, err)
		require.Equal(t, want, page.Items[0].State)
	}
	type counts = map[core.RequestState]int
	state(requests.BatchQueued, counts{"queued": 3})
	first := w.claim()
	state(requests.BatchRunning, counts{"claimed": 1, "queued": 2})
	w.end(first, func(r *core.Result) { r.Stdout = strings.Repeat("x", 20<<10) })
	state(requests.BatchQueued, counts{"completed": 1, "queued": 2})
	w.end(w.claim(), func(r *core.Result) { r.State = core.RequestFailed })

	results, err := w.service.BatchResults(t.Context(), as("rosa"), v.ID, 0, 2)
	require.NoError(t, err)
	require.Len(t, results.Items, 2)
	require.Equal(t, 2, results.Next)
	require.Equal(t, []any{0, core.RequestCompleted, 16 << 10, true, ""}, []any{
		results.Items[0].Job, results.Items[0].State, len(results.Items[0].Stdout), results.Items[0].Truncated, results.Items[0].Host,
	})
	require.Equal(t, core.RequestFailed, results.Items[1].State)
	results, err = w.service.BatchResults(t.Context(), as("rosa"), v.ID, results.Next, 2)
	require.NoError(t, err)
	require.Equal(t, []any{1, 0, 2, core.RequestQueued}, []any{len(results.Items), results.Next, results.Items[0].Job, results.Items[0].State})

	_, _, err = w.service.RerunBatch(t.Context(), as("rosa"), v.ID, "")
	requireCode(t, core.CodeConflict, err)
	got, err := w.service.CancelBatch(t.Context(), as("rosa"), v.ID)
	require.NoError(t, err)
	require.Equal(t, []any{requests.BatchCompleted, "rosa"}, []any{got.State, got.Cancelled})
	state(requests.BatchCompleted, counts{"completed": 1, "failed": 1, "cancelled": 1})
	requireCode(t, core.CodeInvalid, done(w.service.BatchResults(t.Context(), as("rosa"), v.ID, -1, 2)))
	requireCode(t, core.CodeInvalid, done(w.service.BatchResults(t.Context(), as("rosa"), v.ID, 0, 101)))
}

func TestRerunOfABatch(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	v := w.batch("rosa", jobs(2))
	w.end(w.claim())
	w.end(w.claim())
	requireCode(t, core.CodeEnded, done(w.service.CancelBatch(t.Context(), as("rosa"), v.ID)))
	next, created, err := w.service.RerunBatch(t.Context(), as("olga"), v.ID, "k")
	require.NoError(t, err)
	require.True(t, created)
	require.Equal(t, []any{v.ID, "rosa", 2, requests.BatchQueued}, []any{next.Of, next.Submitter, next.Jobs, next.State})
	for i := range 2 {
		was, is := w.job(v.ID, i).Spec, w.job(next.ID, i).Spec
		was.ID, was.Batch, was.Submitted = is.ID, is.Batch, is.Submitted
		require.Equal(t, was, is)
	}
	again, created, err := w.service.RerunBatch(t.Context(), as("olga"), v.ID, "k")
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, next, again)
	_, _, err = w.service.RerunBatch(t.Context(), as("olga"), next.ID, "k")
	requireCode(t, core.CodeConflict, err)
	entries, err := w.store.ListAuditEntries(t.Context(), core.AuditFilter{})
	require.NoError(t, err)
	require.Equal(t, "runs again batch "+v.ID+" of rosa", entries[0].Text)

	w.end(w.claim())
	w.end(w.claim())
	_, err = w.store.Purge(t.Context(), time.Now().Add(time.Hour), 1)
	require.NoError(t, err)
	got, err := w.service.ViewBatch(t.Context(), as("rosa"), v.ID)
	require.NoError(t, err)
	require.Equal(t, 1, got.Deleted)
	_, _, err = w.service.RerunBatch(t.Context(), as("rosa"), v.ID, "")
	require.ErrorContains(t, err, "were deleted")
}

func TestRequestsOfABatch(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	_, _, err := w.service.Submit(t.Context(), as("rosa"), requests.Draft{Pool: pool, Command: []string{"true"}})
	require.NoError(t, err)
	w.batch("rosa", jobs(2))
	v := w.batch("rosa", jobs(3))
	w.batch("rosa", jobs(2))
	list := func(f requests.Filter) (ids []string, next string) {
		t.Helper()
		f.Batch = v.ID
		page, err := w.service.List(t.Context(), as("rosa"), f)
		require.NoError(t, err)
		for _, one := range page.Items {
			ids = append(ids, one.ID)
		}
		return ids, page.Next
	}
	all := []string{w.job(v.ID, 2).Spec.ID, w.job(v.ID, 1).Spec.ID, w.job(v.ID, 0).Spec.ID}
	got, next := list(requests.Filter{})
	require.Equal(t, all, got)
	require.Empty(t, next)
	got, next = list(requests.Filter{Limit: 2})
	require.Equal(t, all[:2], got)
	got, next = list(requests.Filter{Limit: 2, Before: next})
	require.Equal(t, all[2:], got)
	require.Empty(t, next)
	got, _ = list(requests.Filter{Before: "zzz"})
	require.Equal(t, all, got)
	got, _ = list(requests.Filter{States: []core.RequestState{core.RequestCompleted}})
	require.Empty(t, got)
	requireCode(t, core.CodeNotFound, done(w.service.List(t.Context(), as("rosa"), requests.Filter{Batch: "none"})))
	other := w.batch("olga", jobs(1))
	requireCode(t, core.CodeNotFound, done(w.service.List(t.Context(), as("rosa"), requests.Filter{Batch: other.ID})))
}

// Who listens for a batch is woken by its requests, and by no others.
func TestNewsOfABatch(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	one, two := w.batch("rosa", jobs(1)), w.batch("rosa", jobs(1))
	watch := &requests.Watch{Feed: w.cluster.Store, Last: w.cluster.Store.LastEvents}
	first, second := watch.Listen(one.ID), watch.Listen(two.ID)
	t.Cleanup(first.Close)
	t.Cleanup(second.Close)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- watch.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-done)
	})
	<-first.News() // all are woken at the beginning
	<-second.News()
	w.end(w.claim())
	<-first.News()
	require.Empty(t, second.News())
	w.claim()
	<-second.News()
}

func TestListOfBatches(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	one, two := w.batch("rosa", jobs(1)), w.batch("olga", jobs(1))
	list := func(who string, f core.BatchFilter) (ids []string, next string) {
		t.Helper()
		page, err := w.service.ListBatches(t.Context(), as(who), f)
		require.NoError(t, err)
		for _, v := range page.Items {
			ids = append(ids, v.ID)
		}
		return ids, page.Next
	}
	all, _ := list("olga", core.BatchFilter{})
	require.ElementsMatch(t, []string{one.ID, two.ID}, all)
	mine, _ := list("rosa", core.BatchFilter{})
	require.Equal(t, []string{one.ID}, mine)
	first, next := list("olga", core.BatchFilter{Limit: 1})
	second, last := list("olga", core.BatchFilter{Limit: 1, Before: next})
	require.Equal(t, all, append(first, second...))
	require.Empty(t, last)
	requireCode(t, core.CodeForbidden, done(w.service.ListBatches(t.Context(), as("rosa"), core.BatchFilter{Submitter: "olga"})))
	requireCode(t, core.CodeInvalid, done(w.service.ListBatches(t.Context(), as("olga"), core.BatchFilter{Limit: 1000})))
}

// looking counts looks for requests in Redis.
type looking struct {
	requests.Queue
	n atomic.Int64
}

func (q *looking) Locate(ctx context.Context, key string) (core.Place, error) {
	q.n.Add(1)
	return q.Queue.Locate(ctx, key)
}

// A page of batches looks for as many requests as one of requests, however many a batch has: then it ends early.
func TestListOfBatchesIsBounded(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var made []string
	for range 5 {
		made = append([]string{w.batch("rosa", jobs(400)).ID}, made...)
	}
	q := &looking{Queue: w.service.Queue}
	w.service.Queue = q
	var all []string
	for f, more := (core.BatchFilter{}), true; more; more = f.Before != "" {
		q.n.Store(0)
		page, err := w.service.ListBatches(t.Context(), as("rosa"), f)
		require.NoError(t, err)
		require.LessOrEqual(t, q.n.Load(), int64(1200))
		for _, v := range page.Items {
			require.Equal(t, requests.BatchQueued, v.State)
			all = append(all, v.ID)
		}
		f.Before = page.Next
	}
	require.Equal(t, made, all)
}

// What all jobs have is not copied for each of them before it is known that the batch is not too large.
//
//nolint:paralleltest // it measures what the process allocates
func TestBatchOfTooMuchForEach(t *testing.T) {
	w := newFixture(t)
	for name, all := range map[string]requests.Job{
		"env":   {Env: slices.Repeat([]string{"A=1"}, 100_000)},
		"input": {Input: []byte(`{"a":"` + strings.Repeat("x", 1<<20) + `"}`)},
	} {
		d := requests.BatchDraft{Pool: pool, Job: all, Jobs: make([]requests.Job, 1000)}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := w.service.SubmitBatch(t.Context(), as("rosa"), d)
		runtime.ReadMemStats(&after)
		require.Equal(t, core.CodeLimit, core.CodeOf(err), "%s: %.80v", name, err)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(10*core.MaxBatchBytes), name)
	}
}

// counting counts what is stored.
type counting struct {
	core.Blobs
	puts int
}

func (c *counting) Put(ctx context.Context, r io.Reader, limit int64) (string, int64, error) {
	c.puts++
	return c.Blobs.Put(ctx, r, limit)
}

// The standard input of all jobs is stored once.
func TestBatchStoresOneInputForAll(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	c := &counting{Blobs: w.service.Blobs}
	w.service.Blobs = c
	d := jobs(20)
	d.Stdin, d.Jobs[3].Stdin = "all", "own"
	v := w.batch("rosa", d)
	require.Equal(t, "all", w.content(w.job(v.ID, 19).Spec.Stdin))
	require.Equal(t, "own", w.content(w.job(v.ID, 3).Spec.Stdin))
	require.Equal(t, 2, c.puts)
}
