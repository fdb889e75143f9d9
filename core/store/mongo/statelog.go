package mongo

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"drover/core"
	"drover/core/store/bounds"
)

// stateChange is the document of a change of state. Its id orders the changes of a thing.
type stateChange struct {
	ID string `bson:"_id"`
	At int64  `bson:"at"`
	// JSON of all of it
	Doc string `bson:"json"`
}

// ofThing begins the ids of a thing's changes. No kind and no thing holds a control character.
func ofThing(kind core.Entity, thing string) string { return string(kind) + "\x1f" + thing + "\x1f" }

// placed is the rest of such an id.
func placed(at, n int64) string { return fmt.Sprintf("%019d-%019d", at, n) }

// AddStateChanges adds changes of state, see core.StateLog.
func (s *Store) AddStateChanges(ctx context.Context, all []core.StateChange) error {
	if err := bounds.StateChanges(all); err != nil || len(all) == 0 {
		return err
	}
	docs := make(map[string]stateChange, len(all))
	ids := make([]string, 0, len(all))
	for _, c := range all {
		doc, err := encode(c, c.Thing)
		if err != nil {
			return err
		}
		id := ofThing(c.Kind, c.Thing) + placed(c.At, c.N)
		if _, twice := docs[id]; !twice {
			ids = append(ids, id)
			docs[id] = stateChange{ID: id, At: c.At, Doc: doc}
		}
	}
	there, err := some[stateChange](ctx, s, stateChanges, m{"_id": m{"$in": ids}}, nil, 0, "_id")
	if err != nil {
		return err
	}
	for _, doc := range there {
		delete(docs, doc.ID)
	}
	fresh := make([]stateChange, 0, len(docs))
	for _, id := range ids {
		if doc, is := docs[id]; is {
			fresh = append(fresh, doc)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	return s.call(ctx, func(ctx context.Context) error {
		_, err := s.in(stateChanges).InsertMany(ctx, fresh, options.InsertMany().SetOrdered(false))
		if duplicate(err) { // another copier was as far
			err = nil
		}
		return err
	})
}

// StateChanges returns a page of changes of a thing, see core.StateLog.
func (s *Store) StateChanges(ctx context.Context, f core.StateChangeFilter) ([]core.StateChange, error) {
	at, n, limit, err := bounds.StateChangePage(f)
	if err != nil {
		return nil, err
	}
	its := ofThing(f.Kind, f.Thing)
	return documents[core.StateChange](ctx, s, stateChanges, m{"_id": m{"$gte": its, "$lt": its + placed(at, n)}}, by("-_id"), limit)
}

// TrimStateChanges deletes the oldest changes, see core.StateLog.
func (s *Store) TrimStateChanges(ctx context.Context, before int64, most, limit int) (int, error) {
	var there int64
	err := s.call(ctx, func(ctx context.Context) (err error) {
		there, err = s.in(stateChanges).EstimatedDocumentCount(ctx)
		return err
	})
	over := min(max(0, int(there)-most), limit)
	total := 0
	for err == nil && total < limit {
		which := m{"at": m{"$lt": before}}
		if total < over {
			which = m{}
		}
		batch := min(trimBatch, limit-total)
		if total < over {
			batch = min(batch, over-total)
		}
		var n int
		n, err = s.trim(ctx, which, batch)
		total += n
		if n < batch {
			break
		}
	}
	return total, err
}

// trimBatch is how many changes are deleted together.
const trimBatch = 1000

func (s *Store) trim(ctx context.Context, which m, batch int) (int, error) {
	docs, err := some[stateChange](ctx, s, stateChanges, which, by("at"), batch, "_id")
	if err != nil || len(docs) == 0 {
		return 0, err
	}
	ids := make([]string, len(docs))
	for i, doc := range docs {
		ids[i] = doc.ID
	}
	return s.remove(ctx, stateChanges, m{"_id": m{"$in": ids}})
}

// mark is the document of how far somebody got.
type mark struct {
	ID    string `bson:"_id"`
	Value string `bson:"value"`
}

func markOf(name string) string { return "mark " + name }

// Mark returns how far somebody got, see core.StateLog.
func (s *Store) Mark(ctx context.Context, name string) (string, error) {
	doc, _, err := one[mark](ctx, s, meta, m{"_id": markOf(name)})
	return doc.Value, err
}

// MoveMark notes how far somebody got, see core.StateLog.
func (s *Store) MoveMark(ctx context.Context, name, from, to string) (bool, error) {
	if err := bounds.Mark(name, to); err != nil {
		return false, err
	}
	if from == "" {
		if is, err := s.insert(ctx, meta, bson.M{"_id": markOf(name), "value": to}); err != nil || is {
			return is, err
		}
	}
	return s.change(ctx, meta, m{"_id": markOf(name), "value": from}, m{"$set": m{"value": to}})
}
