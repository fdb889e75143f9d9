package student_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
)

// tasker takes tasks, as a taskrunner does.
type tasker struct {
	*fixture
	owner string
	epoch int64
	calls int64
}

func (w *fixture) tasker() *tasker {
	w.t.Helper()
	owner := core.OwnerName(core.RoleTaskrunner, "h1", 0)
	return &tasker{fixture: w, owner: owner, epoch: w.cluster.Register(w.t, owner).Epoch}
}

func (k *tasker) exchange(want int, finish ...core.TaskFinish) []core.TaskClaim {
	k.t.Helper()
	k.calls++
	got, err := k.cluster.Store.ExchangeTasks(k.t.Context(), core.TaskExchange{
		Owner: k.owner, Epoch: k.epoch, Seq: k.calls, Want: want, TokenBase: k.calls, Finish: finish, Beat: time.Minute,
	})
	require.NoError(k.t, err)
	return got.Claims
}

// end records the end of a task that was claimed.
func (k *tasker) end(c core.TaskClaim, e core.TaskEnd) {
	k.t.Helper()
	e.ID, e.Generation = c.Task.ID, c.Task.Generation
	_, err := k.in.Store.EndTask(k.t.Context(), e)
	require.NoError(k.t, err)
	k.exchange(0, core.TaskFinish{Key: c.Task.Key(), Token: c.Token, Outcome: core.OutcomeDone})
}

// A task's page shows how far it is while it runs, its file, and every end.
func TestATaskInEachState(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	w.submitTo("ann", "hw1")
	at := w.post("ann", "/classes/cs101/assignments/hw1/own-archive", nil).Header().Get("Location")
	body := w.get("ann", at)
	assert.Contains(t, body, "No process runs such tasks now")
	assert.NotContains(t, body, "Begun", "nobody has begun it")
	k := w.tasker()
	assert.NotContains(t, w.get("ann", at), "No process runs such tasks now")
	shows := func(says ...string) string {
		t.Helper()
		body := w.get("ann", at)
		for _, text := range says {
			assert.Contains(t, body, text)
		}
		assert.Contains(t, w.get("ann", "/tasks"), says[0])
		return body
	}
	shows(">waiting</span>", "data-events=", "/cancel")
	c := k.exchange(1)[0]
	require.NoError(t, w.cluster.Store.ProgressTask(t.Context(), k.owner, k.epoch, c.Task.Key(), c.Token, core.TaskProgress{Done: 3, Total: 9, Text: "file <3>"}, time.Minute))
	shows(">under way</span>", `max="9" value="3"`, "3 of 9", "file &lt;3&gt;")
	k.exchange(0, core.TaskFinish{Key: c.Task.Key(), Token: c.Token, Outcome: core.OutcomeRetry, Delay: time.Hour})
	shows(">waiting for its time</span>", "Its next try")
	require.Equal(t, http.StatusSeeOther, w.post("ann", at+"/cancel", nil).Code)
	body = shows(">cancelled</span>", "/retry")
	assert.NotContains(t, body, "data-events=")
	assert.NotContains(t, body, "/cancel")

	require.Equal(t, http.StatusSeeOther, w.post("ann", at+"/retry", nil).Code)
	c = k.exchange(1)[0]
	require.Equal(t, http.StatusSeeOther, w.post("ann", at+"/cancel", nil).Code)
	assert.NotContains(t, shows(">is being stopped</span>"), "/cancel")
	k.end(c, core.TaskEnd{State: core.TaskDead, Note: "it broke"})
	shows(">failed</span>", "it broke", "/retry")
	require.Equal(t, http.StatusSeeOther, w.post("ann", at+"/retry", nil).Code)
	digest, size, err := w.reg.Blobs.Put(t.Context(), strings.NewReader("zipped"), 100)
	require.NoError(t, err)
	file := &core.Download{Name: "all.zip", Digest: digest, Size: size, Type: "application/zip", Expires: start + day}
	k.end(k.exchange(1)[0], core.TaskEnd{State: core.TaskDone, Download: file})
	shows(">done</span>", "/download", "all.zip")
	rec := w.ask("ann", newGet(t, at+"/download"))
	require.Equal(t, "zipped", rec.Body.String())
	require.Contains(t, rec.Header().Get("Content-Disposition"), "all.zip")
	w.language = "de"
	assert.Contains(t, w.get("ann", at), ">fertig</span>")

	for _, who := range []string{"cleo", "eve", "nick"} {
		for _, path := range []string{"", "/download"} {
			assert.Equal(t, http.StatusNotFound, w.status(who, http.MethodGet, at+path), "%s: %s", who, path)
		}
		for _, path := range []string{"/cancel", "/retry"} {
			assert.Equal(t, http.StatusNotFound, w.post(who, at+path, nil).Code, "%s: %s", who, path)
			assert.Equal(t, http.StatusNotFound, w.status("ann", http.MethodGet, at+path), "nothing changes by GET")
		}
		assert.NotContains(t, w.get(who, "/tasks"), at, who)
	}
	w.pass(2 * day)
	assert.NotContains(t, w.get("ann", at), "/download", "it is kept for a time")
	assert.Equal(t, http.StatusConflict, w.status("ann", http.MethodGet, at+"/download"))
}
