package requests_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/requests"
)

// stock makes a request one that drover grades by a cases.yaml itself.
func (w *fixture) stock(s *core.Spec) {
	w.t.Helper()
	digest, size, err := w.service.Blobs.Put(w.t.Context(), strings.NewReader("harness"), 100)
	require.NoError(w.t, err)
	s.Command = nil
	s.Harness, s.Input = &core.File{Path: "harness", Digest: digest, Size: size}, []byte(`{"drover/stock":"cases"}`)
}

func (w *fixture) mark(c core.Claim, marks string) {
	w.t.Helper()
	require.NoError(w.t, w.service.Output.Append(w.t.Context(), c.Key, c.Token, []core.OutputChunk{{Stream: core.StreamTests, Data: []byte(marks)}}))
}

// Tests that ended are told to everybody who will see the result, also if they see no output. The next attempt begins
// anew.
func TestMarksAreTold(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.watch()
	s := w.submit("ann", grading("cs101/hw1"), w.stock)
	status := func(who string) []core.Mark {
		t.Helper()
		at, err := w.service.Status(t.Context(), as(who), s.ID)
		require.NoError(t, err)
		return at.Tests
	}
	c := w.claim()
	w.run(c)
	require.Empty(t, status("ann"))
	steps := []func(){
		func() { w.print(c, "hidden: accepted\n"); w.mark(c, "F.") },
		func() { w.mark(c, "F.") }, // nothing new: not told
		func() { w.print(c, "two: accepted\n"); w.mark(c, "Fx") },
		func() { w.end(c) },
	}
	var got []string
	for e, err := range w.service.Follow(t.Context(), as("ann"), s.ID, "") {
		require.NoError(t, err)
		if e.Kind != requests.EventIdle {
			got = append(got, text(e))
			continue
		}
		if len(steps) > 0 {
			if len(steps) == 2 {
				require.Equal(t, []core.Mark{{Outcome: core.ResultFull, Hidden: true}, {Outcome: core.ResultWaiting}}, status("ann"))
				require.Len(t, status("tess"), 2)
			}
			steps[0]()
			steps = steps[1:]
		}
	}
	require.Equal(t, []string{"state running", "tests ", "tests ", "end completed"}, got)
	require.Empty(t, status("ann"), "the result has them")
}

func TestMarksOfALostAttemptAreGone(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	s := w.submit("ann", grading("cs101/hw1"), w.stock)
	c := w.claim()
	w.run(c)
	w.mark(c, "fx.")
	c2 := w.retry(c)
	at, err := w.service.Status(t.Context(), as("ann"), s.ID)
	require.NoError(t, err)
	require.Empty(t, at.Tests)
	w.mark(c, "fff") // a zombie's
	w.mark(c2, "...")
	at, err = w.service.Status(t.Context(), as("ann"), s.ID)
	require.NoError(t, err)
	require.Equal(t, core.ReadMarks([]byte("...")), at.Tests)
}

// A harness of one's own has no marks, whatever comes out of its VM.
func TestMarksAreNotForOtherHarnesses(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.watch()
	s := w.submit("ann", grading("cs101/hw1"), w.stock, func(s *core.Spec) { s.Input = []byte(`{}`) })
	c := w.claim()
	w.run(c)
	w.mark(c, "ff")
	at, err := w.service.Status(t.Context(), as("ann"), s.ID)
	require.NoError(t, err)
	assert.Empty(t, at.Tests)
	w.end(c)
	for _, e := range w.follow("tess", s.ID, "") {
		assert.NotEqual(t, requests.EventTests, e.Kind)
		assert.NotContains(t, string(e.Data), "ff")
	}
}
