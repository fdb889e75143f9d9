package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"drover/core"
)

// ChangeSpec keeps a change of a request's spec, see school.ResultStore.
func (s *Store) ChangeSpec(ctx context.Context, was core.Spec, c core.Change) (core.Spec, error) {
	return commit(ctx, s.committer, was.ID, core.MaxSpecBytes, func(t *tx) (core.Spec, error) {
		now, err := t.changeable(was.ID)
		if err == nil {
			err = now.spec.CheckChange(now.state, was)
		}
		if err != nil {
			return core.Spec{}, err
		}
		spec, kept, err := now.spec.Changed(now.kept, c)
		if err != nil {
			return core.Spec{}, err
		}
		doc, err := encode(kept, spec.ID)
		if err != nil {
			return core.Spec{}, err
		}
		if _, err := t.exec("UPDATE requests SET changes = ? WHERE id = ?", doc, spec.ID); err != nil {
			return core.Spec{}, err
		}
		return spec, t.setSpec(spec)
	})
}

// UseChange makes another change that of a request's spec, see school.ResultStore.
func (s *Store) UseChange(ctx context.Context, was core.Spec, number int) (bool, error) {
	return commit(ctx, s.committer, was.ID, core.MaxSpecBytes, func(t *tx) (bool, error) {
		now, err := t.changeable(was.ID)
		if err != nil || now.spec.CheckChange(now.state, was) != nil {
			return false, err
		}
		spec, err := now.spec.Use(now.kept, number)
		if err != nil {
			return false, err
		}
		return true, t.setSpec(spec)
	})
}

// Changes returns what is kept of a request's changes, see school.ResultStore.
func (s *Store) Changes(ctx context.Context, id string) ([]core.Change, error) {
	var kept []core.Change
	found := false
	err := s.rows(ctx, "SELECT changes FROM requests WHERE id = ?", []any{id}, func(rows *sql.Rows) error {
		found = true
		var doc []byte
		if err := rows.Scan(&doc); err != nil || len(doc) == 0 {
			return err
		}
		return decode(doc, &kept, id)
	})
	if err == nil && !found {
		err = core.NoRequest(id)
	}
	return kept, err
}

// changeable is what a change needs of a request.
type changeable struct {
	spec  core.Spec
	state core.RequestState
	kept  []core.Change
}

func (t *tx) changeable(id string) (c changeable, err error) {
	var spec, kept []byte
	err = t.one("SELECT spec, state, changes FROM requests WHERE id = ?", []any{id}, &spec, &c.state, &kept)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return c, core.NoRequest(id)
	case err != nil:
		return c, err
	}
	if len(kept) > 0 {
		if err := decode(kept, &c.kept, id); err != nil {
			return c, err
		}
	}
	return c, decode(spec, &c.spec, id)
}

// setSpec writes a request's changed spec.
func (t *tx) setSpec(spec core.Spec) error {
	doc, err := encode(spec, spec.ID)
	if err != nil {
		return err
	}
	_, err = t.exec("UPDATE requests SET pool = ?, spec = ? WHERE id = ?", spec.Pool, doc, spec.ID)
	return err
}

// ran makes the change that a claim ran with that of the spec. A number that is not kept cannot be told, and must not
// keep a result out.
func (t *tx) ran(r *core.Result) error {
	now, err := t.changeable(r.ID)
	if err != nil || now.spec.Change == r.Change {
		return err
	}
	spec, err := now.spec.Use(now.kept, r.Change)
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	return t.setSpec(spec)
}
