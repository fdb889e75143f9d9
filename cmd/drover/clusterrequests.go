package main

import (
	"context"
	"io"
	"iter"

	"drover/core"
	"drover/core/requests"
)

func (s *session) SubmitRequest(ctx context.Context, draft requests.Draft) (requests.View, error) {
	v, _, err := s.requests().Submit(ctx, s.actor, draft)
	return v, err
}

func (s *session) ViewRequest(ctx context.Context, id string) (requests.View, error) {
	return s.requests().View(ctx, s.actor, id)
}

func (s *session) ListRequests(ctx context.Context, f requests.Filter) ([]requests.View, error) {
	page, err := s.requests().List(ctx, s.actor, f)
	return page.Items, err
}

func (s *session) Attempts(ctx context.Context, id string) ([]core.Attempt, error) {
	return s.requests().Attempts(ctx, s.actor, id)
}

func (s *session) OpenRequestFile(ctx context.Context, id, path string) (core.File, io.ReadCloser, error) {
	return s.requests().OpenFile(ctx, s.actor, id, path)
}

func (s *session) CancelRequest(ctx context.Context, id string) (core.RequestState, error) {
	return s.requests().Cancel(ctx, s.actor, id)
}

func (s *session) RerunRequest(ctx context.Context, id string) (requests.View, error) {
	return s.requests().Rerun(ctx, s.actor, id)
}

func (s *session) WhyRequestWaits(ctx context.Context, id string) (*requests.Waiting, error) {
	return s.requests().Waiting(ctx, s.actor, id)
}

func (s *session) FollowRequest(ctx context.Context, id, last string) iter.Seq2[requests.Event, error] {
	return s.follow(ctx, s.actor, id, last)
}

// run submits a request, waits for its end and returns its result.
func (s *session) run(ctx context.Context, draft requests.Draft) (*core.Result, error) {
	v, err := s.SubmitRequest(ctx, draft)
	if err != nil {
		return nil, err
	}
	if err := newFollower(s, v.ID).follow(ctx); err != nil {
		return nil, err
	}
	v, err = s.ViewRequest(ctx, v.ID)
	return &v.Result, err
}
