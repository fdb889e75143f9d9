package student_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAttemptsAreCompared(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	w.graded("hw2")
	alone := w.submitTo("ann", "hw1", sent{"files", "a.py", "x = 1\n"}, sent{"files", "old.py", "y\n"}, sent{"files", "same.py", "z"})
	require.Contains(t, w.get("ann", alone+"/compare"), "There is no other attempt")
	newer := w.submitTo("ann", "hw1", sent{"files", "a.py", "x = 2\n"}, sent{"files", "new.py", "<b>\n"}, sent{"files", "same.py", "z"}, sent{"files", "b.bin", "\x00"})
	first, second := strings.TrimPrefix(alone, "/submissions/"), strings.TrimPrefix(newer, "/submissions/")
	for _, page := range []string{w.get("ann", newer+"/compare"), w.get("tess", alone+"/compare?with="+second), w.get("ann", newer+"/compare?with="+first)} {
		require.Contains(t, page, "x = <del>1</del>")
		require.Contains(t, page, "x = <ins>2</ins>")
		require.Contains(t, page, "1 file is the same.")
		require.Contains(t, page, "&lt;b&gt;")
		require.Contains(t, page, alone+`/files/old.py">old.py</a></h2>`)
		require.Contains(t, page, newer+`/files/new.py">new.py</a></h2>`)
		require.Contains(t, page, "This file is no text")
	}
	other := strings.TrimPrefix(w.submitTo("ann", "hw2"), "/submissions/")
	cleos := strings.TrimPrefix(w.submitTo("cleo", "hw1"), "/submissions/")
	require.Equal(t, http.StatusUnprocessableEntity, w.status("ann", http.MethodGet, newer+"/compare?with="+other))
	require.Equal(t, http.StatusUnprocessableEntity, w.status("tess", http.MethodGet, newer+"/compare?with="+cleos))
	require.Equal(t, http.StatusNotFound, w.status("ann", http.MethodGet, newer+"/compare?with="+cleos))
	require.Equal(t, http.StatusNotFound, w.status("cleo", http.MethodGet, newer+"/compare"))
	require.Equal(t, http.StatusNotFound, w.status("ann", http.MethodGet, newer+"/compare?with=none"))
}
