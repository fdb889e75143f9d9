package access

import (
	"context"
	"io"
	"iter"

	"drover/core"
	"drover/core/harness/explain"
	"drover/core/requests"
)

func (s *Session) SubmitRequest(ctx context.Context, draft requests.Draft) (requests.View, error) {
	v, _, err := s.Requests().Submit(ctx, s.Actor, draft)
	return v, err
}

func (s *Session) PreviewRequest(ctx context.Context, draft requests.Draft) (requests.Preview, error) {
	return s.Requests().Preview(ctx, s.Actor, draft)
}

func (s *Session) ViewRequest(ctx context.Context, id string) (requests.View, error) {
	return s.Requests().View(ctx, s.Actor, id)
}

func (s *Session) ListRequests(ctx context.Context, f requests.Filter) ([]requests.View, error) {
	page, err := s.Requests().List(ctx, s.Actor, f)
	return page.Items, err
}

func (s *Session) Attempts(ctx context.Context, id string) ([]core.Attempt, error) {
	return s.Requests().Attempts(ctx, s.Actor, id)
}

func (s *Session) OpenRequestFile(ctx context.Context, id, path string) (core.File, io.ReadCloser, error) {
	return s.Requests().OpenFile(ctx, s.Actor, id, path)
}

func (s *Session) CancelRequest(ctx context.Context, id string) (core.RequestState, error) {
	return s.Requests().Cancel(ctx, s.Actor, id)
}

func (s *Session) ChangeRequest(ctx context.Context, id string, to core.Change) (requests.View, error) {
	return s.Requests().Change(ctx, s.Actor, id, to)
}

func (s *Session) DeleteRequest(ctx context.Context, id string) (bool, error) {
	return s.Requests().Remove(ctx, s.Actor, id)
}

func (s *Session) RerunRequest(ctx context.Context, id string) (requests.View, error) {
	return s.Requests().Rerun(ctx, s.Actor, id)
}

func (s *Session) ReplayRequest(ctx context.Context, id string, o requests.ReplayOptions) (requests.View, error) {
	v, _, err := s.Requests().Replay(ctx, s.Actor, id, o)
	return v, err
}

func (s *Session) CompareRequest(ctx context.Context, id string) (requests.Comparison, error) {
	return s.Requests().Compare(ctx, s.Actor, id)
}

func (s *Session) ExplainRequest(ctx context.Context, id string) ([]string, error) {
	lines, err := s.Requests().Explain(ctx, s.Actor, id)
	return explain.English(lines), err
}

func (s *Session) WhyRequestWaits(ctx context.Context, id string) (*requests.Waiting, error) {
	return s.Requests().Waiting(ctx, s.Actor, id)
}

func (s *Session) FollowRequest(ctx context.Context, id, last string) iter.Seq2[requests.Event, error] {
	return s.follow(ctx, s.Actor, id, last)
}

func (s *Session) SubmitBatch(ctx context.Context, draft requests.BatchDraft) (requests.BatchView, error) {
	v, _, err := s.Requests().SubmitBatch(ctx, s.Actor, draft)
	return v, err
}

func (s *Session) ViewBatch(ctx context.Context, id string) (requests.BatchView, error) {
	return s.Requests().ViewBatch(ctx, s.Actor, id)
}

func (s *Session) ListBatches(ctx context.Context, f core.BatchFilter) ([]requests.BatchView, error) {
	var all []requests.BatchView
	for limit := f.Limit; ; f.Limit = limit - len(all) {
		page, err := s.Requests().ListBatches(ctx, s.Actor, f)
		all, f.Before = append(all, page.Items...), page.Next
		if err != nil || f.Before == "" || len(all) >= limit {
			return all, err
		}
	}
}

func (s *Session) BatchResults(ctx context.Context, id string, from, limit int) (requests.ResultPage, error) {
	return s.Requests().BatchResults(ctx, s.Actor, id, from, limit)
}

func (s *Session) CancelBatch(ctx context.Context, id string) (requests.BatchView, error) {
	return s.Requests().CancelBatch(ctx, s.Actor, id)
}

func (s *Session) RerunBatch(ctx context.Context, id, key string) (requests.BatchView, error) {
	v, _, err := s.Requests().RerunBatch(ctx, s.Actor, id, key)
	return v, err
}
