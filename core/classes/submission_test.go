package classes_test

import (
	"archive/zip"
	"bytes"
	"io"
	"testing"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	for _, c := range []struct {
		state  core.RequestState
		blame  core.Blame
		status classes.Status
		says   string
		again  bool // its owner may resubmit
	}{
		{core.RequestCompleted, core.BlameNone, classes.StatusCompleted, "", false},
		{core.RequestFailed, core.BlameHarness, classes.StatusFailed, "harness crashed", true},
		{core.RequestFailed, core.BlameSubmission, classes.StatusFailed, "mend it", true},
		{core.RequestFailed, core.BlamePlatform, classes.StatusFailed, "not the fault", true},
		{core.RequestDead, core.BlamePlatform, classes.StatusFailed, "not the fault", true},
		{core.RequestTimedOut, core.BlamePlatform, classes.StatusTimedOut, "not the fault", true},
		{core.RequestTimedOut, core.BlameHarness, classes.StatusTimedOut, "harness crashed", true},
		{core.RequestCancelled, core.BlameNone, classes.StatusCancelled, "stopped", true},
	} {
		s := w.submit("ann", "hw1")
		w.grade(func(r *core.Result) { r.State, r.Blame, r.Reason = c.state, c.blame, "so it was" })
		v, err := w.reg.ViewSubmission(t.Context(), w.as("ann"), s.ID)
		require.NoError(t, err)
		assert.Equal(t, c.status, v.Status, "%s", c.state)
		assert.Equal(t, c.blame, v.Blame)
		assert.Equal(t, c.again, v.Resubmit, "%s", c.state)
		assert.Contains(t, v.Explanation, c.says)
		assert.Equal(t, "so it was", v.Reason)
	}
}

func TestResubmit(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	w.graded("hw1")
	s := w.submit("ann", "hw1")
	ann, tess := w.as("ann"), w.as("tess")
	requireCode(t, core.CodeConflict, w.reg.Resubmit(ctx, ann, s.ID)) // it waits
	w.grade(func(r *core.Result) { r.State, r.Blame = core.RequestFailed, core.BlameHarness })
	require.NoError(t, w.reg.Resubmit(ctx, ann, s.ID))
	w.grade(nil)
	requireCode(t, core.CodeConflict, w.reg.Resubmit(ctx, ann, s.ID)) // it was tested
	require.NoError(t, w.reg.Resubmit(ctx, tess, s.ID))
	row, err := w.store.Get(ctx, s.Request)
	require.NoError(t, err)
	assert.Equal(t, 3, row.Spec.Generation)
	w.grade(func(r *core.Result) { r.State, r.Blame = core.RequestFailed, core.BlameHarness })
	w.pass(2 * day)
	requireCode(t, core.CodeEnded, w.reg.Resubmit(ctx, ann, s.ID))
	v, err := w.reg.ViewSubmission(ctx, ann, s.ID)
	require.NoError(t, err)
	assert.False(t, v.Resubmit)
	require.NoError(t, w.reg.SetDeadline(ctx, tess, school.Deadline{Class: "cs101", Assignment: "hw1", User: "ann", Cutoff: theEnd + day}))
	require.NoError(t, w.reg.Resubmit(ctx, ann, s.ID))
}

func TestDownload(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	h := newSubmission("hw1")
	h.Files = files("main.py", "print()", "lib/a.py", "pass")
	s, err := w.reg.Submit(t.Context(), w.as("ann"), h)
	require.NoError(t, err)
	f, content, err := w.reg.OpenFile(t.Context(), w.as("ann"), s.ID, "lib/a.py")
	require.NoError(t, err)
	raw, err := io.ReadAll(content)
	require.NoError(t, err)
	require.NoError(t, content.Close())
	assert.Equal(t, "pass", string(raw))
	assert.EqualValues(t, 4, f.Size)
	_, _, err = w.reg.OpenFile(t.Context(), w.as("ann"), s.ID, "../main.py")
	requireCode(t, core.CodeNotFound, err)

	z, err := w.reg.OpenZip(t.Context(), w.as("tina"), s.ID)
	require.NoError(t, err)
	assert.Equal(t, "cs101-hw1-ann-2023-11-14-22-13-20.zip", z.Name)
	var out bytes.Buffer
	require.NoError(t, z.Write(t.Context(), &out))
	archive, err := zip.NewReader(bytes.NewReader(out.Bytes()), int64(out.Len()))
	require.NoError(t, err)
	got := map[string]string{}
	for _, f := range archive.File {
		r, err := f.Open()
		require.NoError(t, err)
		raw, err := io.ReadAll(r)
		require.NoError(t, err)
		got[f.Name] = string(raw)
	}
	assert.Equal(t, map[string]string{"main.py": "print()", "lib/a.py": "pass"}, got)
}

// What the harness prints is its staff's, unless the assignment shows it.
func TestOutputIsShownWhereItIs(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	as := w.graded("hw1")
	s := w.submit("ann", "hw1")
	w.grade(func(r *core.Result) { r.Stderr = "warned" })
	shows := func(who string) string {
		v, err := w.reg.ViewSubmission(t.Context(), w.as(who), s.ID)
		require.NoError(t, err)
		_, output, err := w.reg.WatchSubmission(t.Context(), w.as(who), s.ID)
		require.NoError(t, err)
		require.Equal(t, output, v.Result.Stdout != "", "what is told and what is watched agree")
		return v.Result.Stdout + v.Result.Stderr + v.Result.Host
	}
	require.Empty(t, shows("ann"))
	require.Equal(t, "hidden test 3warnedh1", shows("tina"))
	as.ShowOutput = true
	_, err := w.reg.Store.PutAssignment(t.Context(), as)
	require.NoError(t, err)
	require.Equal(t, "hidden test 3warned", shows("ann"), "where it ran is not hers to know")
}
