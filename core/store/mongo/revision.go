package mongo

import (
	"cmp"
	"context"
	"errors"
	"maps"

	"drover/core"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// document is one that holds JSON, beside the fields that it is found by.
type document struct {
	ID       string `bson:"_id"`
	JSON     string `bson:"json"`
	Revision int64  `bson:"revision,omitempty"`
	Secret   string `bson:"secret,omitempty"`  // a webhook's
	Closing  int64  `bson:"closing,omitempty"` // until when somebody sees whether it may be deleted
	Gone     bool   `bson:"gone,omitempty"`    // it is not there any more, only something that refers to it
}

// documents reads what documents hold, of those that are there.
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

// single reads what one document holds; none is the error that is given.
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

// selection is a filter by the values that are not "".
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
	name     string // of the thing
	fields   m      // all but id and revision
	without  []string
	revision int64 // that the caller knows; 0 makes it
}

// revise makes a document or changes it, as school.Roster says of every Put. Returns errTaken if
// another one has something of it that is unique.
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

// found makes the document of a new thing.
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
	if err := s.clear(ctx, r.in, r.id); err != nil { // its deletion was broken off
		return err
	}
	return s.found(ctx, r, fields)
}

func isTaken(err error) bool { return errors.Is(err, errTaken) }
