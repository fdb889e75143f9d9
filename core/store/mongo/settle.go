package mongo

import (
	"context"

	"drover/core"
	"drover/core/school"
)

// A submission's document holds its whole request until that has a document of its own, so that one insert makes both
// durable. Every read of requests first creates the missing documents.

// settle makes the requests of submissions whose call died, or has not come so far.
func (s *Store) settle(ctx context.Context, which m) error {
	which["unmade"] = m{"$gt": ""}
	docs, err := some[submission](ctx, s, submissions, which, by("_id"), purgeBatch)
	for i := range docs {
		if err == nil {
			err = s.adopt(ctx, &docs[i])
		}
	}
	return err
}

// adopt makes the request of a submission that another call stored, unless its assignment or user is being deleted:
// then that call removes the submission again, or the deletion does.
func (s *Store) adopt(ctx context.Context, doc *submission) error {
	err := s.takes(ctx, doc.Class, doc.Assignment, doc.User)
	if core.Is(err, core.CodeConflict) || core.Is(err, core.CodeNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	is, err := s.change(ctx, submissions, m{"_id": doc.ID, "unmade": m{"$gt": ""}}, m{"$set": m{"unmade": unmadeAdopted}})
	if err != nil || !is {
		return err
	}
	if err = s.makeRequest(ctx, doc); core.Is(err, core.CodeNotFound) {
		return nil // it was deleted
	}
	return err
}

// makeRequest makes the request of a submission, and removes it again if the submission was deleted in the meantime.
// Returns NOTFOUND then.
func (s *Store) makeRequest(ctx context.Context, doc *submission) error {
	var spec core.Spec
	if err := decode(doc.Spec, &spec, doc.ID); err != nil {
		return err
	}
	if _, _, err := s.create(ctx, spec, doc.Spec, true); err != nil {
		return err
	}
	is, err := s.change(ctx, submissions, m{"_id": doc.ID}, m{"$unset": m{"unmade": "", "spec": ""}})
	if err != nil || is {
		return err
	}
	if _, err := s.change(ctx, requests, madeFor(spec.ID, doc.ID), leave); err != nil {
		return err
	}
	if _, err := s.sweep(ctx, m{"_id": spec.ID}, 1); err != nil {
		return err
	}
	return school.NoSubmission(doc.ID)
}
