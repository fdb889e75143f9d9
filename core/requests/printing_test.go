package requests_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"drover/core"
	"drover/core/requests"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// attempt is one attempt at a request, and what it has printed.
type attempt struct {
	core.Claim
	whole map[string]string // by stream
	text  bool              // it is text
	lost  bool              // some of it
}

// prints has an attempt print something; what is lost never reaches Redis.
func (w *fixture) prints(a *attempt, stream, data string, lost bool) {
	w.t.Helper()
	chunk := core.OutputChunk{Stream: stream, Offset: int64(len(a.whole[stream])), Data: []byte(data)}
	a.whole[stream] += data
	if a.lost = a.lost || lost; !lost {
		require.NoError(w.t, w.service.Output.Append(w.t.Context(), a.Key, a.Token, []core.OutputChunk{chunk}))
	}
}

// ends records an attempt's end, with its output as a result has it.
func (w *fixture) ends(a *attempt) {
	w.t.Helper()
	last := core.OutputChunk{Stream: "end", Offset: int64(len(a.whole["stdout"]) + len(a.whole["stderr"]))}
	require.NoError(w.t, w.service.Output.Append(w.t.Context(), a.Key, a.Token, []core.OutputChunk{last}))
	w.end(a.Claim, func(r *core.Result) {
		r.Stdout, r.Stderr = strings.ToValidUTF8(a.whole["stdout"], "\ufffd"), strings.ToValidUTF8(a.whole["stderr"], "\ufffd")
	})
}

// reader is one who comes back again and again.
type reader struct {
	t    *rapid.T
	last string // id

	at     map[string]int // bytes of the attempt's streams that it has, or knows to be missing
	state  core.RequestState
	resets int
	ended  bool
}

// hears checks an event against the expected output.
func (r *reader) hears(a *attempt, e requests.Event) {
	require.False(r.t, r.ended, "nothing follows the end")
	switch r.last = e.ID; e.Kind {
	case requests.EventReset:
		r.at, r.state = map[string]int{}, ""
		r.resets++
	case requests.EventState:
		require.NotEqual(r.t, r.state, e.State, "told twice")
		r.state = e.State
	case requests.EventOutput:
		whole, at := a.whole[e.Stream], r.at[e.Stream]
		require.LessOrEqual(r.t, at+len(e.Data), len(whole))
		require.Equal(r.t, whole[at:at+len(e.Data)], string(e.Data), "%s at %d", e.Stream, at)
		r.at[e.Stream] += len(e.Data)
		if a.text && !a.lost {
			require.True(r.t, utf8.Valid(e.Data), "half a character: %q", e.Data)
		}
	case requests.EventGap:
		require.Positive(r.t, e.Bytes)
		r.at[e.Stream] += int(e.Bytes)
	case requests.EventEnd:
		r.ended = true
	case requests.EventIdle, requests.EventAway, requests.EventTests:
	}
}

// verse is what a program prints again and again, if it prints text.
const verse = "a\né世😀"

// goesOn is what an attempt prints next in a stream: n bytes, of which the last
// character may miss some; with n 0 those.
func (a *attempt) goesOn(stream string, n int) string {
	at := len(a.whole[stream]) % len(verse)
	if n == 0 {
		for n = 0; !utf8.ValidString((verse + verse)[:at+n]); n++ {
		}
	}
	return (verse + verse)[at : at+n]
}

// Whatever happens and wherever a reader breaks off, it has every byte and every state
// once and in order, and knows where some are missing.
func TestFollowTellsEachThingOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.service.Watch = &requests.Watch{}
	streams := rapid.SampledFrom([]string{"stdout", "stderr"})
	rapid.Check(t, func(rt *rapid.T) {
		spec, text, failed := w.submit("rosa"), rapid.Bool().Draw(rt, "text"), false
		a := &attempt{Claim: w.claim(), whole: map[string]string{}, text: text}
		r := &reader{t: rt, at: map[string]int{}}
		read := func() {
			testTimeout := rapid.IntRange(1, 12).Draw(rt, "breaks off after")
			for e, err := range w.service.Follow(t.Context(), as("rosa"), spec.ID, r.last) {
				require.NoError(rt, err)
				r.hears(a, e)
				if testTimeout--; testTimeout == 0 || e.Kind == requests.EventIdle {
					return
				}
			}
		}
		print := func(rt *rapid.T) {
			stream := streams.Draw(rt, "stream")
			if !text { // what is none is told as it is, as long as nothing is lost
				w.prints(a, stream, string(rapid.SliceOfN(rapid.Byte(), 1, 6).Draw(rt, "bytes")), false)
				return
			}
			w.prints(a, stream, a.goesOn(stream, rapid.IntRange(1, len(verse)).Draw(rt, "bytes")), rapid.IntRange(0, 4).Draw(rt, "lost") == 0)
		}
		rt.Repeat(map[string]func(*rapid.T){
			"print": print, "print more": print,
			"run":  func(*rapid.T) { w.run(a.Claim) },
			"read": func(*rapid.T) { read() },
			"fail": func(rt *rapid.T) {
				if failed {
					rt.Skip()
				}
				failed = true
				a = &attempt{Claim: w.retry(a.Claim), whole: map[string]string{}, text: text}
			},
		})
		if text {
			w.prints(a, "stdout", a.goesOn("stdout", 0), false)
			w.prints(a, "stderr", a.goesOn("stderr", 0), true)
		}
		w.ends(a)
		for !r.ended {
			read()
		}
		require.Empty(rt, w.follow("rosa", spec.ID, r.last))
		require.Equal(rt, len(a.whole["stdout"]), r.at["stdout"])
		require.Equal(rt, len(a.whole["stderr"]), r.at["stderr"])
	})
}

// Who comes late to what printed much is told how much of it is gone; at the end the
// result has it.
func TestFollowSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.watch()
	for name, ended := range map[string]bool{"while it runs": false, "at the end": true} {
		s := w.submit("rosa")
		a := &attempt{Claim: w.claim(), whole: map[string]string{}}
		for _, word := range []string{"one ", "two ", "three "} {
			w.prints(a, "stdout", word, false)
		}
		w.forget(a.Claim, 1)
		var got []string
		if ended {
			w.ends(a)
		}
		for e, err := range w.service.Follow(t.Context(), as("rosa"), s.ID, "") {
			require.NoError(t, err)
			if e.Kind == requests.EventIdle {
				w.ends(a)
			} else if got = append(got, text(e)); e.Kind == requests.EventGap {
				require.EqualValues(t, len("one two "), e.Bytes)
			}
		}
		want := []string{"state claimed", "gap stdout", "output stdoutthree ", "end completed"}
		if ended {
			want = []string{"output stdoutone two ", "output stdoutthree ", "end completed"}
		}
		require.Equal(t, want, got, name)
	}
}

// forget leaves only the last n pieces of a claim's live output, as its cap does.
func (w *fixture) forget(c core.Claim, n int64) {
	w.t.Helper()
	key := w.b.Options().Namespace + ":output:" + c.Key + ":" + c.Token
	require.NoError(w.t, w.b.Admin.XTrimMaxLen(w.t.Context(), key, n).Err())
}

// A result whose output is text differs in its bytes where the program printed none.
func TestFollowOfWhatIsNoText(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.service.Watch = &requests.Watch{}
	for name, lost := range map[string]bool{"all arrived": false, "the end was lost": true} {
		s := w.submit("rosa")
		a := &attempt{Claim: w.claim(), whole: map[string]string{}}
		w.prints(a, "stdout", "\xff\xfe\xfd a", false)
		if lost {
			w.prints(a, "stdout", " b", true)
		}
		w.ends(a)
		var got []string
		for _, e := range w.follow("rosa", s.ID, "") {
			got = append(got, text(e))
		}
		want := []string{"output stdout\xff\xfe\xfd a", "end completed"}
		if lost {
			want = []string{"output stdout\xff\xfe\xfd a", "gap stdout", "end completed"}
		}
		require.Equal(t, want, got, name)
	}
}
