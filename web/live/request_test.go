package live_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
	"drover/core/requests"
)

func TestAPageFollowsARequest(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Mini(t))
	spec := w.submit("rosa")
	path := "/events/requests/" + spec.ID
	s := w.open("rosa", path, "")
	require.Equal(t, "changed", s.next())
	c := w.claim()
	s.until("changed")
	w.print(c, "one\n", "caf\xc3", "\xa9")
	require.Equal(t, []string{`output {"stream":"stdout","text":"one\n"}`, `output {"stream":"stdout","text":"caf"}`}, s.outputUntil(`output {"stream":"stdout","text":"caf"}`))
	at := s.last
	require.Equal(t, []string{`output {"stream":"stdout","text":"é"}`}, s.outputUntil(`output {"stream":"stdout","text":"é"}`))
	w.end(c)
	require.Equal(t, []string{`end {"state":"completed"}`}, s.outputUntil(`end {"state":"completed"}`))
	require.Empty(t, s.next(), "it is over")
	require.Equal(t, http.StatusNoContent, w.status("rosa", path, s.last))

	again := w.open("rosa", path, at)
	require.Equal(t, []string{`output {"stream":"stdout","text":"é"}`, `end {"state":"completed"}`}, again.until(`end {"state":"completed"}`))
	again = w.open("rosa", path+"?after="+at, "")
	require.Equal(t, `output {"stream":"stdout","text":"é"}`, again.next(), "a page that begins anew cannot set the header")
}

func TestAProgramFollowsARequest(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Mini(t))
	spec := w.submit("rosa")
	c := w.claim()
	w.print(c, "one\n", "two\n")
	var got []string
	last := ""
	for e, err := range w.client("rosa").FollowRequest(t.Context(), spec.ID, "") {
		require.NoError(t, err)
		got, last = append(got, fmt.Sprintf("%s %s%s%q", e.Kind, e.State, e.Stream, e.Data)), e.ID
		if e.Kind == requests.EventIdle {
			w.print(c, "\xff\x00")
			w.end(c)
		}
	}
	require.Equal(t, []string{
		`state claimed""`, `output stdout"one\n"`, `output stdout"two\n"`, `idle ""`, `output stdout"\xff\x00"`, `end completed""`,
	}, got)
	for range w.client("rosa").FollowRequest(t.Context(), spec.ID, last) {
		require.Fail(t, "the end is told once")
	}
	for _, err := range w.client("ann").FollowRequest(t.Context(), spec.ID, "") {
		require.Equal(t, core.CodeNotFound, core.CodeOf(err), "%v", err)
	}
}

// A page is rendered again as tests end, for those who see no output as well; programs are told of the result alone.
func TestPagesHearOfTests(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Mini(t))
	sub := w.graded(false, w.stock)
	path := "/events/submissions/" + sub.ID
	c := w.claim()
	page := w.open("ann", path, "")
	require.Equal(t, "changed", page.next())
	mark := func(marks string) {
		t.Helper()
		require.NoError(t, w.cluster.Store.Append(t.Context(), c.Key, c.Token, []core.OutputChunk{{Stream: core.StreamTests, Data: []byte(marks)}}))
	}
	mark("f.")
	require.Equal(t, "changed", page.next())
	var got []requests.EventKind
	for e, err := range w.client("ann").FollowRequest(t.Context(), sub.Request, "") {
		require.NoError(t, err)
		if got = append(got, e.Kind); e.Kind == requests.EventIdle {
			mark("fx")
			require.Equal(t, "changed", page.next())
			w.end(c)
		}
	}
	require.NotContains(t, got, requests.EventTests)
	require.Equal(t, requests.EventEnd, got[len(got)-1])
	require.Equal(t, `end {"state":"completed"}`, page.next())
}

// stock makes a request one that drover grades by a cases.yaml itself.
func (w *fixture) stock(s *core.Spec) {
	w.t.Helper()
	digest, size, err := w.in.Blobs.Put(w.t.Context(), strings.NewReader("harness"), 100)
	require.NoError(w.t, err)
	s.Command = nil
	s.Harness, s.Input = &core.File{Path: "harness", Digest: digest, Size: size}, []byte(`{"drover/stock":"cases"}`)
}
