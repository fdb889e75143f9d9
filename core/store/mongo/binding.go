package mongo

import (
	"context"

	"drover/core"
)

// binding is a document with what the store belongs to.
type binding struct {
	ID   string       `bson:"_id"`
	Kind core.Binding `bson:"binding"`
	To   string       `bson:"to"`
}

// Bindings implements core.ResultStore.
func (s *Store) Bindings(ctx context.Context) (map[core.Binding]string, error) {
	docs, err := some[binding](ctx, s, meta, m{"binding": m{"$exists": true}}, nil, 0)
	its := make(map[core.Binding]string, len(docs))
	for _, doc := range docs {
		its[doc.Kind] = doc.To
	}
	return its, err
}

// PutBinding implements core.ResultStore.
func (s *Store) PutBinding(ctx context.Context, kind core.Binding, id string, move bool) (string, error) {
	name := "binding:" + string(kind)
	made, err := s.insert(ctx, meta, binding{ID: name, Kind: kind, To: id})
	if err == nil && !made && move {
		err = s.put(ctx, meta, name, m{"to": id})
	}
	if err != nil {
		return "", err
	}
	doc, _, err := one[binding](ctx, s, meta, m{"_id": name})
	return doc.To, err
}
