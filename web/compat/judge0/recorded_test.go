package judge0_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// step is one call of a recorded conversation. In what is sent $NAME stands for a value
// that an answer had before; in what is expected "$NAME" takes it and "*" is anything.
type step struct {
	Method string          `json:"method"`
	Path   string          `json:"path"`
	Key    string          `json:"key"` // ann's, if there is none
	Body   json.RawMessage `json:"body"`
	Status int             `json:"status"`
	Answer json.RawMessage `json:"answer"`
}

// Requests as the documents of Judge0 describe them are answered as they describe.
func TestRecorded(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			var steps []step
			require.NoError(t, json.Unmarshal(text, &steps))
			w, known := newFixture(t), map[string]string{}
			for i, s := range steps {
				if s.Method == http.MethodPost && i > 0 {
					known = map[string]string{}
				}
				status, body := w.ask(s, known)
				require.Equal(t, s.Status, status, "step %d: %s", i+1, body)
				if s.Answer != nil {
					var want, got any
					require.NoError(t, json.Unmarshal(s.Answer, &want))
					require.NoError(t, json.Unmarshal([]byte(body), &got), body)
					require.Equal(t, fill(want, got, known), got, "step %d", i+1)
				}
			}
		})
	}
}

func (w *fixture) ask(s step, known map[string]string) (status int, body string) {
	w.t.Helper()
	put := func(text string) string {
		for name, value := range known {
			text = strings.ReplaceAll(text, name, value)
		}
		return text
	}
	r := httptest.NewRequestWithContext(w.t.Context(), s.Method, put(s.Path), strings.NewReader(put(string(s.Body))))
	r.Header.Set("Content-Type", "application/json")
	switch s.Key {
	case "":
		r.Header.Set("X-Auth-Token", "ann")
	case "none":
	default:
		r.Header.Set("X-Auth-Token", s.Key)
	}
	answer := httptest.NewRecorder()
	w.api.ServeHTTP(answer, r)
	if answer.Code != http.StatusOK || answer.Body.Len() > 0 {
		require.NotEmpty(w.t, answer.Header().Get("Content-Type"))
	}
	return answer.Code, answer.Body.String()
}

// fill puts what was got where anything is right.
func fill(want, got any, known map[string]string) any {
	switch want := want.(type) {
	case string:
		if want == "*" {
			return got
		}
		if strings.HasPrefix(want, "$") && known[want] == "" {
			known[want], _ = got.(string)
		}
		if strings.HasPrefix(want, "$") {
			return known[want]
		}
	case map[string]any:
		have, _ := got.(map[string]any)
		for name, value := range want {
			want[name] = fill(value, have[name], known)
		}
	case []any:
		have, _ := got.([]any)
		for i := range want {
			if i < len(have) {
				want[i] = fill(want[i], have[i], known)
			}
		}
	}
	return want
}
