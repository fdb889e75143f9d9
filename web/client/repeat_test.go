package client_test

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"drover/core"
	"drover/core/classes"
	"drover/core/requests/intake"
	"drover/web/client"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var errReset = errors.New("connection reset")

const away = `{"code":"UNAVAILABLE","detail":"Redis does not answer"}`

func TestReadsAreRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &site{answers: []func(*http.Request) (*http.Response, error){fails(errReset), problem(503, away), good(`{"handle":"x"}`)}}
		var heard []string
		c := asks(t, s, func(o *client.Options) {
			o.Again = func(err error, _ time.Duration) { heard = append(heard, err.Error()) }
		})
		_, err := c.ViewClass(t.Context(), "x")
		require.NoError(t, err)
		assert.Equal(t, []string{"the site https://drover.example.org does not answer: connection reset", "Redis does not answer"}, heard)
	})
}

func TestTimeoutEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &site{answers: []func(*http.Request) (*http.Response, error){fails(errReset)}}
		began := time.Now()
		_, err := asks(t, s).ViewClass(t.Context(), "x")
		requireCode(t, core.CodeUnavailable, err)
		assert.LessOrEqual(t, time.Since(began), 30*time.Second)
		assert.Greater(t, len(s.asked), 3)
	})
}

func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	const full = `{"code":"FULL","detail":"too much at once"}`
	synctest.Test(t, func(t *testing.T) {
		s := &site{answers: []func(*http.Request) (*http.Response, error){problem(429, full, "Retry-After", "7"), good(`{}`)}}
		began := time.Now()
		_, err := asks(t, s).ViewClass(t.Context(), "x")
		require.NoError(t, err)
		assert.Equal(t, 7*time.Second, time.Since(began))

		s = &site{answers: []func(*http.Request) (*http.Response, error){problem(429, full, "Retry-After", "3600")}}
		began = time.Now()
		_, err = asks(t, s).ViewClass(t.Context(), "x")
		requireCode(t, core.CodeFull, err)
		assert.Equal(t, "too much at once", err.Error())
		assert.Zero(t, time.Since(began), "it does not wait in vain")

		s = &site{answers: []func(*http.Request) (*http.Response, error){problem(429, full)}}
		_, err = asks(t, s).ViewClass(t.Context(), "x")
		requireCode(t, core.CodeFull, err)
		assert.Len(t, s.asked, 1, "what is full now is full in a second too")
	})
}

func TestWhatMayHaveBeenDoneIsNotRepeated(t *testing.T) {
	t.Parallel()
	s := &site{answers: []func(*http.Request) (*http.Response, error){fails(errReset)}}
	_, err := asks(t, s).RetryTask(t.Context(), "x")
	requireCode(t, core.CodeUnavailable, err)
	assert.Len(t, s.asked, 1)
}

func twoFiles(yield func(intake.Upload, error) bool) {
	_ = yield(intake.Upload{Path: "src/main.py", Mode: 0o755, Content: strings.NewReader("print(1)\n")}, nil) &&
		yield(intake.Upload{Path: "größe \"x\".txt", Content: strings.NewReader("two")}, nil)
}

func newSubmission(files iter.Seq2[intake.Upload, error]) classes.NewSubmission {
	return classes.NewSubmission{Class: "cs101", Assignment: "hw1", User: "ann", Kind: "final", Files: files}
}

// A lost answer costs no second submission: the files go out again under the same key.
func TestSubmitIsRepeatedUnderItsKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &site{answers: []func(*http.Request) (*http.Response, error){fails(errReset), good(`{"id":"s1"}`)}}
		sub, err := asks(t, s).Submit(t.Context(), newSubmission(twoFiles))
		require.NoError(t, err)
		assert.Equal(t, "s1", sub.ID)
		require.Len(t, s.asked, 2)
		for i, r := range s.asked {
			assert.Equal(t, "/api/v1/classes/cs101/assignments/hw1/submissions", r.URL.Path)
			assert.Equal(t, "kind=final&user=ann", r.URL.RawQuery)
			assert.NotEmpty(t, r.Header.Get("Idempotency-Key"))
			assert.Equal(t, s.asked[0].Header.Get("Idempotency-Key"), r.Header.Get("Idempotency-Key"))
			r.Body = io.NopCloser(strings.NewReader(s.bodies[i]))
			form, err := r.MultipartReader()
			require.NoError(t, err)
			part, err := form.NextRawPart()
			require.NoError(t, err)
			assert.Contains(t, part.Header.Get("Content-Disposition"), "src/main.py")
			assert.Equal(t, "755", part.Header.Get("File-Mode"))
			raw, err := io.ReadAll(part)
			require.NoError(t, err)
			assert.Equal(t, "print(1)\n", string(raw))
			part, err = form.NextRawPart()
			require.NoError(t, err)
			assert.Equal(t, "größe \"x\".txt", part.FileName())
			_, err = form.NextRawPart()
			assert.ErrorIs(t, err, io.EOF)
		}
	})
}

// A file that cannot be read is what is told, not that the site is away, and nothing is repeated.
func TestFileThatCannotBeRead(t *testing.T) {
	t.Parallel()
	gone := core.Errorf(core.CodeInvalid, "b", "b cannot be read")
	for name, files := range map[string]iter.Seq2[intake.Upload, error]{
		"open": func(yield func(intake.Upload, error) bool) {
			_ = yield(intake.Upload{Path: "a", Content: strings.NewReader("a")}, nil) && yield(intake.Upload{}, gone)
		},
		"read": func(yield func(intake.Upload, error) bool) {
			yield(intake.Upload{Path: "b", Content: io.MultiReader(strings.NewReader("b"), &broken{})}, nil)
		},
	} {
		s := &site{answers: []func(*http.Request) (*http.Response, error){good(`{"id":"s1"}`)}}
		_, err := asks(t, s).Submit(t.Context(), newSubmission(files))
		requireCode(t, core.CodeInvalid, err)
		assert.Contains(t, err.Error(), "b cannot be read", name)
		assert.Empty(t, s.asked)
	}
}

type broken struct{}

func (*broken) Read([]byte) (int, error) { return 0, errReset }

// Who may not submit is told so, with the rest of the files unread.
func TestSiteThatTakesNoFiles(t *testing.T) {
	t.Parallel()
	endless := func(yield func(intake.Upload, error) bool) {
		for yield(intake.Upload{Path: "a", Content: bytes.NewReader(make([]byte, 1<<20))}, nil) {
		}
	}
	c, err := client.New(client.Options{Server: "https://drover.example.org", Transport: refusing{}})
	require.NoError(t, err)
	_, err = c.Submit(t.Context(), newSubmission(endless))
	requireCode(t, core.CodeEnded, err)
}

// refusing answers when it has read a little.
type refusing struct{}

func (refusing) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.CopyN(io.Discard, r.Body, 5000); err != nil {
		return nil, err
	}
	return problem(409, `{"code":"ENDED","detail":"too late"}`)(r)
}
