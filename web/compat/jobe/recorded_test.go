package jobe_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core/coretest/tier"
	"drover/web/compat/compattest"
)

// Calls as CodeRunner and the documents of Jobe make them are answered as they expect.
func TestRecorded(t *testing.T) {
	t.Parallel()
	compattest.Recorded(t, func(t *testing.T, steps []step) {
		if path.Base(t.Name()) == "compilers" {
			tier.OnlyInAll(t, tier.Compilers)
		}
		w := newFixture(t)
		for _, s := range steps {
			rec := w.ask(s)
			require.Equal(t, s.Status, rec.Code, "%s: %s", s.Note, rec.Body)
			require.Equal(t, "*", rec.Header().Get("Access-Control-Allow-Origin"))
			if s.Answer == nil {
				require.Empty(t, rec.Body.String(), s.Note)
				continue
			}
			require.Equal(t, "application/json; charset=utf-8", rec.Header().Get("Content-Type"))
			compattest.RequireAnswer(t, s.Answer, rec.Body.String(), map[string]string{}, s.Note)
		}
	})
}

// Moodle's client adds its headers once more for each call of a run whose files were not there: the last one has all twice.
func TestHeadersAreRepeated(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	server := httptest.NewServer(w.api)
	t.Cleanup(server.Close)
	run := `{"run_spec": {"language_id": "bash", "sourcecode": "cat words", "file_list": [["0123456789abcdef0123456789abcdef", "words"]]}}`
	for i, call := range []struct {
		method, path, body string
		times, status      int
	}{
		{http.MethodPost, "runs", run, 1, http.StatusNotFound},
		{http.MethodPut, "files/0123456789abcdef0123456789abcdef", `{"file_contents": "` + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("long\n"), 1000)) + `"}`, 1, http.StatusNoContent},
		{http.MethodPost, "runs", run, 2, http.StatusOK},
	} {
		r, err := http.NewRequestWithContext(t.Context(), call.method, server.URL+"/index.php/restapi/"+call.path, strings.NewReader(call.body))
		require.NoError(t, err)
		r.Header.Set("Expect", "100-continue") // as curl does for long bodies
		for range call.times {
			r.Header.Add("X-API-KEY", "ann")
			r.Header.Add("Content-Type", "application/json; charset=utf-8")
			r.Header.Add("X-CodeRunner-Job-Id", "0badcafe")
		}
		answered, err := server.Client().Do(r)
		require.NoError(t, err)
		text, err := io.ReadAll(answered.Body)
		require.NoError(t, errors.Join(err, answered.Body.Close()))
		require.Equal(t, call.status, answered.StatusCode, "call %d: %s", i, text)
		if call.status == http.StatusOK {
			require.Contains(t, string(text), `"outcome":15`)
		}
	}
}
