package student_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/school"
	"drover/web/caller"
)

// More time that somebody was given is shown with who gave it and why, to nobody else.
func TestAPersonalExtensionIsShown(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1", func(as *school.Assignment) { as.Due, as.Cutoff = start-2*hour, start-hour })
	require.NoError(t, w.reg.Store.PutDeadline(t.Context(), school.Deadline{
		Class: "cs101", Assignment: "hw1", User: "ann", Due: start + day, Cutoff: start + 2*day, By: "tess", Reason: "was ill", Since: start,
	}))
	const page = "/classes/cs101/assignments/hw1"
	assert.Contains(t, w.get("ann", page), "given by tess: was ill")
	assert.Contains(t, w.get("ann", "/"), "your own")
	assert.Contains(t, w.get("ann", "/"), ">not submitted yet</span>")
	assert.NotContains(t, w.get("cleo", page), "was ill")
	assert.NotContains(t, w.get("cleo", "/"), "your own")
	assert.Contains(t, w.get("cleo", page), "Submissions are closed")
	w.submitTo("ann", "hw1")
	assert.Equal(t, http.StatusUnprocessableEntity, w.upload("cleo", page, sent{"files", "a.py", "x"}).Code)
}

// What is too much is said above the form, which keeps what was chosen, and nothing is kept of it.
func TestWhatIsTooMuchIsSaid(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1", func(as *school.Assignment) { as.MaxFiles, as.MaxBytes = 2, 10 })
	const page = "/classes/cs101/assignments/hw1"
	assert.Contains(t, w.get("ann", page), "At most 2 files. At most 10 B together.")
	refused := func(says string, files ...sent) {
		t.Helper()
		rec := w.upload("ann", page, append([]sent{{"kind", "", "final"}, {"archives", "", "keep"}}, files...)...)
		require.Equal(t, http.StatusUnprocessableEntity, rec.Code)
		body := rec.Body.String()
		assert.Contains(t, between(t, body, `role="alert">`, "</p>"), says)
		assert.Contains(t, body, `value="final" checked`)
		assert.Contains(t, body, `value="keep" checked`)
	}
	refused("2 files", sent{"files", "a", "1"}, sent{"files", "b", "2"}, sent{"files", "c", "3"})
	refused("10", sent{"files", "a", "more than ten bytes"})
	refused("no file", sent{"name", "", "a.py"})
	assert.NotContains(t, w.get("ann", page), "/zip")

	p := core.DefaultPool(pool)
	p.MaxWaiting = 1
	require.NoError(t, w.in.SetPool(t.Context(), p))
	w.graded("hw2")
	w.submitTo("ann", "hw2")
	refused("waiting", sent{"files", "a", "1"})
}

// What is broken off on the way leaves nothing.
func TestABrokenUploadLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	ann, err := w.reg.Actor(t.Context(), "ann")
	require.NoError(t, err)
	served := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		defer close(served)
		w.site.ServeHTTP(rw, r.WithContext(caller.With(r.Context(), &caller.Caller{Actor: ann})))
	}))
	defer server.Close()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	part := "--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"a.py\"\r\n\r\nprint("
	_, err = fmt.Fprintf(conn, "POST /classes/cs101/assignments/hw1 HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: %d\r\n\r\n%s", len(part)+1000, part)
	require.NoError(t, err)
	require.NoError(t, conn.(*net.TCPConn).CloseWrite())
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	<-served
	require.NoError(t, answer.Body.Close())
	require.NoError(t, conn.Close())
	assert.GreaterOrEqual(t, answer.StatusCode, http.StatusBadRequest)
	all, err := w.store.ListSubmissions(t.Context(), school.SubmissionFilter{Class: "cs101"})
	require.NoError(t, err)
	assert.Empty(t, all)
	rows, err := w.store.List(t.Context(), core.Filter{})
	require.NoError(t, err)
	assert.Empty(t, rows)
	assert.NotContains(t, w.get("ann", "/classes/cs101/assignments/hw1"), "/submissions/")
}
