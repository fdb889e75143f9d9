package compattest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Recorded runs a test for each conversation in testdata, a list of steps.
func Recorded[S any](t *testing.T, replay func(t *testing.T, steps []S)) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			var steps []S
			require.NoError(t, json.Unmarshal(text, &steps))
			replay(t, steps)
		})
	}
}

// RequireAnswer requires that an answer in JSON is as recorded. In what is recorded "*" is anything, "…text" a text that
// contains it, and "$NAME" the value that known has, or gets now.
func RequireAnswer(t *testing.T, recorded json.RawMessage, answer string, known map[string]string, note string) {
	t.Helper()
	var want, got any
	require.NoError(t, json.Unmarshal(recorded, &want))
	require.NoError(t, json.Unmarshal([]byte(answer), &got), answer)
	require.Equal(t, fill(want, got, known), got, note)
}

// fill returns what is recorded, with what was got where that is right.
func fill(want, got any, known map[string]string) any {
	switch want := want.(type) {
	case string:
		text, is := got.(string)
		part, some := strings.CutPrefix(want, "…")
		switch {
		case want == "*", some && is && strings.Contains(text, part):
			return got
		case strings.HasPrefix(want, "$") && known[want] == "" && is:
			known[want] = text
		}
		if value, is := known[want]; is {
			return value
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
