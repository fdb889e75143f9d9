package api

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"drover/core"
	"drover/core/school"
)

func eventTable() []entry {
	return []entry{
		is(Operation{"followRequest", get, "/requests/{id}/events", core.ActRequestView, school.ScopeRead, 0, "Follow a request until it has ended, as Server-Sent Events: state, output, gap, reset, end"}, (*server).followRequest),
	}
}

// stream is the answer with events.
type stream struct{ Body func(huma.Context) }

func (s *server) followRequest(ctx context.Context, _ core.Actor, in *struct {
	One
	Last string `header:"Last-Event-ID" maxLength:"200" doc:"continue after this event; without it from the beginning"`
},
) (*stream, error) {
	e := exchanged(ctx)
	st, err := s.Live.Request(e.r, in.ID)
	if err != nil {
		return nil, err
	}
	return &stream{func(huma.Context) { st.Serve(e.w) }}, nil
}
