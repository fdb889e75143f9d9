package judge0_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/web/compat/judge0"
)

// make makes a submission of a shell script and returns its token.
func (w *fixture) make(body string) string {
	w.t.Helper()
	status, answer := w.ask(step{Method: http.MethodPost, Path: "/submissions", Body: json.RawMessage(body)}, nil)
	require.Equal(w.t, http.StatusCreated, status, answer)
	var made struct{ Token string }
	require.NoError(w.t, json.Unmarshal([]byte(answer), &made))
	return made.Token
}

func (w *fixture) shows(token, fields, want string) {
	w.t.Helper()
	status, answer := w.ask(step{Method: http.MethodGet, Path: "/submissions/" + token + "?fields=" + fields}, nil)
	require.Equal(w.t, http.StatusOK, status, answer)
	require.JSONEq(w.t, want, answer)
}

const echo = `{"source_code": "echo 1", "language_id": 46, "expected_output": "1"}`

func TestOtherRequestsAreNoSubmissions(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	row, _, err := w.Intake.Submit(t.Context(), core.Spec{Pool: pool, Submitter: "ann", Command: []string{"true"}})
	require.NoError(t, err)
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		status, answer := w.ask(step{Method: method, Path: "/submissions/" + row.Spec.ID}, nil)
		require.Equal(t, http.StatusNotFound, status, answer)
	}
}

// What drover itself says of a run counts before what the script noted.
func TestEndsOfDrover(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*core.Result)
		want   string
	}{
		"memory": {func(r *core.Result) {
			r.State, r.Blame, r.Limit, r.Reason, r.Files = core.RequestFailed, core.BlameSubmission, core.LimitMemory, "Too much.", nil
		}, `{"status_id": 12, "message": "Too much.", "stdout": null}`},
		"time": {func(r *core.Result) {
			r.State, r.Blame, r.Limit, r.Files = core.RequestTimedOut, core.BlameSubmission, core.LimitTime, nil
		}, `{"status_id": 5, "message": "Time limit exceeded", "stdout": null}`},
		"killed with its script": {
			func(r *core.Result) { r.Signal, r.Files = "SIGKILL", nil },
			`{"status_id": 12, "message": "Caught fatal signal 9", "stdout": null}`,
		},
		"waited too long": {func(r *core.Result) {
			r.State, r.Reason, r.Times.Started, r.Files = core.RequestTimedOut, "It waited too long.", -1, nil
		}, `{"status_id": 13, "message": "It waited too long.", "stdout": null}`},
		"a broken host": {func(r *core.Result) {
			r.State, r.Blame, r.Reason, r.Times.Started, r.Files = core.RequestDead, core.BlamePlatform, "No host.", -1, nil
		}, `{"status_id": 13, "message": "No host.", "stdout": null}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.Change = c.change
			w.shows(w.make(echo), "status_id,message,stdout", c.want)
		})
	}
}

// What has not ended is in the queue, can be cancelled, and is shown as it is to who
// has waited long enough.
func TestWaitsInQueue(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(c *judge0.Settings, _ *core.Pool) { c.MaxWait = time.Millisecond })
	w.Held = true
	status, answer := w.ask(step{Method: http.MethodPost, Path: "/submissions?wait=true&fields=status,time", Body: json.RawMessage(echo)}, nil)
	require.Equal(t, http.StatusCreated, status)
	require.JSONEq(t, `{"status": {"id": 1, "description": "In Queue"}, "time": null}`, answer)

	token := w.make(echo)
	w.shows(token, "status_id,expected_output,finished_at", `{"status_id": 1, "expected_output": "1", "finished_at": null}`)
	status, answer = w.ask(step{Method: http.MethodDelete, Path: "/submissions/" + token, Key: "bob"}, nil)
	require.Equal(t, http.StatusNotFound, status, answer)
	status, answer = w.ask(step{Method: http.MethodDelete, Path: "/submissions/" + token + "?fields=status_id"}, nil)
	require.Equal(t, http.StatusOK, status, answer)
	require.JSONEq(t, `{"status_id": 13}`, answer)
}

func TestQueueIsFull(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(_ *judge0.Settings, p *core.Pool) { p.MaxWaiting = 1 })
	w.Held = true
	w.make(echo)
	status, answer := w.ask(step{Method: http.MethodPost, Path: "/submissions", Body: json.RawMessage(echo)}, nil)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.JSONEq(t, `{"error": "queue is full"}`, answer)
}

func TestBodyIsBounded(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	body := json.RawMessage(`{"language_id": 46, "source_code": "` + strings.Repeat("x", 8<<20) + `"}`)
	status, _ := w.ask(step{Method: http.MethodPost, Path: "/submissions", Body: body}, nil)
	require.Equal(t, http.StatusRequestEntityTooLarge, status)
}

// few allows so many calls, of all users together.
type few struct{ left int }

func (f *few) Take(_ context.Context, name string, _ core.Rate, n int) (core.Allowance, error) {
	if strings.HasPrefix(name, "bytes/") {
		return core.Allowance{Allowed: true}, nil
	}
	if n > f.left {
		return core.Allowance{Retry: 1500 * time.Millisecond}, nil
	}
	f.left -= n
	return core.Allowance{Allowed: true}, nil
}

// A batch counts as so many calls.
func TestRates(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Held, w.Deps.Limits = true, &few{20}
	w.open(judge0.Settings{Pool: pool})
	batch := json.RawMessage(`{"submissions": [` + strings.TrimSuffix(strings.Repeat(echo+",", 15), ",") + "]}")
	status, answer := w.ask(step{Method: http.MethodPost, Path: "/submissions/batch", Body: batch}, nil)
	require.Equal(t, http.StatusCreated, status, answer)
	status, answer = w.ask(step{Method: http.MethodPost, Path: "/submissions/batch", Body: batch}, nil)
	require.Equal(t, http.StatusTooManyRequests, status, answer)
	token := w.make(echo)
	many := strings.TrimSuffix(strings.Repeat(token+",", 15), ",")
	status, answer = w.ask(step{Method: http.MethodGet, Path: "/submissions/batch?tokens=" + many}, nil)
	require.Equal(t, http.StatusTooManyRequests, status, answer)
}

// Limits are those that the pool can hold.
func TestLimitsOfASmallPool(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(_ *judge0.Settings, p *core.Pool) {
		p.Limits = core.DefaultPool(pool).Limits
		p.Limits.Timeout = 10 * time.Second
	})
	status, answer := w.ask(step{Method: http.MethodGet, Path: "/config_info"}, nil)
	require.Equal(t, http.StatusOK, status)
	var info map[string]any
	require.NoError(t, json.Unmarshal([]byte(answer), &info))
	require.InDelta(t, 4.5, info["wall_time_limit"], 0)
	require.InDelta(t, 60, info["max_max_processes_and_or_threads"], 0)
	w.shows(w.make(echo), "status_id", `{"status_id": 3}`)
}

// Languages come from a table.
func TestLanguages(t *testing.T) {
	t.Parallel()
	all, err := judge0.ParseLanguages([]byte("- {id: 7, name: Own, source_file: a.sh, run_cmd: exec sh a.sh}\n"))
	require.NoError(t, err)
	w := newFixture(t, func(c *judge0.Settings, _ *core.Pool) { c.Languages = all })
	w.shows(w.make(`{"source_code": "echo own", "language_id": 7}`), "stdout", `{"stdout": "own\n"}`)
	for name, text := range map[string]string{
		"none": "[]", "twice": "[{id: 7, name: a, run_cmd: a}, {id: 7, name: b, run_cmd: b}]", "a path": "[{id: 7, name: a, run_cmd: a, source_file: ../a}]",
		"unknown": "[{id: 7, name: a, run_cmd: a, cmd: b}]", "no command": "[{id: 7, name: a}]",
	} {
		_, err := judge0.ParseLanguages([]byte(text))
		require.True(t, core.Is(err, core.CodeInvalid), name)
	}
}
