package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/requests"
	"drover/web/api"
)

// askBatch sends a batch's form.
func (w *fixture) askBatch(who, key, says string, files ...string) answer {
	w.t.Helper()
	kind, body := formOf("batch", says, files...)
	r := httptest.NewRequest(http.MethodPost, api.Prefix+"/batches", body)
	r.Header.Set("Content-Type", kind)
	r.Header.Set("Idempotency-Key", key)
	return w.send(w.as(who), r)
}

func TestBatch(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	const says = `{"pool": "p1", "command": ["cat"], "jobs": [{"stdin": "a"}, {"env": ["X=1"], "limits": {"timeout_ns": 1000000000}}, {}]}`
	files := []string{"file", "all.txt", "for all", "jobs[2].file", "own.txt", "for one", "jobs[2].stdin", "stdin", "input"}
	var v, again requests.BatchView
	w.askBatch("rosa", "k", says, files...).is(http.StatusCreated).into(&v)
	require.Equal(t, []any{"rosa", 3, requests.BatchQueued, map[core.RequestState]int{"queued": 3}}, []any{v.Submitter, v.Jobs, v.State, v.Counts})
	w.askBatch("rosa", "k", says, files...).is(http.StatusOK).into(&again)
	require.Equal(t, v, again)
	w.askBatch("rosa", "k", says).is(http.StatusConflict)

	var page api.Page[requests.JobResult]
	w.call("rosa", "GET", "/batches/"+v.ID+"/results?limit=2", nil).is(http.StatusOK).into(&page)
	require.Equal(t, []any{2, "2", 1}, []any{len(page.Items), page.Next, page.Items[1].Job})
	w.call("rosa", "GET", "/batches/"+v.ID+"/results?cursor="+page.Next, nil).is(http.StatusOK).into(&page)
	require.Equal(t, []any{1, "", 2, v.ID}, []any{len(page.Items), page.Next, page.Items[0].Job, page.Items[0].Batch})
	var brought []string
	for _, f := range page.Items[0].Brought {
		brought = append(brought, f.Path)
	}
	require.Equal(t, []string{"all.txt", "own.txt"}, brought)

	var own api.Page[requests.View]
	w.ask("rosa", "", `{"pool": "p1", "command": ["true"]}`).is(http.StatusCreated)
	w.call("rosa", "GET", "/requests?batch="+v.ID, nil).is(http.StatusOK).into(&own)
	require.Len(t, own.Items, 3)
	w.call("rosa", "GET", "/requests?batch=none", nil).is(http.StatusNotFound)
	for path, method := range map[string]string{"": "GET", "/results": "GET", "/cancel": "POST", "/rerun": "POST"} {
		w.call("rosa", method, "/batches/none"+path, nil).is(http.StatusNotFound)
	}

	var list api.Page[requests.BatchView]
	w.call("rosa", "GET", "/batches", nil).is(http.StatusOK).into(&list)
	require.Len(t, list.Items, 1)
	w.call("rosa", "POST", "/batches/"+v.ID+"/rerun", nil).is(http.StatusConflict)
	w.call("rosa", "POST", "/batches/"+v.ID+"/cancel", nil).is(http.StatusAccepted).into(&v)
	require.Equal(t, []any{requests.BatchCompleted, "rosa"}, []any{v.State, v.Cancelled})
	w.call("rosa", "POST", "/batches/"+v.ID+"/rerun", nil).is(http.StatusCreated).into(&again)
	require.Equal(t, v.ID, again.Of)
}

// Each wrong field of each job is named, by where it stands in the form.
func TestBatchNamesItsFaults(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	faults := func(says string, files ...string) (where []string) {
		var p api.Problem
		w.askBatch("rosa", "", says, files...).is(http.StatusUnprocessableEntity).into(&p)
		require.Equal(t, core.CodeInvalid, p.Code)
		for _, f := range p.Errors {
			where = append(where, f.Location)
		}
		return where
	}
	require.ElementsMatch(t, []string{"batch.pool", "batch.jobs[0].env", "batch.jobs[1].collect"},
		faults(`{"pool": "gone", "command": ["true"], "jobs": [{"env": ["="]}, {"collect": ["/"]}]}`))
	require.Equal(t, []string{"batch.jobs[1].limits.timeout_ns"},
		faults(`{"pool": "p1", "command": ["true"], "jobs": [{}, {"limits": {"timeout_ns": 90000000000000}}]}`))
	require.ElementsMatch(t, []string{"batch.jobs[0].env", "batch.jobs[1].odd"},
		faults(`{"pool": "p1", "command": ["true"], "jobs": [{"env": "A=1"}, {"odd": 1}]}`))
	require.Equal(t, []string{"batch.jobs[1]"}, faults(`{"pool": "p1", "command": ["true"], "jobs": [{}, null]}`))
	require.Equal(t, []string{"batch.jobs"}, faults(`{"pool": "p1", "command": ["true"], "jobs": []}`))
	require.Equal(t, []string{"batch"}, faults(`{"pool": "p1", "command": ["true"]}`))
	require.Equal(t, []string{"batch.jobs"}, faults(`{"pool": "p1", "command": ["true"], "jobs": [`+strings.Repeat("{},", core.MaxBatchJobs)+`{}]}`))
	require.Equal(t, []string{"batch.pool"}, faults(`{"pool": "gone", "command": ["true"], "jobs": [{}]}`), "no job has a pool of its own")
	require.Equal(t, []string{"batch.jobs[1].limits.memory"}, faults(`{"pool": "p1", "command": ["true"], "limits": {"memory": 1000000}, "jobs": [{}, {"limits": {"memory": -1}}]}`))
	require.Equal(t, []string{"batch.jobs[0].command"}, faults(`{"pool": "p1", "jobs": [{}, {"command": ["true"]}]}`))
	for _, text := range []string{"", "{", "jobs: []", "7", `{"pool": "p1", "command": ["true"], "jobs": [{}]} {}`} {
		faults(text)
	}
	require.Empty(t, faults(`{"pool": "p1", "jobs": [{}]}`, "harness", "h.tar", "no archive"))
	w.askBatch("rosa", "", `{"type": "gone", "jobs": [{}]}`).is(http.StatusNotFound)
	require.Empty(t, faults(`{"pool": "p1", "command": ["true"], "jobs": [{}]}`, "jobs[7].file", "a", ""))
	require.Empty(t, faults(`{"pool": "p1", "command": ["true"], "jobs": [{}]}`, "jobs[x].file", "a", ""))
	require.Empty(t, faults(`{"pool": "p1", "command": ["true"], "jobs": [{}]}`, "odd", "a", ""))
	var list api.Page[requests.BatchView]
	w.call("olga", "GET", "/batches", nil).is(http.StatusOK).into(&list)
	require.Empty(t, list.Items, "nothing is half done")
}

func TestJobType(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var jt core.JobType
	w.call("olga", "PATCH", "/types/compile", object{"pool": pool, "command": []string{"make"}, "limits": object{"memory": 32 << 20}}).is(http.StatusOK).into(&jt)
	require.Equal(t, []any{"compile", core.PriorityNormal, int64(32 << 20)}, []any{jt.Name, jt.Priority, jt.Limits.Memory})
	jt = core.JobType{}
	w.call("olga", "PATCH", "/types/compile", object{"submitters": []string{"rosa"}}).is(http.StatusOK).into(&jt)
	require.Equal(t, []any{[]string{"make"}, []string{"rosa"}}, []any{jt.Command, jt.Submitters})
	w.call("olga", "PATCH", "/types/compile", object{"name": "other"}).is(http.StatusUnprocessableEntity)
	w.call("olga", "PATCH", "/types/compile", object{"harness": object{"path": "", "digest": "sha256:" + "00", "size": 1}}).is(http.StatusUnprocessableEntity)
	var p api.Problem
	w.call("olga", "PATCH", "/types/compile", object{"env": []string{"="}, "limits": object{"memory": 1 << 50}}).is(http.StatusUnprocessableEntity).into(&p)
	require.Equal(t, []string{"body.env", "body.limits.memory"}, []string{p.Errors[0].Location, p.Errors[1].Location})
	var v requests.View
	w.ask("rosa", "", `{"type": "compile"}`).is(http.StatusCreated).into(&v)
	require.Equal(t, []any{"compile", []string{"make"}, pool}, []any{v.Type, v.Command, v.Pool})
	w.ask("rosa", "", `{"type": "compile", "limits": {"memory": 67108864}}`).is(http.StatusUnprocessableEntity)
	w.call("olga", "DELETE", "/types/compile", nil).is(http.StatusNoContent)
	w.ask("rosa", "", `{"type": "compile"}`).is(http.StatusNotFound)
}
