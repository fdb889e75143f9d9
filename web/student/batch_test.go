package student_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest/tier"
	"drover/core/requests"
	"drover/web/browsertest"
)

// batch submits so many jobs and returns the batch's page.
func (w *fixture) batch(who string, jobs int) string {
	w.t.Helper()
	a, err := w.reg.Actor(w.t.Context(), who)
	require.NoError(w.t, err)
	d := requests.BatchDraft{Pool: pool, Job: requests.Job{Command: []string{"true"}}, Jobs: make([]requests.Job, jobs)}
	for i := range d.Jobs {
		d.Jobs[i].Env = []string{fmt.Sprintf("JOB=%d", i)}
	}
	v, _, err := w.service.SubmitBatch(w.t.Context(), a, d)
	require.NoError(w.t, err)
	return "/batches/" + v.ID
}

// ends ends what waits next in a state.
func (w *fixture) ends(state core.RequestState, printed string) {
	w.t.Helper()
	w.grade(func(r *core.Result) {
		r.Score, r.MaxScore, r.Stdout, r.State = nil, nil, printed, state
		r.Times = core.Times{Submitted: start, Started: 10, Finished: 20}
	})
}

// A batch is watched, stopped, run again, and its results are taken along.
func TestTheWayOfABatch(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	at := w.batch("rosa", 4)
	require.Contains(t, w.get("rosa", "/batches"), `href="`+at+`"`)
	page := w.get("rosa", at)
	for _, has := range []string{">waiting</span>", "0 of 4 have ended.", "4 waiting</a>", "Stop all", `data-events="/events` + at + `"`, ">Job 3</a>", `class="rest"`} {
		require.Contains(t, page, has)
	}
	require.NotContains(t, page, "Run all again")
	w.ends(core.RequestCompleted, "=1 <b>\nmore")
	w.ends(core.RequestFailed, "")
	w.run(w.claim())
	page = w.get("rosa", at)
	for _, has := range []string{">running</span>", "2 of 4 have ended.", "1 completed</a>", "1 failed</a>", "1 running</a>", "1 waiting</a>", `<rect class="bad" x="25.00" y="0" width="25.00"`, "=1 &lt;b&gt;</code>"} {
		require.Contains(t, page, has)
	}
	id := strings.TrimPrefix(at, "/batches/")
	failed := w.get("rosa", "/requests?batch="+id+"&state=failed")
	require.Equal(t, 1, strings.Count(failed, `<th scope="row">`))
	require.Contains(t, failed, `name="batch" value="`+id+`"`)
	one := between(t, failed, `<th scope="row"><a href="`, `"`)
	require.Contains(t, w.get("rosa", one), `href="`+at+`"`, "a request names its batch")
	require.Equal(t, http.StatusConflict, w.post("rosa", at+"/rerun", nil).Code, "it has not ended")
	require.Equal(t, http.StatusSeeOther, w.post("rosa", at+"/cancel", nil).Code)
	page = w.get("rosa", at)
	require.Contains(t, page, "rosa cancelled it.")
	require.Contains(t, page, "1 is being stopped</a>")
}

func TestABatchIsRunAgain(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	at := w.batch("rosa", 2)
	w.ends(core.RequestCompleted, "")
	w.ends(core.RequestCompleted, "")
	page := w.get("rosa", at)
	require.Contains(t, page, `<span class="badge good">completed</span>`)
	require.NotContains(t, page, "data-events")
	require.Equal(t, http.StatusConflict, w.post("rosa", at+"/cancel", nil).Code, "it has ended")
	key := url.Values{"key": {between(t, page, `name="key" value="`, `"`)}}
	next := w.post("rosa", at+"/rerun", key).Header().Get("Location")
	require.Equal(t, next, w.post("rosa", at+"/rerun", key).Header().Get("Location"), "sent twice")
	require.NotEqual(t, at, next)
	require.Contains(t, w.get("rosa", next), `href="`+at+`"`)
	require.Equal(t, http.StatusSeeOther, w.post("rosa", next+"/cancel", nil).Code)
	require.Contains(t, w.get("rosa", next), `<span class="badge ">completed</span>`, "it has ended, and nothing is good")
	_, err := w.store.Purge(t.Context(), w.clock().AddDate(1, 0, 0), 1)
	require.NoError(t, err)
	page = w.get("rosa", at)
	require.Contains(t, page, "1 deleted since")
	require.Contains(t, page, "cannot be run again")
	w.language = "de"
	for _, page := range []string{"/batches", at} {
		require.Contains(t, w.get("rosa", page), `<html lang="de">`)
	}
}

// The results are those of the API, and a table that is safe in a spreadsheet.
func TestResultsOfABatch(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	const jobs = 120 // more than are read at a time
	at := w.batch("rosa", jobs)
	w.ends(core.RequestCompleted, "=1+1\nmore")
	get := func(path string) string {
		rec := w.ask("rosa", newGet(t, at+path))
		require.Equal(t, http.StatusOK, rec.Code)
		require.Contains(t, rec.Header().Get("Content-Disposition"), "attachment")
		return rec.Body.String()
	}
	var all []requests.JobResult
	require.NoError(t, json.Unmarshal([]byte(get("/results.json")), &all))
	require.Len(t, all, jobs)
	require.Equal(t, []any{0, core.RequestCompleted, "=1+1\nmore"}, []any{all[0].Job, all[0].State, all[0].Stdout})
	require.Equal(t, []any{jobs - 1, core.RequestQueued}, []any{all[jobs-1].Job, all[jobs-1].State})
	rows, err := csv.NewReader(strings.NewReader(get("/results.csv"))).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, jobs+1)
	cell := func(row int, column string) string {
		for i, name := range rows[0] {
			if name == column {
				return rows[row][i]
			}
		}
		require.Fail(t, column)
		return ""
	}
	require.Equal(t, []string{"0", "completed", "0", "'=1+1 more", "10"}, []string{cell(1, "job"), cell(1, "state"), cell(1, "exit_code"), cell(1, "stdout"), cell(1, "run_ms")})
	require.Equal(t, []string{"119", "queued", "", ""}, []string{cell(jobs, "job"), cell(jobs, "state"), cell(jobs, "exit_code"), cell(jobs, "run_ms")})

	next := between(t, w.get("rosa", at), `rel="next" href="`, `"`)
	require.Contains(t, w.get("rosa", next), ">Job 50</a>")
	for _, odd := range []string{"-1", "x", "99999999999999999999"} {
		require.Contains(t, w.get("rosa", at+"?from="+odd), "Jobs", odd)
	}
}

// Batches are seen by those who may see their requests.
func TestBatchesAreTheirSubmitters(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	at := w.batch("rosa", 1)
	id := strings.TrimPrefix(at, "/batches/")
	for _, who := range []string{"remo", "ann", "tess"} {
		assert.NotContains(t, w.get(who, "/batches"), at, who)
		for _, path := range []string{at, at + "/results.json", at + "/results.csv", "/requests?batch=" + id} {
			assert.Equal(t, http.StatusNotFound, w.status(who, http.MethodGet, path), "%s: %s", who, path)
		}
		for _, path := range []string{"/cancel", "/rerun"} {
			assert.Equal(t, http.StatusNotFound, w.post(who, at+path, nil).Code, "%s: %s", who, path)
		}
	}
	assert.Contains(t, w.get("olga", "/batches?of=rosa"), at)
	assert.NotContains(t, w.get("olga", "/batches?of=remo"), at)
	assert.Equal(t, http.StatusForbidden, w.status("remo", http.MethodGet, "/batches?of=rosa"))
	assert.Equal(t, http.StatusNotFound, w.status("olga", http.MethodGet, "/batches/none"))
}

// A page that stays open shows by itself how the jobs go on.
func TestABatchIsFollowedInABrowser(t *testing.T) {
	tier.OnlyInAll(t, tier.Browser)
	t.Parallel()
	w := newFixture(t)
	at := w.batch("rosa", 2)
	tab := browsertest.Start(t).Tab(t)
	tab.Goto(w.serve("rosa") + at)
	tab.Await("0 of 2 have ended.")
	c := w.claim()
	w.run(c)
	tab.Await("1 running")
	w.end(c, func(r *core.Result) { r.Stdout = "first words" })
	tab.Await("1 of 2 have ended.")
	tab.Await("first words")
	w.ends(core.RequestFailed, "")
	tab.Await("Run all again")
	tab.Press("Run all again")
	tab.Await("All its jobs run again, as this new batch.")
	tab.Press("Stop all")
	tab.Await("Stop all its requests that have not ended?")
	const read = `performance.getEntriesByName(location.href).length`
	before := tab.Number(read)
	w.run(w.claim()) // a form that is asked about is not replaced by what is read anew
	require.Eventually(t, func() bool { return tab.Number(read) > before }, time.Minute, 10*time.Millisecond)
	tab.Click("dialog button[value=yes]")
	tab.Await("rosa cancelled it.")
}
