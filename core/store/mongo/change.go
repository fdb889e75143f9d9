package mongo

import (
	"context"

	"drover/core"
)

// changeable are the fields that a change needs of a request.
var changeable = []string{"spec", "state", "changes"}

// ChangeSpec keeps a change of a request's spec, see school.ResultStore.
func (s *Store) ChangeSpec(ctx context.Context, was core.Spec, c core.Change) (core.Spec, error) {
	for {
		doc, now, kept, err := s.changes(ctx, was.ID)
		if err == nil {
			err = now.CheckChange(doc.State, was)
		}
		if err != nil {
			return core.Spec{}, err
		}
		spec, all, err := now.Changed(kept, c)
		if err != nil {
			return core.Spec{}, err
		}
		text, err := encode(all, spec.ID)
		if err != nil {
			return core.Spec{}, err
		}
		if is, err := s.setSpec(ctx, doc, spec, text); err != nil || is {
			return spec, err
		}
	}
}

// UseChange makes another change that of a request's spec, see school.ResultStore.
func (s *Store) UseChange(ctx context.Context, was core.Spec, number int) (bool, error) {
	for {
		doc, now, kept, err := s.changes(ctx, was.ID)
		if err != nil || now.CheckChange(doc.State, was) != nil {
			return false, err
		}
		spec, err := now.Use(kept, number)
		if err != nil {
			return false, err
		}
		if is, err := s.setSpec(ctx, doc, spec, doc.Changes); err != nil || is {
			return is, err
		}
	}
}

// Changes returns what is kept of a request's changes, see school.ResultStore.
func (s *Store) Changes(ctx context.Context, id string) ([]core.Change, error) {
	_, _, kept, err := s.changes(ctx, id)
	return kept, err
}

// changes reads a request's spec, and what is kept of its changes.
func (s *Store) changes(ctx context.Context, id string) (doc request, spec core.Spec, kept []core.Change, err error) {
	doc, found, err := one[request](ctx, s, requests, there(id), changeable...)
	if err == nil && !found {
		err = core.NoRequest(id)
	}
	if err != nil {
		return doc, spec, nil, err
	}
	if doc.Changes != "" {
		if err := decode(doc.Changes, &kept, id); err != nil {
			return doc, spec, nil, err
		}
	}
	return doc, spec, kept, decode(doc.Spec, &spec, id)
}

// setSpec writes a request's changed spec, if the request is still as it was read.
func (s *Store) setSpec(ctx context.Context, was request, spec core.Spec, kept string) (bool, error) {
	text, err := encode(spec, spec.ID)
	if err != nil {
		return false, err
	}
	return s.change(ctx, requests, m{"_id": was.ID, "spec": was.Spec, "state": was.State},
		m{"$set": m{"spec": text, "pool": spec.Pool, "changes": kept}})
}

// changed finds the spec that a claim ran with, if the request was changed. A number that is not kept cannot be told,
// and must not keep a result out.
func (s *Store) changed(ctx context.Context, a *recording, changes string) error {
	a.changes, a.was, a.ran = changes, "", ""
	if changes == "" {
		return nil
	}
	doc, now, kept, err := s.changes(ctx, a.result.ID)
	if err != nil {
		return err
	}
	a.changes, a.was = doc.Changes, doc.Spec
	if a.result.Token == "" || now.Change == a.result.Change {
		return nil
	}
	spec, err := now.Use(kept, a.result.Change)
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	a.pool = spec.Pool
	a.ran, err = encode(spec, spec.ID)
	return err
}
