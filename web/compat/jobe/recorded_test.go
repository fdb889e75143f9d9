package jobe_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drover/web/compat/compattest"
)

// Calls as CodeRunner and the documents of Jobe make them are answered as they expect.
func TestRecorded(t *testing.T) {
	t.Parallel()
	compattest.Recorded(t, func(t *testing.T, steps []step) {
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
