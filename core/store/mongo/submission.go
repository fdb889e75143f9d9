package mongo

import (
	"cmp"
	"context"

	"drover/core"
	"drover/core/school"
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
	JSON        string `bson:"json"`            // as it was created

	Unmade unmade `bson:"unmade,omitempty"` // its request has no document yet
	Spec   string `bson:"spec,omitempty"`   // JSON of the request while it is not made
	Weigh  string `bson:"weigh,omitempty"`  // a mark, see lead
}

// unmade says which call makes the request of a submission that was stored without it.
type unmade string

const (
	unmadeFresh   unmade = "fresh"   // the call that submitted it, which may still remove the submission
	unmadeAdopted unmade = "adopted" // a call that found it; the submission stays
)

// read decodes the submission.
func (d *submission) read() (school.Submission, error) {
	var sub school.Submission
	if err := decode(d.JSON, &sub, d.ID); err != nil {
		return school.Submission{}, err
	}
	sub.Idempotency, sub.Request = d.Idempotency, d.Request
	if d.Grade == "" {
		return sub, nil
	}
	sub.Grade = &school.Grade{}
	return sub, decode(d.Grade, sub.Grade, d.ID)
}

// CreateSubmission makes a submission durable, see school.Submissions.
func (s *Store) CreateSubmission(ctx context.Context, sub school.Submission, grading *core.Spec) (school.Submission, bool, error) {
	doc, spec, err := bounds.Submission(sub, grading)
	if err != nil {
		return school.Submission{}, false, err
	}
	if there, found, err := s.handed(ctx, &sub); err != nil || found {
		return there, false, err
	}
	fresh := submission{
		ID: sub.ID, Class: sub.Class, Assignment: sub.Assignment, User: sub.User, Once: once(sub.User, sub.Idempotency),
		Idempotency: sub.Idempotency, Request: sub.Request, JSON: string(doc), Weigh: token(),
	}
	if grading != nil {
		n, err := s.count(ctx, requests, there(grading.ID), 1)
		if err == nil && n > 0 {
			err = cmp.Or(s.takes(ctx, sub.Class, sub.Assignment, sub.User), core.RequestTaken(grading.ID))
		}
		if err != nil {
			return school.Submission{}, false, err
		}
		fresh.Unmade, fresh.Spec = unmadeFresh, string(spec)
	}
	mine := m{"_id": sub.ID}
	if grading != nil {
		mine["unmade"] = unmadeFresh
	}
	is, err := s.hang(ctx, submissions, mine, sub.Class, sub.Assignment, sub.User, func() (bool, error) { return s.insert(ctx, submissions, fresh) })
	if err != nil {
		return school.Submission{}, false, err
	}
	if !is {
		return s.CreateSubmission(ctx, sub, grading) // another call was faster
	}
	if grading == nil {
		return sub, true, s.weighOne(ctx, sub.ID, school.Submitted, fresh.Weigh)
	}
	if err := s.makeRequest(ctx, &fresh); core.Is(err, core.CodeNotFound) { // assignment or user is being deleted
		return school.Submission{}, false, cmp.Or(s.takes(ctx, sub.Class, sub.Assignment, sub.User), err)
	} else if err != nil {
		return school.Submission{}, false, err
	}
	return sub, true, s.weighOne(ctx, sub.ID, school.Submitted, fresh.Weigh)
}

// handed returns the existing submission of sub's id or idempotency key, if there is one. Returns CONFLICT if the id
// belongs to another submission.
func (s *Store) handed(ctx context.Context, sub *school.Submission) (school.Submission, bool, error) {
	ways := []m{{"_id": sub.ID}}
	if key := once(sub.User, sub.Idempotency); key != "" {
		ways = []m{{"once": key}, {"_id": sub.ID}}
	}
	for _, which := range ways {
		doc, found, err := one[submission](ctx, s, submissions, which)
		if err != nil {
			return school.Submission{}, false, err
		}
		if !found {
			continue
		}
		there, err := doc.read()
		if err == nil && which["_id"] != nil && !bounds.SameSubmission(there, *sub) {
			return school.Submission{}, false, school.SubmissionTaken(sub.ID)
		}
		if err == nil && doc.Unmade != "" { // the first call was interrupted
			err = s.settle(ctx, m{"_id": doc.ID})
		}
		return there, true, err
	}
	return school.Submission{}, false, nil
}

// madeFor matches a request that was made for a submission.
func madeFor(request, submission string) m {
	return m{"_id": request, "submission": submission, "state": m{"$ne": gone}}
}

// keep makes purges spare a request. Returns NOTFOUND if the request was not made for the submission.
func (s *Store) keep(ctx context.Context, id, request string) error {
	is, err := s.change(ctx, requests, madeFor(request, id), m{"$set": m{"kept": true}})
	if err == nil && !is {
		err = school.NoRequestFor(request, id)
	}
	return err
}

// GetSubmission returns a submission, see school.Submissions.
func (s *Store) GetSubmission(ctx context.Context, id string) (school.Submission, error) {
	doc, found, err := one[submission](ctx, s, submissions, m{"_id": id})
	if err == nil && !found {
		err = school.NoSubmission(id)
	}
	if err != nil {
		return school.Submission{}, err
	}
	return doc.read()
}

// Bind makes another request count, see school.Submissions. Of concurrent calls, purges also spare the requests of
// those that lose, until the submission is deleted.
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
	mark := token()
	is, err := s.change(ctx, submissions, which, m{"$set": m{"request": to, weighed: mark}})
	if err == nil && is {
		err = s.weighOne(ctx, id, school.Unscored, mark)
	}
	return is && err == nil, err
}

// SetGrade sets or removes a grade, see school.Submissions.
func (s *Store) SetGrade(ctx context.Context, id string, g *school.Grade) error {
	mark, why := token(), school.Regraded
	how := m{"$unset": m{"grade": ""}, "$set": m{weighed: mark}}
	if g != nil {
		doc, err := encode(g, id)
		if err != nil {
			return err
		}
		how = m{"$set": m{"grade": doc, weighed: mark}}
		had, err := s.count(ctx, submissions, m{"_id": id, "grade": m{"$gt": ""}}, 1)
		if err != nil {
			return err
		}
		if had == 0 {
			why = school.Graded
		}
	}
	is, err := s.change(ctx, submissions, m{"_id": id}, how)
	if err == nil && !is {
		err = school.NoSubmission(id)
	}
	if err != nil {
		return err
	}
	return s.weighOne(ctx, id, why, mark)
}

// DeleteSubmissions removes submissions of an assignment, see school.Submissions.
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

// notAwaited returns the submissions whose requests have all ended.
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

// deleteSubmissions deletes submissions with all requests that were made for them. A submission whose request was
// rerun in the meantime stays, for the next call.
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
	// Comments go first, lest they stay after a crash, and again last, for those that were added in the meantime.
	if _, err := s.remove(ctx, comments, m{"submission": m{"$in": free}}); err != nil {
		return 0, err
	}
	n, err := s.remove(ctx, submissions, m{"_id": m{"$in": free}})
	if err == nil {
		_, err = s.remove(ctx, comments, m{"submission": m{"$in": free}})
	}
	if err == nil {
		err = s.orphaned(ctx, free)
	}
	return n, err
}
