package live

import (
	"context"
	"iter"
	"time"
	"unicode/utf8"

	"drover/core"
	"drover/core/requests"
)

// Kinds of events that only pages get. The others are those of core/requests.
const (
	kindChanged = "changed"
	kindEnd     = string(requests.EventEnd)
)

// waitingLook is how often a waiting request's page is rendered again: its place in the queue changes with others.
const waitingLook = 20 * time.Second

// The data of events.
type (
	stateData struct {
		State core.RequestState `json:"state"`
	}
	outputData struct {
		Stream string `json:"stream"`
		Text   string `json:"text"`
		Data   []byte `json:"data,omitempty"` // the bytes, if they are not valid text
	}
	gapData struct {
		Stream string `json:"stream"`
		Bytes  int64  `json:"bytes"` // 0 is not known
	}
	noData struct{}
)

// request is the source of a request's events for programs.
func (s *Streams) request(id string) source {
	return func(ctx context.Context, a core.Actor, last string) iter.Seq2[message, error] {
		return func(yield func(message, error) bool) {
			caughtUp := false
			for e, err := range s.Requests.Follow(ctx, a, id, last) {
				m := messageOf(e)
				if e.Kind == requests.EventAway || e.Kind == requests.EventIdle && !caughtUp {
					m.kind = string(e.Kind)
				}
				caughtUp = caughtUp || e.Kind == requests.EventIdle
				if !yield(m, err) {
					return
				}
			}
		}
	}
}

// messageOf converts an event for programs.
func messageOf(e requests.Event) message {
	m := message{id: e.ID, kind: string(e.Kind), data: noData{}}
	switch e.Kind {
	case requests.EventState, requests.EventEnd:
		m.data = stateData{e.State}
	case requests.EventOutput:
		out := outputData{Stream: e.Stream, Text: string(e.Data)}
		if !utf8.Valid(e.Data) {
			out.Data = e.Data
		}
		m.data = out
	case requests.EventGap:
		m.data = gapData{e.Stream, e.Bytes}
	case requests.EventReset:
	case requests.EventIdle, requests.EventAway, requests.EventTests:
		m.kind = ""
	}
	return m
}

// requestPage is the source of a request's page.
func (s *Streams) requestPage(id string) source {
	return func(ctx context.Context, a core.Actor, last string) iter.Seq2[message, error] {
		return func(yield func(message, error) bool) {
			waits, changed := false, time.Now()
			for e, err := range s.Requests.Follow(ctx, a, id, last) {
				m := messageOf(e)
				switch {
				case e.Kind == requests.EventState:
					waits = e.State == core.RequestQueued || e.State == core.RequestParked
					m.kind = kindChanged
				case e.Kind == requests.EventTests: // a testrunner tells of them once a second
					m.kind = kindChanged
				case m.kind == "" && err == nil && waits && time.Since(changed) >= waitingLook:
					m.kind = kindChanged
				}
				if m.kind == kindChanged {
					m.data, changed = noData{}, time.Now()
				}
				if !yield(m, err) {
					return
				}
			}
		}
	}
}

// submissionPage is the source of a page with the tests of a submission. Without tests there is none.
func (s *Streams) submissionPage(id string) source {
	return func(ctx context.Context, a core.Actor, last string) iter.Seq2[message, error] {
		return func(yield func(message, error) bool) {
			request, _, err := s.Classes.WatchSubmission(ctx, a, id)
			if err != nil {
				yield(message{}, err)
				return
			}
			if request != "" {
				s.requestPage(request)(ctx, a, last)(yield)
			}
		}
	}
}
