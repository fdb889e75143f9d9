package jobe_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Calls as CodeRunner and the documents of Jobe make them are answered as they expect.
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
				var want, got any
				require.NoError(t, json.Unmarshal(s.Answer, &want))
				require.NoError(t, json.Unmarshal(rec.Body.Bytes(), &got), rec.Body)
				require.Equal(t, fill(want, got), got, s.Note)
			}
		})
	}
}

// fill puts what was got where anything is right, or a text that contains "…".
func fill(want, got any) any {
	switch want := want.(type) {
	case string:
		text, is := got.(string)
		if part, ok := strings.CutPrefix(want, "…"); want == "*" || ok && is && strings.Contains(text, part) {
			return got
		}
	case map[string]any:
		have, _ := got.(map[string]any)
		for name, value := range want {
			want[name] = fill(value, have[name])
		}
	case []any:
		have, _ := got.([]any)
		for i := range want {
			if i < len(have) {
				want[i] = fill(want[i], have[i])
			}
		}
	}
	return want
}
