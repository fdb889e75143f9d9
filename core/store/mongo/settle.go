package mongo

import (
	"context"

	"drover/core"
	"drover/core/school"
)

// A submission's document has all of its request until that has a document of its own: so the
// two are there by one insert. What asks for requests first makes those that are still to be made.

// settle makes the requests of submissions whose maker died, or is not yet as far.
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

// adopt makes the request of a submission that somebody else stored, unless what it is for is being
// deleted: then its maker takes it off again, or it goes with that.
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

// makeRequest makes the request of a submission, and takes it away again if that was deleted
// meanwhile. Returns NOTFOUND then.
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
