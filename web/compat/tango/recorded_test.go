package tango_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/web/compat/compattest"
)

// step is one call of a recorded conversation. Answer is JSON, or Text a pattern for all of it.
type step struct {
	Method   string          `json:"method"`
	Path     string          `json:"path"`
	Filename string          `json:"filename"`
	Upload   string          `json:"upload"`
	Body     json.RawMessage `json:"body"`
	Answer   json.RawMessage `json:"answer"`
	Text     string          `json:"text"`
}

// Requests as the documents of Tango describe them are answered as they describe.
func TestRecorded(t *testing.T) {
	t.Parallel()
	compattest.Recorded(t, func(t *testing.T, steps []step) {
		w := newFixture(t)
		for i, s := range steps {
			names := []string{}
			if s.Filename != "" {
				names = append(names, s.Filename)
			}
			status, answer := w.ask(s.Method, s.Path, s.Upload+string(s.Body), names...)
			require.Equal(t, http.StatusOK, status, "step %d: %s", i+1, answer)
			if s.Text != "" {
				require.Regexp(t, `\A`+s.Text+`\z`, answer, "step %d", i+1)
			} else {
				require.JSONEq(t, string(s.Answer), answer, "step %d", i+1)
			}
		}
	})
}
