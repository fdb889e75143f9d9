package mongo

import (
	"context"

	"drover/core"
	"drover/core/school"
	"drover/core/store/bounds"
)

// ListSubmissions returns a page of submissions, see school.Submissions.
func (s *Store) ListSubmissions(ctx context.Context, f school.SubmissionFilter) ([]school.Standing, error) {
	limit, err := bounds.Submissions(f)
	if err != nil {
		return nil, err
	}
	which := selection(map[string]string{"class": f.Class, "assignment": f.Assignment, "user": f.User, "once": once(f.User, f.Idempotency)})
	of := m{}
	if f.Before != "" {
		of["$lt"] = f.Before
	}
	if f.Asked {
		asked, err := s.asked(ctx, f)
		if err != nil {
			return nil, err
		}
		of["$in"] = asked
	}
	if len(of) > 0 {
		which["_id"] = of
	}
	docs, err := some[submission](ctx, s, submissions, which, by("-_id"), limit)
	if err != nil {
		return nil, err
	}
	return s.standings(ctx, docs)
}

// Standings returns each user's submission that counts, see school.Submissions.
func (s *Store) Standings(ctx context.Context, class, assignment, after string, limit int) ([]school.Standing, error) {
	if err := bounds.Rows(limit); err != nil {
		return nil, err
	}
	if err := s.weighMarked(ctx, class); err != nil {
		return nil, err
	}
	leading, err := some[lead](ctx, s, leads, m{"class": class, "assignment": assignment, "user": m{"$gt": after}}, by("user"), limit, "submission")
	if err != nil || len(leading) == 0 {
		return nil, err
	}
	ids := make([]string, len(leading))
	for i := range leading {
		ids[i] = leading[i].Submission
	}
	docs, err := some[submission](ctx, s, submissions, m{"_id": m{"$in": ids}}, by("user"), 0)
	if err != nil {
		return nil, err
	}
	return s.standings(ctx, docs)
}

// results returns the results of the submissions' requests, by request.
func (s *Store) results(ctx context.Context, docs []submission) (map[string]request, error) {
	var named []string
	for _, doc := range docs {
		if doc.Request != "" {
			named = append(named, doc.Request)
		}
	}
	results := map[string]request{}
	if len(named) == 0 {
		return results, nil
	}
	found, err := some[request](ctx, s, requests, m{"_id": m{"$in": named}, "state": m{"$ne": gone}}, nil, 0,
		"submission", "state", "blame", "outcome", "score", "max_score")
	for _, r := range found {
		results[r.ID] = r
	}
	return results, err
}

// result returns the result that counts for a submission, of those of results.
func (d *submission) result(results map[string]request) request {
	r, is := results[d.Request]
	if !is || r.Submission != d.ID {
		r = request{}
	}
	if r.State == "" && d.Unmade != "" {
		r.State = core.RequestQueued
	}
	return r
}

// standings adds state and score to submissions.
func (s *Store) standings(ctx context.Context, docs []submission) ([]school.Standing, error) {
	results, err := s.results(ctx, docs)
	if err != nil {
		return nil, err
	}
	var all []school.Standing
	for _, doc := range docs {
		sub, err := doc.read()
		if err != nil {
			return nil, err
		}
		r := doc.result(results)
		all = append(all, sub.Standing(r.State, r.Blame, r.Outcome, r.Score, r.MaxScore))
	}
	return all, nil
}
