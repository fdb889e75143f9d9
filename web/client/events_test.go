package client_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"drover/core"
	"drover/web/client"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

type answers = []func(*http.Request) (*http.Response, error)

func stream(text string) func(*http.Request) (*http.Response, error) {
	return says(http.StatusOK, "text/event-stream", text)
}

// breaks is a stream whose connection breaks off behind a text.
func breaks(text string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		answer, err := stream("")(r)
		answer.Body = io.NopCloser(io.MultiReader(strings.NewReader(text), &broken{}))
		return answer, err
	}
}

// hangs is a stream that says nothing more behind a text.
func hangs(text string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		answer, err := stream("")(r)
		answer.Body = io.NopCloser(io.MultiReader(strings.NewReader(text), &silent{r}))
		return answer, err
	}
}

type silent struct{ r *http.Request }

func (s *silent) Read([]byte) (int, error) {
	<-s.r.Context().Done()
	return 0, s.r.Context().Err()
}

func nothingMore() func(*http.Request) (*http.Response, error) {
	return says(http.StatusNoContent, "", "")
}

// heard are the events of a stream from behind last, in short, and how it ended.
func heard(t *testing.T, c *client.Client, last string) (all []string, err error) {
	t.Helper()
	for e, err := range c.FollowRequest(t.Context(), "r1", last) {
		if err != nil {
			return all, err
		}
		all = append(all, fmt.Sprintf("%s %s %s%s %q", e.ID, e.Kind, e.State, e.Stream, e.Data))
	}
	return all, nil
}

func TestEventsGoOnWhereTheyBrokeOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &site{answers: answers{
			breaks("retry: 2000\n\n: hello\n\nid: 1\nevent: state\ndata: {\"state\":\"running\"}\n\n" +
				"id: 2\nevent: output\ndata: {\"stream\":\"stderr\",\ndata: \"text\":\"a\\nb\"}\n\nid: 3\nevent: output\ndata: {\"te"),
			fails(errReset), problem(503, away),
			stream("id: 3\r\nevent: output\r\ndata: {\"stream\":\"stdout\",\"data\":\"/wA=\"}\r\n\r\n"), // and it ends
			hangs("id: 4\revent: reset\rdata:\r\r"), hangs("id: 5\ndata: {}\n\n"), nothingMore(),
		}}
		all, err := heard(t, asks(t, s), "0")
		require.NoError(t, err)
		assert.Equal(t, []string{`1 state running ""`, `2 output stderr "a\nb"`, `3 output stdout "\xff\x00"`, `4 reset  ""`, `5   ""`}, all)
		var from []string
		for _, r := range s.asked {
			assert.Equal(t, "/api/v1/requests/r1/events", r.URL.Path)
			from = append(from, r.Header.Get("Last-Event-ID"))
		}
		assert.Equal(t, []string{"0", "2", "2", "2", "3", "4", "5"}, from)
	})
}

func TestEventsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &site{answers: answers{breaks("id: 1\ndata: {}\n\n"), fails(errReset)}}
		began := time.Now()
		all, err := heard(t, asks(t, s), "")
		requireCode(t, core.CodeUnavailable, err)
		assert.Len(t, all, 1)
		assert.LessOrEqual(t, time.Since(began), 30*time.Second)

		s = &site{answers: answers{breaks("id: 1\ndata: {}\n\n"), problem(401, `{"code":"FORBIDDEN","detail":"it has expired"}`)}}
		_, err = heard(t, asks(t, s), "")
		requireCode(t, core.CodeForbidden, err)
		assert.True(t, client.SignedOut(err))

		s = &site{answers: answers{stream("data: " + strings.Repeat("x", 2<<20) + "\n\n")}}
		_, err = heard(t, asks(t, s), "")
		requireCode(t, core.CodeLimit, err)

		s = &site{answers: answers{stream(strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n", 2000) + "\n")}}
		_, err = heard(t, asks(t, s), "")
		requireCode(t, core.CodeLimit, err)

		s = &site{answers: answers{good(`{}`)}}
		_, err = heard(t, asks(t, s), "")
		requireCode(t, core.CodeVersion, err)

		s = &site{answers: answers{stream("id: 1\ndata: {}\n\n")}}
		for range asks(t, s).FollowRequest(t.Context(), "r1", "") {
			break
		}
		assert.Len(t, s.asked, 1, "nobody listens any more")

		s = &site{answers: answers{stream("id: 1\nevent: end\ndata: {\"state\":\"failed\"}\n\n")}}
		all, err = heard(t, asks(t, s), "")
		require.NoError(t, err)
		assert.Equal(t, []string{`1 end failed ""`}, all)
		assert.Len(t, s.asked, 1, "nothing follows")

		s = &site{answers: answers{stream("event: state\ndata: running\n\n")}}
		_, err = heard(t, asks(t, s), "")
		requireCode(t, core.CodeVersion, err)
	})
}

// Wherever connections break off, every event comes once and in order.
func TestEventsComeOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const n = 8
		event := func(i int) string {
			return fmt.Sprintf("id: %d\nevent: output\ndata: {\"text\":\"line %d\"}\n\n", i, i)
		}
		s := &site{}
		for range rapid.IntRange(1, 6).Draw(t, "connections") {
			at := rapid.IntRange(0, 500).Draw(t, "breaks at")
			s.answers = append(s.answers, func(r *http.Request) (*http.Response, error) {
				text, from := "", 0
				_, _ = fmt.Sscan(r.Header.Get("Last-Event-ID"), &from)
				for i := from + 1; i <= n; i++ {
					text += event(i)
				}
				return breaks(text[:min(at, len(text))])(r)
			})
		}
		s.answers = append(s.answers, func(r *http.Request) (*http.Response, error) {
			text, from := "", 0
			_, _ = fmt.Sscan(r.Header.Get("Last-Event-ID"), &from)
			if from == n {
				return nothingMore()(r)
			}
			for i := from + 1; i <= n; i++ {
				text += event(i)
			}
			return stream(text)(r)
		})
		c, err := client.New(client.Options{Server: "https://drover.example.org", Transport: s, Pause: time.Microsecond})
		require.NoError(t, err)
		next := 1
		for e, err := range c.FollowRequest(t.Context(), "r1", "") {
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint(next), e.ID)
			require.Equal(t, fmt.Sprintf("line %d", next), string(e.Data))
			next++
		}
		require.Equal(t, n+1, next)
	})
}
