package mongo

import (
	"context"

	"drover/core"
	"drover/core/school"
	"drover/core/store/bounds"

	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// ListSubmissions returns a page of submissions, see school.Submissions.
func (s *Store) ListSubmissions(ctx context.Context, f school.SubmissionFilter) ([]school.Standing, error) {
	limit, err := bounds.Submissions(f)
	if err != nil {
		return nil, err
	}
	which := selection(map[string]string{"class": f.Class, "assignment": f.Assignment, "user": f.User, "once": once(f.User, f.Idempotency)})
	if f.Before != "" {
		which["_id"] = m{"$lt": f.Before}
	}
	docs, err := some[submission](ctx, s, submissions, which, by("-_id"), limit)
	if err != nil {
		return nil, err
	}
	return s.standings(ctx, docs)
}

// Standings returns each user's newest submission, see school.Submissions.
func (s *Store) Standings(ctx context.Context, class, assignment, after string, limit int) ([]school.Standing, error) {
	if err := bounds.Rows(limit); err != nil {
		return nil, err
	}
	ids, err := s.newest(ctx, m{"class": class, "assignment": assignment, "user": m{"$gt": after}}, limit)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	docs, err := some[submission](ctx, s, submissions, m{"_id": m{"$in": ids}}, by("user"), 0)
	if err != nil {
		return nil, err
	}
	return s.standings(ctx, docs)
}

// newest returns the ids of the newest submissions of the first users, at most limit. It reads only as much of an
// index as it needs.
func (s *Store) newest(ctx context.Context, which m, limit int) ([]string, error) {
	var ids []string
	err := s.call(ctx, func(ctx context.Context) error {
		opts := options.Find().SetProjection(only([]string{"user"})).SetSort(by("user", "-_id"))
		cursor, err := s.in(submissions).Find(ctx, which, opts)
		if err != nil {
			return err
		}
		defer func() { _ = cursor.Close(ctx) }()
		for last := ""; len(ids) < limit && cursor.Next(ctx); {
			var doc submission
			if err := cursor.Decode(&doc); err != nil {
				return err
			}
			if doc.User != last {
				ids, last = append(ids, doc.ID), doc.User
			}
		}
		return cursor.Err()
	})
	return ids, err
}

// standings adds state and score to submissions.
func (s *Store) standings(ctx context.Context, docs []submission) ([]school.Standing, error) {
	var named []string
	for _, doc := range docs {
		if doc.Request != "" {
			named = append(named, doc.Request)
		}
	}
	results := map[string]request{}
	if len(named) > 0 {
		found, err := some[request](ctx, s, requests, m{"_id": m{"$in": named}, "state": m{"$ne": gone}}, nil, 0,
			"submission", "state", "blame", "score", "max_score")
		if err != nil {
			return nil, err
		}
		for _, r := range found {
			results[r.ID] = r
		}
	}
	var all []school.Standing
	for _, doc := range docs {
		sub, err := doc.read()
		if err != nil {
			return nil, err
		}
		r, is := results[sub.Request]
		if !is || r.Submission != sub.ID {
			r = request{}
		}
		if r.State == "" && doc.Unmade != "" {
			r.State = core.RequestQueued
		}
		all = append(all, sub.Standing(r.State, r.Blame, r.Score, r.MaxScore))
	}
	return all, nil
}
