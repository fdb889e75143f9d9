package mongo

import (
	"context"
	"errors"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// m is a filter or an update.
type m = bson.M

// absent matches a missing field.
var absent any

// call runs one operation on the server within the timeout.
func (s *Store) call(ctx context.Context, do func(ctx context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return s.fault(err)
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	// The driver soon gives up if all connections are in use; so wait for one here.
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return s.fault(ctx.Err())
	}
	err := do(ctx)
	if ended := ctx.Err(); ended != nil && err != nil {
		err = errors.Join(ended, err) // the driver does not always include this cause
	}
	return s.fault(err)
}

// insert inserts a document. Returns false if another one has its id or another unique value of it.
func (s *Store) insert(ctx context.Context, in string, doc any) (bool, error) {
	is := true
	err := s.call(ctx, func(ctx context.Context) error {
		_, err := s.in(in).InsertOne(ctx, doc)
		if duplicate(err) {
			is, err = false, nil
		}
		return err
	})
	return is && err == nil, err
}

// change changes the one document that matches. Returns false if none does, and errTaken if another one has a unique
// value of it.
func (s *Store) change(ctx context.Context, in string, which, how m) (bool, error) {
	var found int64
	err := s.call(ctx, func(ctx context.Context) error {
		res, err := s.in(in).UpdateOne(ctx, which, how)
		if err == nil {
			found = res.MatchedCount
		}
		return err
	})
	return found == 1, err
}

// changeAll changes all documents that match.
func (s *Store) changeAll(ctx context.Context, in string, which, how m) error {
	return s.call(ctx, func(ctx context.Context) error {
		_, err := s.in(in).UpdateMany(ctx, which, how)
		return err
	})
}

// put sets the content of a document, and creates it if it is missing.
func (s *Store) put(ctx context.Context, in, id string, set m) error {
	return s.call(ctx, func(ctx context.Context) error {
		_, err := s.in(in).UpdateOne(ctx, m{"_id": id}, m{"$set": set}, options.UpdateOne().SetUpsert(true))
		if duplicate(err) { // another call created it at the same time: now it exists
			_, err = s.in(in).UpdateOne(ctx, m{"_id": id}, m{"$set": set})
		}
		return err
	})
}

// remove deletes the documents that match and returns how many there were.
func (s *Store) remove(ctx context.Context, in string, which m) (int, error) {
	var gone int64
	err := s.call(ctx, func(ctx context.Context) error {
		res, err := s.in(in).DeleteMany(ctx, which)
		if err == nil {
			gone = res.DeletedCount
		}
		return err
	})
	return int(gone), err
}

// count counts the documents that match, at most up to limit.
func (s *Store) count(ctx context.Context, in string, which m, limit int) (int, error) {
	var n int64
	err := s.call(ctx, func(ctx context.Context) (err error) {
		n, err = s.in(in).CountDocuments(ctx, which, options.Count().SetLimit(int64(limit)))
		return err
	})
	return int(n), err
}

// one returns the document that matches, with the fields named or, if none are, all of them. Ok is false if there is
// none.
func one[T any](ctx context.Context, s *Store, in string, which m, fields ...string) (doc T, ok bool, err error) {
	err = s.call(ctx, func(ctx context.Context) error {
		err := s.in(in).FindOne(ctx, which, options.FindOne().SetProjection(only(fields))).Decode(&doc)
		if errors.Is(err, driver.ErrNoDocuments) {
			return nil
		}
		ok = err == nil
		return err
	})
	return doc, ok, err
}

// some returns at most limit documents that match, in an order (0: all of them).
func some[T any](ctx context.Context, s *Store, in string, which m, order bson.D, limit int, fields ...string) ([]T, error) {
	var docs []T
	err := s.call(ctx, func(ctx context.Context) error {
		opts := options.Find().SetProjection(only(fields)).SetLimit(int64(limit))
		if len(order) > 0 {
			opts.SetSort(order)
		}
		cursor, err := s.in(in).Find(ctx, which, opts)
		if err != nil {
			return err
		}
		return cursor.All(ctx, &docs)
	})
	return docs, err
}

// by returns a sort order by fields; a "-" means descending.
func by(fields ...string) bson.D {
	var order bson.D
	for _, field := range fields {
		name, falling := strings.CutPrefix(field, "-")
		direction := 1
		if falling {
			direction = -1
		}
		order = append(order, bson.E{Key: name, Value: direction})
	}
	return order
}

// only selects the fields of a document.
func only(fields []string) m {
	all := m{}
	for _, field := range fields {
		all[field] = 1
	}
	return all
}
