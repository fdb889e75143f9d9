package student_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/requests"
	"drover/core/school"
)

// A submission's page tells how far its tests are, from the queue to their end.
func TestASubmissionsProgress(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	w.submitTo("cleo", "hw1")
	at := w.submitTo("ann", "hw1")
	body := w.get("ann", at)
	assert.Contains(t, body, "</svg>waiting</span>")
	assert.Contains(t, body, "It waits for its turn. 1 takes its turn before it.")
	assert.NotContains(t, body, "a VM of pool")
	assert.Contains(t, w.get("root", at), "a VM of pool", "who runs the cluster is told what to do")
	w.grade(nil)
	assert.Contains(t, w.get("ann", at), "It is next.")

	c := w.claim()
	body = w.get("ann", at)
	assert.Contains(t, body, ">is being prepared</span>")
	assert.Contains(t, body, "Begun")
	w.run(c)
	assert.Contains(t, w.get("ann", at), ">running</span>")
	require.Equal(t, http.StatusSeeOther, w.post("ann", at+"/cancel", nil).Code)
	body = w.get("ann", at)
	assert.Contains(t, body, ">is being stopped</span>")
	assert.NotContains(t, body, at+"/cancel")
	w.end(c, func(r *core.Result) { r.State = core.RequestCancelled })
	body = w.get("ann", at)
	assert.Contains(t, body, ">cancelled</span>")
	assert.NotContains(t, body, "takes its turn")
	w.language = "de"
	assert.Contains(t, w.get("ann", w.submitTo("ann", "hw1")), "Es wartet, bis es an der Reihe ist. Es ist als Nächstes dran.")
}

// Each reason to wait is said to the student, with what it means.
func TestWhyASubmissionWaits(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	for range 5 {
		w.submitTo("ann", "hw1")
		w.grade(func(r *core.Result) {
			r.Pool, r.Times = pool, core.Times{Submitted: start, Claimed: 0, Finished: 20_000}
		})
	}
	at := w.submitTo("ann", "hw1")
	assert.Contains(t, w.get("ann", at), "Expected wait: up to 20 s")
	p := core.DefaultPool(pool)
	p.Paused = true
	require.NoError(t, w.in.SetPool(t.Context(), p))
	body := w.get("ann", at)
	assert.Contains(t, body, "paused for now. It keeps its place.")
	assert.NotContains(t, body, "Expected wait")

	p.Paused, p.BrokenFor = false, time.Hour
	require.NoError(t, w.in.SetPool(t.Context(), p))
	notes := core.HostNotes{Serves: []string{pool}, Broken: map[string]string{pool: "no image"}}
	require.NoError(t, w.cluster.Store.Note(t.Context(), w.cluster.Factory, w.cluster.Made, w.cluster.Host, notes))
	assert.Contains(t, w.get("ann", at), "The machines have a fault, which the submission did not cause. It keeps its place.")
	_, err := w.cluster.Store.SetOutage(t.Context(), pool, core.Outage{Host: w.cluster.Host, Why: "no image"})
	require.NoError(t, err)
	body = w.get("ann", at)
	assert.Contains(t, body, "If that lasts, it ends, which is not your fault: <time")
	assert.NotContains(t, body, "It keeps its place")
	assert.NotContains(t, body, "no image")
}

// What failed for the site's fault and was tried again is told, without names of machines.
func TestTriesOfASubmission(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	at := w.submitTo("ann", "hw1")
	first := w.claim()
	_, err := w.in.Store.Record(t.Context(), core.Result{
		ID: first.ReadSpec().ID, Generation: 1, State: core.RequestFailed, Blame: core.BlamePlatform, Reason: "VM v7 fell over", Attempt: 1, Token: first.Token, Host: "h1",
	})
	require.NoError(t, err)
	w.finish(first, core.OutcomeDone)
	require.NotContains(t, w.get("ann", at), "<h2>Tries</h2>")
	require.Equal(t, http.StatusSeeOther, w.post("ann", at+"/resubmit", nil).Code)
	w.grade(nil)
	body := w.get("ann", at)
	assert.Contains(t, body, "a fault of the site")
	assert.NotContains(t, body, "VM v7")
	assert.Contains(t, w.get("root", at), "VM v7 fell over (h1)")
}

// What a harness prints is for students only where their staff shows it.
func TestOutputIsShownByAssignment(t *testing.T) {
	t.Parallel()
	for _, shown := range []bool{false, true} {
		w := newFixture(t)
		w.graded("hw1", func(as *school.Assignment) { as.ShowOutput = shown })
		at := w.submitTo("ann", "hw1")
		c := w.claim()
		w.run(c)
		assert.Equal(t, shown, strings.Contains(w.get("ann", at), "data-output"))
		assert.Contains(t, w.get("tess", at), "data-output")
		w.end(c, func(r *core.Result) { r.Stderr = "a <warning>" })
		body := w.get("ann", at)
		assert.Equal(t, shown, strings.Contains(body, "hidden test 3"))
		assert.Equal(t, shown, strings.Contains(body, "a &lt;warning&gt;"))
		assert.NotContains(t, body, "data-output")
		assert.NotContains(t, body, "h1</dd>", "where it ran is for staff")
	}
}

// away is a queue that does not answer.
type away struct{ requests.Queue }

func (away) Locate(context.Context, string) (core.Place, error) {
	return core.Place{}, core.Errorf(core.CodeUnavailable, "", "Redis does not answer")
}

// What was submitted is shown while Redis is away.
func TestASubmissionIsShownWithoutRedis(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	at := w.submitTo("ann", "hw1")
	w.service.Queue = away{w.service.Queue}
	body := w.get("ann", at)
	assert.Contains(t, body, "</svg>waiting</span>")
	assert.Contains(t, body, "main.py")
	assert.Contains(t, body, "data-events=")
}
