package student_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"drover/core"
	"drover/core/school"
)

// fill puts submissions to hw1 into the store, of ann and cleo by turns.
func (w *fixture) fill(n int) {
	w.t.Helper()
	var g errgroup.Group
	g.SetLimit(200) // writes at once share a transaction
	for i := range n {
		g.Go(func() error {
			_, _, err := w.reg.Store.CreateSubmission(w.t.Context(), school.Submission{
				ID: fmt.Sprintf("00%024d", i), Class: "cs101", Assignment: "hw1", User: []string{"ann", "cleo"}[i%2], Kind: "public", At: start - int64(n-i),
				Files: []core.File{{Path: "main.py", Digest: "sha256:" + strings.Repeat("0", 64), Size: 10}},
			}, nil)
			return err
		})
	}
	require.NoError(w.t, g.Wait())
}

// A page asks the store as often for 10,000 submissions as for one, and is not longer
// than its part of them is.
func TestPagesAskAsOftenForManySubmissions(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	store := &counted{Store: w.store}
	w.reg.Store, w.service.Store = store, store
	request := w.request("rosa", "true")
	at := w.submitTo("ann", "hw1")
	task := w.post("ann", "/classes/cs101/assignments/hw1/own-archive", nil).Header().Get("Location")
	paths := map[string]string{
		"/": "ann", "/classes/cs101": "ann", "/classes/cs101/assignments/hw1": "ann", at: "ann", "/tasks": "ann", task: "ann",
		"/requests": "rosa", request: "rosa", "/requests/new": "rosa",
	}
	count := func() map[string]int64 {
		asked := map[string]int64{}
		for path, who := range paths {
			before := store.n.Load()
			w.get(who, path)
			asked[path] = store.n.Load() - before
		}
		return asked
	}
	one := count()
	require.NotZero(t, one["/"])
	w.fill(10_000)
	for path, n := range count() {
		require.LessOrEqual(t, n, one[path], path)
	}
	body := w.get("ann", "/classes/cs101/assignments/hw1")
	require.Equal(t, 50, strings.Count(body, "/zip"), "a page of them")
	next := between(t, body, `rel="next" href="`, `"`)
	require.Equal(t, 50, strings.Count(w.get("ann", next), "/zip"))
	for path, who := range paths {
		require.Less(t, w.weight(who, path), 100_000, path)
	}
}

var loads = regexp.MustCompile(`(?:src|href)="/static/([^"]*)"`)

// weight is how many bytes a page has with all that it loads at once, nothing of it packed. What the editor loads comes
// later, see TestTypedCodeHasTheColoursOfPages.
func (w *fixture) weight(who, path string) int {
	w.t.Helper()
	body := w.get(who, path)
	n := len(body)
	loaded := map[string]bool{}
	for _, m := range loads.FindAllStringSubmatch(body, -1) {
		name := m[1]
		if loaded[name] {
			continue
		}
		loaded[name] = true
		rec := w.ask(who, newGet(w.t, "/static/"+name))
		require.Equal(w.t, http.StatusOK, rec.Code)
		n += rec.Body.Len()
	}
	return n
}
