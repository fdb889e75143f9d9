package judge0_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/web/compat/compattest"
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
	compattest.Recorded(t, func(t *testing.T, steps []step) {
		w, known := newFixture(t), map[string]string{}
		for i, s := range steps {
			if s.Method == http.MethodPost && i > 0 {
				known = map[string]string{}
			}
			status, body := w.ask(s, known)
			require.Equal(t, s.Status, status, "step %d: %s", i+1, body)
			if s.Answer != nil {
				compattest.RequireAnswer(t, s.Answer, body, known, fmt.Sprintf("step %d", i+1))
			}
		}
	})
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
