package mongo

import (
	"context"
	"time"

	"drover/core"
	"drover/core/school"
)

// deletion describes the deletion of a document that others may refer to. Since no transaction spans the documents,
// it is announced first: a writer of a reference checks, after the write, whether the target is still open, and
// removes the reference again if not.
type deletion struct {
	what     string // for people: "class cs101"
	in, id   string
	none     error
	unless   m                               // a condition on the document itself that prevents it
	blocked  error                           // the error if that condition holds
	hindered func(ctx context.Context) error // returns an error if other documents still refer to it; may be nil
}

// closingTime is for how long an announced deletion counts. A call that has not deleted the document by then gives
// up.
const closingTime = 30 * time.Second

// delete deletes a document together with its dependents.
func (s *Store) delete(ctx context.Context, d deletion) error {
	if err := d.hindered(ctx); err != nil {
		return err // without announcing it
	}
	until := s.now() + closingTime.Milliseconds()
	is, err := s.change(ctx, d.in, m{"_id": d.id, "gone": absent}, m{"$set": m{"closing": until}})
	if err != nil {
		return err
	}
	if !is {
		if err := s.clear(ctx, d.in, d.id); err != nil { // its deletion was interrupted
			return err
		}
		return d.none
	}
	if err = s.decide(ctx, d, until); err == nil {
		return s.clear(ctx, d.in, d.id)
	}
	_, _ = s.change(ctx, d.in, m{"_id": d.id, "closing": until, "gone": absent}, m{"$unset": m{"closing": ""}}) // if that fails, it opens by itself
	return err
}

// decide marks a closed document as gone, if nothing refers to it.
func (s *Store) decide(ctx context.Context, d deletion, until int64) error {
	if err := d.hindered(ctx); err != nil {
		return err
	}
	late := core.Errorf(core.CodeUnavailable, d.id, "%s could not be deleted in time, or somebody else deletes it: try again", d.what)
	if s.now() >= until {
		return late
	}
	which := m{"_id": d.id, "closing": until, "gone": absent}
	for name, value := range d.unless {
		which[name] = value
	}
	is, err := s.change(ctx, d.in, which, m{"$set": m{"gone": true}, "$unset": m{"email": ""}})
	switch {
	case err != nil || is:
		return err
	case d.blocked != nil:
		return d.blocked
	}
	return late
}

// clear deletes a document that is gone, after its dependents.
func (s *Store) clear(ctx context.Context, in, id string) error {
	_, found, err := one[document](ctx, s, in, m{"_id": id, "gone": true}, "_id")
	if err != nil || !found {
		return err
	}
	for _, step := range s.dependents(in, id) {
		if err := step(ctx); err != nil {
			return err
		}
	}
	_, err = s.remove(ctx, in, m{"_id": id, "gone": true})
	return err
}

// dependents returns the steps that delete a document's dependents.
func (s *Store) dependents(in, id string) []func(ctx context.Context) error {
	these := func(in string, which m) func(ctx context.Context) error {
		return func(ctx context.Context) error { _, err := s.remove(ctx, in, which); return err }
	}
	switch in {
	case users:
		own := m{"user": id}
		return []func(context.Context) error{these(deadlines, own), these(tokens, own), these(identities, own)}
	case classes:
		return []func(context.Context) error{these(webhooks, m{"class": id}), these(imports, m{"_id": id}), these(ltiRecords, m{"class": id}), func(ctx context.Context) error { return s.dismiss(ctx, id) }}
	case assignments:
		class, handle := splitName(id)
		which := m{"class": class, "assignment": handle}
		return []func(context.Context) error{these(deadlines, which), these(experiments, which), these(leads, which)}
	}
	return nil
}

// open returns nil if a document exists and is not being deleted, so that others may refer to it.
func (s *Store) open(ctx context.Context, in, id, what string, none error) error {
	for {
		doc, found, err := one[struct {
			Closing  int64 `bson:"closing"`
			Deleting bool  `bson:"deleting"`
		}](ctx, s, in, m{"_id": id, "gone": absent}, "closing", "deleting")
		switch {
		case err != nil:
			return err
		case !found:
			return none
		case doc.Deleting || doc.Closing > s.now():
			return school.Deleting(id, what)
		case doc.Closing == 0:
			return nil
		}
		// The call that announced its deletion is late, and must not continue.
		if _, err := s.change(ctx, in, m{"_id": id, "closing": doc.Closing}, m{"$unset": m{"closing": ""}}); err != nil {
			return err
		}
	}
}
