package classes_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"strings"
	"sync"
	"testing"

	"drover/core"
	"drover/core/classes"
	"drover/core/coretest"
	"drover/core/harness"
	"drover/core/requests/intake"
	"drover/core/school"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSubmitAsksForItsGrading(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	as := w.graded("hw1")
	require.NoError(t, w.reg.SetDeadline(ctx, w.as("tess"), school.Deadline{Class: "cs101", Assignment: "hw1", User: "ann", Due: theDue + hour}))
	for id, hook := range map[string]core.Webhook{
		"told": {Class: "cs101", Events: []string{core.EventRequestEnded}}, "other": {Class: "cs101", Events: []string{core.EventTaskEnded}},
		"off": {Class: "cs101", Events: []string{core.EventRequestEnded}, Disabled: true}, "foreign": {Class: "cs202", Events: []string{core.EventRequestEnded}},
	} {
		hook.ID, hook.URL, hook.By, hook.Secret, hook.Created = id, "https://example.org/", "tess", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", start
		require.NoError(t, done(w.store.PutWebhook(ctx, hook)))
	}
	h := newSubmission("hw1")
	h.Kind, h.Idempotency = harness.TestFinal, "k1"
	h.Files = files("main.py", "print()", "lib/a.py", "")
	s, err := w.reg.Submit(ctx, w.as("ann"), h)
	require.NoError(t, err)
	stored, err := w.reg.Store.GetSubmission(ctx, s.ID)
	require.NoError(t, err)
	assert.Equal(t, []string{s.ID, "cs101", "hw1", "ann", harness.TestFinal, s.ID}, []string{stored.ID, stored.Class, stored.Assignment, stored.User, stored.Kind, stored.Request})
	require.Len(t, stored.Files, 2)

	row, err := w.store.Get(ctx, s.Request)
	require.NoError(t, err)
	spec := row.Spec
	assert.Equal(t, []string{s.ID, "ann", "cs101/hw1", pool, ""}, []string{spec.Submission, spec.Submitter, spec.Assignment, spec.Pool, spec.Idempotency})
	assert.True(t, spec.Supersede)
	assert.Equal(t, theDue+hour, spec.Due, "so that it has its turn before what is due later")
	assert.Equal(t, as.Harness.File, *spec.Harness)
	assert.Equal(t, stored.Files, spec.Files)
	assert.Equal(t, []string{"told"}, spec.Notify)
	assert.Equal(t, spec.Submitted, stored.At)
	var input struct {
		Submission map[string]any `json:"raw_submission"`
		Assignment map[string]any `json:"raw_assignment"`
	}
	require.NoError(t, json.Unmarshal(spec.Input, &input))
	assert.Equal(t, "2023-11-15T23:13:20.000Z", input.Assignment["due"], "ann's own")
	assert.Equal(t, "2023-11-16T22:13:20.000Z", input.Assignment["due_cutoff"])
	assert.Equal(t, "The hw1", input.Assignment["name"])
	assert.Equal(t, "final", input.Submission["test_type"])

	v, err := w.reg.ViewSubmission(ctx, w.as("ann"), s.ID)
	require.NoError(t, err)
	assert.Equal(t, classes.StatusWaiting, v.Status)
	w.grade(nil)
	v, err = w.reg.ViewSubmission(ctx, w.as("ann"), s.ID)
	require.NoError(t, err)
	assert.Equal(t, classes.StatusCompleted, v.Status)
	assert.InDelta(t, 7, *v.Score, 0)
}

func TestSubmitWithoutHarness(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("essay", func(as *school.Assignment) { as.Pool = "" })
	h := newSubmission("essay")
	h.Idempotency = "k1"
	s, err := w.reg.Submit(t.Context(), w.as("ann"), h)
	require.NoError(t, err)
	again, err := w.reg.Submit(t.Context(), w.as("ann"), h)
	require.NoError(t, err)
	assert.Equal(t, s.ID, again.ID)
	v, err := w.reg.ViewSubmission(t.Context(), w.as("ann"), s.ID)
	require.NoError(t, err)
	assert.Equal(t, classes.StatusSubmitted, v.Status)
	assert.False(t, v.Resubmit)
}

// endless yields files until nobody wants any more.
func endless(yield func(intake.Upload, error) bool) {
	for i := 0; ; i++ {
		if !yield(intake.Upload{Path: strings.Repeat("x", i%200+1), Content: strings.NewReader("x")}, nil) {
			return
		}
	}
}

func TestSubmitRefuses(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	narrow := func(as *school.Assignment) { as.AllowFinal, as.MaxFiles, as.MaxBytes = false, 2, 10 }
	w.graded("hw1", narrow)
	w.assignment("essay", narrow)
	broken := errors.New("the line was cut")
	for name, c := range map[string]struct {
		change func(h *classes.NewSubmission)
		code   core.Code
		says   string
	}{
		"no file":       {func(h *classes.NewSubmission) { h.Files = files() }, core.CodeInvalid, "no file"},
		"a path out":    {func(h *classes.NewSubmission) { h.Files = files("../a", "x") }, core.CodeInvalid, ".."},
		"a bell":        {func(h *classes.NewSubmission) { h.Files = files("a\a", "x") }, core.CodeInvalid, "control"},
		"a file twice":  {func(h *classes.NewSubmission) { h.Files = files("a", "x", "a", "y") }, core.CodeInvalid, "twice"},
		"a strange bit": {func(h *classes.NewSubmission) { h.Files = odd }, core.CodeInvalid, "permission"},
		"many files":    {func(h *classes.NewSubmission) { h.Files = endless }, core.CodeLimit, "at most 2 files"},
		"many bytes":    {func(h *classes.NewSubmission) { h.Files = files("a", "12345", "b", "123456") }, core.CodeLimit, "5 are left"},
		"no byte left":  {func(h *classes.NewSubmission) { h.Files = files("a", "1234567890", "b", "1") }, core.CodeLimit, "0 are left"},
		"a broken line": {func(h *classes.NewSubmission) { h.Files = cut(broken) }, core.CodeInvalid, "line was cut"},
		"final":         {func(h *classes.NewSubmission) { h.Kind = harness.TestFinal }, core.CodeInvalid, "no final"},
		"another kind":  {func(h *classes.NewSubmission) { h.Kind = "secret" }, core.CodeInvalid, "public or final"},
		"a long key":    {func(h *classes.NewSubmission) { h.Idempotency = strings.Repeat("k", 101) }, core.CodeLimit, "at most 100"},
		"a key's line":  {func(h *classes.NewSubmission) { h.Idempotency = "a\nb" }, core.CodeInvalid, "control"},
		"nobody's":      {func(h *classes.NewSubmission) { h.User = "ghost" }, core.CodeForbidden, "create_for"},
	} {
		for _, assignment := range []string{"hw1", "essay"} { // with a harness, and without
			h := newSubmission(assignment)
			c.change(&h)
			_, err := w.reg.Submit(t.Context(), w.as("ann"), h)
			require.Error(t, err, name)
			assert.Equal(t, c.code, core.CodeOf(err), "%s: %v", name, err)
			assert.Contains(t, err.Error(), c.says, name)
		}
	}
	h := newSubmission("hw1")
	h.User = "eve"
	requireCode(t, core.CodeNotFound, done(w.reg.Submit(t.Context(), w.as("tess"), h)))
	all, err := w.reg.Store.ListSubmissions(t.Context(), school.SubmissionFilter{})
	require.NoError(t, err)
	assert.Empty(t, all)
}

func TestAnEmptyFileNeedsNoRoom(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1", func(as *school.Assignment) { as.MaxBytes = 10 })
	h := newSubmission("hw1")
	h.Files = files("main.py", "1234567890", "__init__.py", "")
	sub, err := w.reg.Submit(t.Context(), w.as("ann"), h)
	require.NoError(t, err)
	require.Len(t, sub.Files, 2)
}

func odd(yield func(intake.Upload, error) bool) {
	yield(intake.Upload{Path: "a", Mode: 0o4755, Content: strings.NewReader("x")}, nil)
}

func cut(err error) iter.Seq2[intake.Upload, error] {
	return func(yield func(intake.Upload, error) bool) { yield(intake.Upload{}, err) }
}

// Nothing is read from who may not submit.
func TestSubmitReadsNothingInVain(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	h := newSubmission("hw1")
	h.Files = func(func(intake.Upload, error) bool) { t.Error("it is read") }
	requireCode(t, core.CodeNotFound, done(w.reg.Submit(t.Context(), w.as("eve"), h)))
	w.pass(3 * day)
	requireCode(t, core.CodeEnded, done(w.reg.Submit(t.Context(), w.as("ann"), h)))
}

// slow is a file during which time passes.
type slow struct {
	io.Reader
	w  *fixture
	ms int64
}

func (s *slow) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		s.w.pass(s.ms)
		s.ms = 0
	}
	return n, err
}

// The cutoff that passes while files come in has passed.
func TestCutoffPassesMeanwhile(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	h := newSubmission("hw1")
	h.Files = func(yield func(intake.Upload, error) bool) {
		yield(intake.Upload{Path: "a", Content: &slow{strings.NewReader("x"), w, 2 * day}}, nil)
	}
	requireCode(t, core.CodeEnded, done(w.reg.Submit(t.Context(), w.as("ann"), h)))
	s, err := w.reg.Submit(t.Context(), w.as("tina"), classes.NewSubmission{Class: "cs101", Assignment: "hw1", User: "ann", Files: files("a", "x")})
	require.NoError(t, err)
	assert.True(t, s.Late)
}

// Two calls with one key are one submission and one request, in either order.
func TestOneKeyTwiceAtOnce(t *testing.T) {
	t.Parallel()
	for _, assignment := range []string{"graded", "plain"} {
		w := newFixture(t)
		w.graded("graded")
		w.assignment("plain")
		ann := w.as("ann")
		ids := make([]string, 8)
		var calls sync.WaitGroup
		for i := range ids {
			calls.Go(func() {
				h := newSubmission(assignment)
				h.Idempotency = "k1"
				s, err := w.reg.Submit(context.Background(), ann, h)
				assert.NoError(t, err)
				ids[i] = s.ID
			})
		}
		calls.Wait()
		all, err := w.reg.Store.ListSubmissions(t.Context(), school.SubmissionFilter{})
		require.NoError(t, err)
		require.Len(t, all, 1, assignment)
		for _, id := range ids {
			assert.Equal(t, all[0].Submission.ID, id, assignment)
		}
		rows, err := w.store.List(t.Context(), core.Filter{})
		require.NoError(t, err)
		assert.LessOrEqual(t, len(rows), 1)
		h := newSubmission("plain")
		if assignment == "plain" {
			h.Assignment = "graded"
		}
		h.Idempotency = "k1"
		requireCode(t, core.CodeConflict, done(w.reg.Submit(t.Context(), ann, h)))
	}
}

// mortal is a store of a process that dies.
type mortal struct {
	classes.Store
	m *coretest.Mortal
}

func (p mortal) CreateSubmission(ctx context.Context, s school.Submission, grading *core.Spec) (stored school.Submission, created bool, err error) {
	err = p.m.Step("create", func() error { stored, created, err = p.Store.CreateSubmission(ctx, s, grading); return err })
	return stored, created, err
}

func (p mortal) AddAuditEntry(ctx context.Context, d core.AuditEntry) error {
	return p.m.Step("entry", func() error { return p.Store.AddAuditEntry(ctx, d) })
}

// A call that died anywhere leaves a submission with its request or neither, and made again is one
// submission with one request that runs. Redis is core/requests/intake's to test.
func TestSubmitThatDied(t *testing.T) {
	t.Parallel()
	for n := 0; ; n++ {
		w := newFixture(t)
		w.graded("hw1")
		ann := w.as("ann")
		h := newSubmission("hw1")
		h.Idempotency = "k1"
		m := &coretest.Mortal{Steps: n}
		_, err := (&classes.Service{Store: mortal{w.reg.Store, m}, Intake: w.reg.Intake, Blobs: w.reg.Blobs, Now: w.clock}).Submit(t.Context(), ann, h)
		all, listed := w.store.ListSubmissions(t.Context(), school.SubmissionFilter{})
		require.NoError(t, listed)
		rows, listed := w.store.List(t.Context(), core.Filter{})
		require.NoError(t, listed)
		require.Len(t, rows, len(all), "after %v", m.Names)
		s, again := w.reg.Submit(t.Context(), ann, h)
		require.NoError(t, again, "after %v", m.Names)
		rows, listed = w.store.List(t.Context(), core.Filter{})
		require.NoError(t, listed)
		require.Len(t, rows, 1, "after %v", m.Names)
		require.Equal(t, []string{rows[0].Spec.ID, rows[0].Spec.ID}, []string{s.ID, s.Request})
		_, swept := w.in.Sweep(t.Context())
		require.NoError(t, swept)
		w.grade(nil)
		v, viewed := w.reg.ViewSubmission(t.Context(), ann, s.ID)
		require.NoError(t, viewed)
		require.Equal(t, classes.StatusCompleted, v.Status, "after %v", m.Names)
		if len(m.Names) < n {
			require.NoError(t, err)
			require.Equal(t, []string{"entry", "create"}, m.Names)
			return
		}
	}
}

// A newer submission takes the place of one that still waits.
func TestNewerSubmissionSupersedes(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	old, other := w.submit("ann", "hw1"), w.submit("cleo", "hw1")
	w.submit("ann", "hw1")
	v, err := w.reg.ViewSubmission(t.Context(), w.as("ann"), old.ID)
	require.NoError(t, err)
	assert.Equal(t, classes.StatusCancelled, v.Status)
	assert.Contains(t, v.Reason, "superseded")
	v, err = w.reg.ViewSubmission(t.Context(), w.as("cleo"), other.ID)
	require.NoError(t, err)
	assert.Equal(t, classes.StatusWaiting, v.Status)
}

// Who submits when too much waits is told so, and has submitted nothing.
func TestSubmitWhenFull(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	p := core.DefaultPool(pool)
	p.MaxWaiting = 1
	require.NoError(t, w.in.SetPool(t.Context(), p))
	w.graded("hw1")
	w.graded("hw2")
	w.submit("ann", "hw1")
	requireCode(t, core.CodeFull, done(w.reg.Submit(t.Context(), w.as("ann"), newSubmission("hw2"))))
	all, err := w.reg.ListSubmissions(t.Context(), w.as("ann"), school.SubmissionFilter{Class: "cs101", User: "ann"})
	require.NoError(t, err)
	assert.Len(t, all, 1)
	rows, err := w.store.List(t.Context(), core.Filter{})
	require.NoError(t, err)
	assert.Len(t, rows, 1, "nor is there a request")
}
