package mongo

import (
	"cmp"
	"context"
	"errors"
	"maps"

	"drover/core"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// document holds JSON, and the fields by which it is searched.
type document struct {
	ID       string `bson:"_id"`
	JSON     string `bson:"json"`
	Revision int64  `bson:"revision,omitempty"`
	Secret   string `bson:"secret,omitempty"`  // a webhook's
	Closing  int64  `bson:"closing,omitempty"` // until when a call is checking whether it may be deleted
	Gone     bool   `bson:"gone,omitempty"`    // to callers it does not exist any more; something may still refer to it
}

// documents decodes the contents of documents, except those that are gone.
func documents[T any](ctx context.Context, s *Store, in string, which m, order bson.D, limit int) ([]T, error) {
	which["gone"] = absent
	docs, err := some[document](ctx, s, in, which, order, limit, "json")
	if err != nil || len(docs) == 0 {
		return nil, err
	}
	all := make([]T, len(docs))
	for i, doc := range docs {
		if err := decode(doc.JSON, &all[i], doc.ID); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// single decodes the content of one document; none is the error if there is none.
func single[T any](ctx context.Context, s *Store, none error, in string, which m) (T, error) {
	var zero T
	all, err := documents[T](ctx, s, in, which, nil, 1)
	if err == nil && len(all) == 0 {
		err = none
	}
	if err != nil {
		return zero, err
	}
	return all[0], nil
}

// selection returns a filter by the values that are not "".
func selection(values map[string]string) m {
	which := m{}
	for name, value := range values {
		if value != "" {
			which[name] = value
		}
	}
	return which
}

// revised is a document that carries a revision.
type revised struct {
	what     string // for people: "user ann"
	in       string
	id       string // of the document
	name     string // of the object
	fields   m      // all except id and revision
	without  []string
	revision int64 // known to the caller; 0 creates the document
}

// revise creates or changes a document by the rules of every Put, see school.Roster. Returns errTaken if another one
// has a unique value of it.
func (s *Store) revise(ctx context.Context, r revised) (int64, error) {
	fields := maps.Clone(r.fields)
	fields["revision"] = r.revision + 1
	if r.revision == 0 {
		return 1, s.found(ctx, r, fields)
	}
	how := m{"$set": fields}
	if len(r.without) > 0 {
		unset := m{}
		for _, name := range r.without {
			unset[name] = ""
		}
		how["$unset"] = unset
	}
	is, err := s.change(ctx, r.in, m{"_id": r.id, "revision": r.revision, "gone": absent}, how)
	if err != nil || is {
		return r.revision + 1, err
	}
	_, found, err := one[document](ctx, s, r.in, m{"_id": r.id, "gone": absent}, "_id")
	return 0, cmp.Or(err, core.NotPut(r.what, r.name, r.revision, found))
}

// found creates the document of a new object.
func (s *Store) found(ctx context.Context, r revised, fields m) error {
	fields["_id"] = r.id
	is, err := s.insert(ctx, r.in, fields)
	if err != nil || is {
		return err
	}
	there, found, err := one[document](ctx, s, r.in, m{"_id": r.id}, "gone")
	switch {
	case err != nil:
		return err
	case !found:
		return errTaken
	case !there.Gone:
		return core.NotPut(r.what, r.name, 0, true)
	}
	if err := s.clear(ctx, r.in, r.id); err != nil { // the deletion of a former one was interrupted
		return err
	}
	return s.found(ctx, r, fields)
}

func isTaken(err error) bool { return errors.Is(err, errTaken) }
