package api_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"
	"drover/web/api"
	"drover/web/caller"
)

func TestSubmit(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	var s school.Submission
	a := w.upload("ann", hw1+"/submissions?kind=final", "main.py", "print()", "lib/über.py", "x = 1").is(http.StatusCreated).into(&s)
	require.Equal(t, "/api/v1/submissions/"+s.ID, a.Header().Get("Location"))
	require.Equal(t, "final", s.Kind)
	require.Len(t, s.Files, 2)

	a = w.call("ann", "GET", "/submissions/"+s.ID+"/files/lib/%C3%BCber.py", nil).is(http.StatusOK)
	require.Equal(t, "x = 1", a.Body.String())
	require.Equal(t, "application/octet-stream", a.Header().Get("Content-Type"))
	require.Equal(t, "attachment; filename*=utf-8''%C3%BCber.py", a.Header().Get("Content-Disposition"))
	require.Equal(t, "nosniff", a.Header().Get("X-Content-Type-Options"))
	require.Contains(t, a.Header().Get("Content-Security-Policy"), "sandbox")
	require.Equal(t, "5", a.Header().Get("Content-Length"))
	require.Empty(t, w.call("ann", "HEAD", "/submissions/"+s.ID+"/files/main.py", nil).is(http.StatusOK).Body.String())

	a = w.call("tess", "GET", "/submissions/"+s.ID+"/zip", nil).is(http.StatusOK)
	z, err := zip.NewReader(bytes.NewReader(a.Body.Bytes()), int64(a.Body.Len()))
	require.NoError(t, err)
	require.Len(t, z.File, 2)

	w.call("cleo", "GET", "/submissions/"+s.ID, nil).problem(http.StatusNotFound, core.CodeNotFound)
	w.call("ann", "GET", "/submissions/"+s.ID+"/files/..%2f..%2fetc/passwd", nil).problem(http.StatusNotFound, core.CodeNotFound)

	var v classes.SubmissionView
	w.call("ann", "GET", "/submissions/"+s.ID, nil).is(http.StatusOK).into(&v)
	require.Equal(t, classes.StatusSubmitted, v.Status)
	for _, path := range []string{"/classes/cs101/submissions", hw1 + "/submissions"} {
		var page api.Page[classes.SubmissionEntry]
		w.call("ann", "GET", path, nil).is(http.StatusOK).into(&page)
		require.Len(t, page.Items, 1)
	}
}

func TestIdempotencyKeyMakesOneSubmission(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	var ids []string
	for range 2 {
		kind, body := form("main.py", "print()")
		r := httptest.NewRequest(http.MethodPost, api.Prefix+hw1+"/submissions", body)
		r.Header.Set("Content-Type", kind)
		r.Header.Set("Idempotency-Key", "k1")
		var s school.Submission
		w.send(w.as("ann"), r).is(http.StatusCreated).into(&s)
		ids = append(ids, s.ID)
	}
	require.Equal(t, ids[0], ids[1])
}

// nothingLeft requires that nothing was submitted.
func (w *fixture) nothingLeft() {
	w.t.Helper()
	all, err := w.reg.ListSubmissions(w.t.Context(), w.as("tess").Actor, school.SubmissionFilter{Class: "cs101"})
	require.NoError(w.t, err)
	require.Empty(w.t, all)
	rows, err := w.reg.Store.List(w.t.Context(), core.Filter{})
	require.NoError(w.t, err)
	require.Empty(w.t, rows)
}

func TestUploadsThatAreRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1", func(as *school.Assignment) { as.MaxBytes = 1000 })
	for _, name := range []string{"../main.py", "/etc/passwd", "a/../../b", "a//b", ".", "", "a/./b"} {
		p := w.upload("ann", hw1+"/submissions", name, "x").problem(http.StatusUnprocessableEntity, core.CodeInvalid)
		require.Contains(t, p.Detail, strconv.Quote(name))
	}
	many := []string{}
	for i := range 1001 {
		many = append(many, "f"+strconv.Itoa(i), "")
	}
	w.upload("ann", hw1+"/submissions", many...).problem(http.StatusRequestEntityTooLarge, core.CodeLimit)
	w.upload("ann", hw1+"/submissions", "a", string(make([]byte, 600)), "b", string(make([]byte, 600))).problem(http.StatusRequestEntityTooLarge, core.CodeLimit)
	w.upload("ann", hw1+"/submissions").problem(http.StatusUnprocessableEntity, core.CodeInvalid)
	w.upload("ann", hw1+"/submissions", "a", "x", "a", "y").problem(http.StatusUnprocessableEntity, core.CodeInvalid)
	w.upload("cleo", hw1+"/submissions?user=ann", "a", "x").problem(http.StatusForbidden, core.CodeForbidden)
	w.call("ann", "POST", hw1+"/submissions", map[string]any{}).problem(http.StatusUnprocessableEntity, core.CodeInvalid)
	w.nothingLeft()
}

// cutOff ends in the middle.
type cutOff struct {
	io.Reader
	with error
}

func (c cutOff) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	if errors.Is(err, io.EOF) {
		err = c.with
	}
	return n, err
}

func TestUploadThatIsCutOffLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	kind, body := form("a", "x", "b", string(bytes.Repeat([]byte("y"), 1<<20)))
	for _, most := range []int64{10, 150, 200_000} {
		r := httptest.NewRequest(http.MethodPost, api.Prefix+hw1+"/submissions",
			cutOff{io.LimitReader(bytes.NewReader(body.Bytes()), most), io.ErrUnexpectedEOF})
		r.Header.Set("Content-Type", kind)
		w.send(w.as("ann"), r).problem(http.StatusUnprocessableEntity, core.CodeInvalid)
	}
	w.nothingLeft()
}

// slow is a connection with a caller that stops in the middle, until the time it was given is over.
type slow struct {
	*httptest.ResponseRecorder

	first io.Reader
	given []time.Time
}

func (s *slow) SetReadDeadline(at time.Time) error {
	s.given = append(s.given, at)
	return nil
}

func (s *slow) SetWriteDeadline(time.Time) error { return nil }

func (s *slow) Read(b []byte) (int, error) {
	n, err := s.first.Read(b)
	if errors.Is(err, io.EOF) {
		err = os.ErrDeadlineExceeded
	}
	return n, err
}

func TestUploadThatIsTooSlowIsCutOff(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	kind, body := form("a", "x", "b", strings.Repeat("y", 1<<16))
	s := &slow{ResponseRecorder: httptest.NewRecorder(), first: iotest.OneByteReader(bytes.NewReader(body.Bytes()[:1000]))}
	r := httptest.NewRequest(http.MethodPost, api.Prefix+hw1+"/submissions", io.NopCloser(s))
	r.Header.Set("Content-Type", kind)
	w.api.ServeHTTP(s, r.WithContext(caller.With(r.Context(), w.as("ann"))))
	answer{s.ResponseRecorder, t}.problem(http.StatusRequestTimeout, core.CodeLimit)
	require.Greater(t, len(s.given), 1000, "each read is given time")
	require.True(t, slices.IsSortedFunc(s.given, time.Time.Compare))
	w.nothingLeft()
}
