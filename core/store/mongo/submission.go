package mongo

import (
	"context"

	"drover/core"
	"drover/core/store/bounds"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// submission is the document of a submission.
type submission struct {
	ID          string `bson:"_id"`
	Class       string `bson:"class"`
	Assignment  string `bson:"assignment"`
	User        string `bson:"user"`
	Once        string `bson:"once,omitempty"` // user and idempotency key
	Idempotency string `bson:"idempotency,omitempty"`
	Request     string `bson:"request,omitempty"`
	Grade       string `bson:"grade,omitempty"` // JSON
	JSON        string `bson:"json"`            // of what it was at first
}

// read returns the submission itself.
func (d *submission) read() (core.Submission, error) {
	var sub core.Submission
	if err := decode(d.JSON, &sub, d.ID); err != nil {
		return core.Submission{}, err
	}
	sub.Idempotency, sub.Request = d.Idempotency, d.Request
	if d.Grade == "" {
		return sub, nil
	}
	sub.Grade = &core.Grade{}
	return sub, decode(d.Grade, sub.Grade, d.ID)
}

// CreateSubmission makes a submission durable, see core.Submissions.
func (s *Store) CreateSubmission(ctx context.Context, sub core.Submission) (core.Submission, bool, error) {
	doc, err := bounds.Submission(sub)
	if err != nil {
		return core.Submission{}, false, err
	}
	if there, found, err := s.handed(ctx, &sub); err != nil || found {
		return there, false, err
	}
	if sub.Request != "" {
		n, err := s.count(ctx, requests, madeFor(sub.Request, sub.ID), 1)
		if err != nil {
			return core.Submission{}, false, err
		}
		if n == 0 {
			return core.Submission{}, false, first(s.takes(ctx, sub.Class, sub.Assignment, sub.User), noRequestFor(sub.ID, sub.Request))
		}
	}
	is, err := s.hang(ctx, submissions, sub.ID, sub.Class, sub.Assignment, sub.User, func() (bool, error) {
		return s.insert(ctx, submissions, submission{
			ID: sub.ID, Class: sub.Class, Assignment: sub.Assignment, User: sub.User, Once: once(sub.User, sub.Idempotency),
			Idempotency: sub.Idempotency, Request: sub.Request, JSON: string(doc),
		})
	})
	if err != nil {
		return core.Submission{}, false, err
	}
	if !is {
		return s.CreateSubmission(ctx, sub) // somebody was faster
	}
	if sub.Request == "" {
		return sub, true, nil
	}
	if err := s.keep(ctx, sub.ID, sub.Request); core.Is(err, core.CodeNotFound) { // purged meanwhile
		_, failed := s.remove(ctx, submissions, m{"_id": sub.ID})
		return core.Submission{}, false, first(failed, err)
	} else if err != nil {
		return core.Submission{}, false, err
	}
	return sub, true, nil
}

// handed returns the submission that is there instead of sub, if one is. Returns
// CONFLICT if its id is another one's.
func (s *Store) handed(ctx context.Context, sub *core.Submission) (core.Submission, bool, error) {
	ways := []m{{"_id": sub.ID}}
	if key := once(sub.User, sub.Idempotency); key != "" {
		ways = []m{{"once": key}, {"_id": sub.ID}}
	}
	for _, which := range ways {
		doc, found, err := one[submission](ctx, s, submissions, which)
		if err != nil {
			return core.Submission{}, false, err
		}
		if !found {
			continue
		}
		there, err := doc.read()
		if err == nil && which["_id"] != nil && !bounds.SameSubmission(there, *sub) {
			return core.Submission{}, false, core.Errorf(core.CodeConflict, sub.ID, "submission id %s is taken by another submission: make a new id", sub.ID)
		}
		if err == nil && there.Request != "" { // the first call may have been broken off before it did
			if err = s.keep(ctx, there.ID, there.Request); core.Is(err, core.CodeNotFound) {
				err = nil
			}
		}
		return there, true, err
	}
	return core.Submission{}, false, nil
}

// madeFor matches a request that was made for a submission.
func madeFor(request, submission string) m {
	return m{"_id": request, "submission": submission, "state": m{"$ne": gone}}
}

// keep takes a request out of the reach of purges. Returns NOTFOUND if it was not
// made for the submission.
func (s *Store) keep(ctx context.Context, id, request string) error {
	is, err := s.change(ctx, requests, madeFor(request, id), m{"$set": m{"kept": true}})
	if err == nil && !is {
		err = noRequestFor(id, request)
	}
	return err
}

func noRequestFor(id, request string) error {
	return core.Errorf(core.CodeNotFound, request, "there is no request %s that was made for submission %s", request, id)
}

// GetSubmission returns a submission, see core.Submissions.
func (s *Store) GetSubmission(ctx context.Context, id string) (core.Submission, error) {
	doc, found, err := one[submission](ctx, s, submissions, m{"_id": id})
	if err == nil && !found {
		err = noSubmission(id)
	}
	if err != nil {
		return core.Submission{}, err
	}
	return doc.read()
}

func noSubmission(id string) error {
	return core.Errorf(core.CodeNotFound, id, "there is no submission %s: see drover assignment submissions", id)
}

// Bind makes another request count, see core.Submissions. Of several at once that
// lose, the requests are spared by purges too, until their submission goes.
func (s *Store) Bind(ctx context.Context, id, from, to string) (bool, error) {
	if err := core.CheckName("request id", to); err != nil {
		return false, err
	}
	sub, err := s.GetSubmission(ctx, id)
	if err != nil || sub.Request != from {
		return false, err
	}
	if err := s.keep(ctx, id, to); err != nil {
		return false, err
	}
	which := m{"_id": id, "request": absent}
	if from != "" {
		which["request"] = from
	}
	return s.change(ctx, submissions, which, m{"$set": m{"request": to}})
}

// SetGrade sets or removes a grade, see core.Submissions.
func (s *Store) SetGrade(ctx context.Context, id string, g *core.Grade) error {
	if err := bounds.Grade(id, g); err != nil {
		return err
	}
	how := m{"$unset": m{"grade": ""}}
	if g != nil {
		doc, err := encode(g, id)
		if err != nil {
			return err
		}
		how = m{"$set": m{"grade": doc}}
	}
	is, err := s.change(ctx, submissions, m{"_id": id}, how)
	if err == nil && !is {
		err = noSubmission(id)
	}
	return err
}

// DeleteSubmissions removes submissions of an assignment, see core.Submissions.
func (s *Store) DeleteSubmissions(ctx context.Context, class, assignment string, limit int) (removed, left int, err error) {
	if err := bounds.Page(limit); err != nil {
		return 0, 0, err
	}
	for after := ""; ; {
		page, err := some[submission](ctx, s, submissions, m{"class": class, "assignment": assignment, "_id": m{"$gt": after}}, by("_id"), purgeBatch, "_id")
		if err != nil || len(page) == 0 {
			return removed, left, err
		}
		ids := make([]string, len(page))
		for i, sub := range page {
			ids[i] = sub.ID
		}
		after = ids[len(ids)-1]
		free, err := s.notAwaited(ctx, ids)
		if err != nil {
			return removed, 0, err
		}
		left += len(ids) - len(free)
		n, err := s.deleteSubmissions(ctx, free[:min(len(free), limit-removed)])
		removed += n
		if err != nil {
			return removed, 0, err
		}
	}
}

// notAwaited returns the submissions without a request that has not ended.
func (s *Store) notAwaited(ctx context.Context, ids []string) ([]string, error) {
	open, err := some[request](ctx, s, requests, m{"submission": m{"$in": ids}, "state": core.RequestQueued}, nil, 0, "submission")
	awaited := map[string]bool{}
	for _, r := range open {
		awaited[r.Submission] = true
	}
	var free []string
	for _, id := range ids {
		if !awaited[id] {
			free = append(free, id)
		}
	}
	return free, err
}

// deleteSubmissions deletes submissions with all requests that were made for them. One whose
// request was run again meanwhile stays, for the next call.
func (s *Store) deleteSubmissions(ctx context.Context, ids []string) (int, error) {
	if len(ids) == 0 {
		return 0, nil
	}
	theirs := m{"submission": m{"$in": ids}}
	if err := s.changeAll(ctx, requests, m{"submission": m{"$in": ids}, "state": m{"$nin": bson.A{core.RequestQueued, gone}}}, leave); err != nil {
		return 0, err
	}
	for {
		n, err := s.sweep(ctx, theirs, purgeBatch)
		if err != nil {
			return 0, err
		}
		if n < purgeBatch {
			break
		}
	}
	free, err := s.notAwaited(ctx, ids)
	if err != nil {
		return 0, err
	}
	return s.remove(ctx, submissions, m{"_id": m{"$in": free}})
}
