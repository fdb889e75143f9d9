package judge0_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/web/compat/compattest"
	"drover/web/compat/judge0"
)

func (w *fixture) told() map[string]core.Callback {
	return map[string]core.Callback{judge0.Name: judge0.Callback(w.Blobs)}
}

// calling makes the body of a submission whose end a receiver is told.
func calling(url, more string) json.RawMessage {
	return json.RawMessage(`{"source_code": "echo aGVsbG8K", "language_id": 46, "callback_url": "` + url + `"` + more + `}`)
}

// A receiver gets what GET shows in Base64, by PUT, signed, and again until it has taken it.
func TestCallback(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	url, calls := compattest.Receiver(t, http.StatusNoContent)
	w.Taskrunner(w.told())
	token := w.make(string(calling(url+"/hook?id=1", `, "stdin": "x", "expected_output": "bye"`)))
	got := <-calls
	require.Equal(t, http.MethodPut, got.Method)
	require.Equal(t, "/hook", got.Path)
	require.Equal(t, "application/json", got.Header.Get("Content-Type"))
	compattest.RequireSigned(t, "ann", got)
	status, shown := w.ask(step{Method: http.MethodGet, Path: "/submissions/" + token + "?base64_encoded=true"}, nil)
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, shown, string(got.Body))
	require.Contains(t, string(got.Body), `"stdout":"YUdWc2JHOEsK\n"`)
	w.shows(token, "callback_url,status_id", `{"callback_url": "`+url+`/hook?id=1", "status_id": 4}`)
}

// What was to be told when a taskrunner died is told by the next, once; each of a batch for itself.
func TestCallbacksOfABatchAfterADeath(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	url, calls := compattest.Receiver(t, http.StatusOK)
	stop := w.Taskrunner(w.told())
	stop()
	body := `{"submissions": [` + string(calling(url+"/1", "")) + "," + string(calling(url+"/2", "")) + "]}"
	status, answer := w.ask(step{Method: http.MethodPost, Path: "/submissions/batch", Body: json.RawMessage(body)}, nil)
	require.Equal(t, http.StatusCreated, status, answer)
	w.Taskrunner(w.told())
	first, second := <-calls, <-calls
	require.ElementsMatch(t, []string{"/1", "/2"}, []string{first.Path, second.Path})
	require.NotEqual(t, first.Header.Get("webhook-id"), second.Header.Get("webhook-id"))
}

// An end of a submission that never ran is told as well.
func TestACancelledSubmissionIsTold(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Held = true
	url, calls := compattest.Receiver(t, http.StatusOK)
	token := w.make(string(calling(url, "")))
	status, answer := w.ask(step{Method: http.MethodDelete, Path: "/submissions/" + token}, nil)
	require.Equal(t, http.StatusOK, status, answer)
	w.Taskrunner(w.told())
	var told struct{ Status struct{ ID int } }
	require.NoError(t, json.Unmarshal((<-calls).Body, &told))
	require.Equal(t, 13, told.Status.ID)
}

func TestCallbacksThatAreRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(own *judge0.Settings, _ *core.Pool) { own.Callbacks.Allowed = nil })
	for url, says := range map[string]string{
		"ftp://example.org": "https", "http://example.org/": "https", "https://10.0.0.1/": "not public", "https://169.254.169.254/latest": "not public",
		"https://[::1]/": "not public", "https://user:word@example.org/": "password", "nonsense": "https",
	} {
		status, answer := w.ask(step{Method: http.MethodPost, Path: "/submissions", Body: calling(url, "")}, nil)
		require.Equal(t, http.StatusUnprocessableEntity, status, url)
		var wrong map[string][]string
		require.NoError(t, json.Unmarshal([]byte(answer), &wrong))
		require.Len(t, wrong["callback_url"], 1, url)
		require.Contains(t, wrong["callback_url"][0], says, url)
	}
}
