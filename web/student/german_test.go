package student_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// No page says in English what the German catalogue has in German.
func TestPagesAreGerman(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../page/words/de.json")
	require.NoError(t, err)
	var words map[string]string
	require.NoError(t, json.Unmarshal(raw, &words))
	w := newFixture(t)
	pages := map[string]string{}
	for _, path := range w.sample() {
		pages[path] = "ann"
	}
	for _, path := range w.sampleRequests() {
		pages[path] = "rosa"
	}
	w.language = "de"
	said := 0
	for path, who := range pages {
		body := w.ask(who, httptest.NewRequest(http.MethodGet, path, nil)).Body.String()
		body = strings.ReplaceAll(body, "wrong answer: line", "") // a harness speaks for itself
		for english, german := range words {
			if english == german || len(english) < 12 || !strings.Contains(english, " ") {
				continue // a word may be the same in both, or part of another
			}
			assert.NotContains(t, body, english, path)
			if strings.Contains(body, german) {
				said++
			}
		}
	}
	require.Greater(t, said, 80)
}
