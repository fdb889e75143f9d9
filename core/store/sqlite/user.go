package sqlite

import (
	"cmp"
	"context"
	"database/sql"

	"drover/core"
	"drover/core/school"
	"drover/core/store/bounds"
)

// PutUser makes or changes a user, see school.Roster.
func (s *Store) PutUser(ctx context.Context, u school.User) (int64, error) {
	if err := cmp.Or(core.CheckName("user", u.Handle), core.CheckRevision(u.Handle, u.Revision)); err != nil {
		return 0, err
	}
	row := revised{what: "user " + u.Handle, table: "users", key: []column{{"handle", u.Handle}}, revision: u.Revision}
	u.Revision++
	doc, err := encode(u, u.Handle)
	if err != nil {
		return 0, err
	}
	row.columns = []column{{"email", u.Email}, {"doc", doc}}
	return commit(ctx, s.committer, u.Handle, len(doc), func(t *tx) (int64, error) {
		if u.Email != "" {
			taken, err := t.any("SELECT 1 FROM users WHERE email = ? AND email <> '' AND handle <> ?", u.Email, u.Handle)
			if err != nil {
				return 0, err
			}
			if taken {
				return 0, school.EmailTaken(u.Handle, u.Email)
			}
		}
		return t.put(row)
	})
}

// GetUser finds a user by handle or e-mail address, see school.Roster.
func (s *Store) GetUser(ctx context.Context, handle string) (school.User, error) {
	key, byEmail, err := school.UserKey(handle)
	if err != nil {
		return school.User{}, err
	}
	query := "SELECT doc FROM users WHERE handle = ?"
	if byEmail {
		query = "SELECT doc FROM users WHERE email = ? AND email <> ''"
	}
	return single[school.User](ctx, s, school.NoUser(key), query, key)
}

// ListUsers lists users, see school.Roster.
func (s *Store) ListUsers(ctx context.Context, after string, limit int) ([]school.User, error) {
	if err := bounds.Rows(limit); err != nil {
		return nil, err
	}
	return documents[school.User](ctx, s, "SELECT doc FROM users WHERE handle > ? ORDER BY handle LIMIT ?", after, limit)
}

// DeleteUser removes a user with everything that belongs to it, see school.Roster.
func (s *Store) DeleteUser(ctx context.Context, handle string) error {
	_, err := commit(ctx, s.committer, handle, 0, func(t *tx) (int, error) {
		for _, b := range []struct {
			query string
			why   core.Refusal
		}{
			{"SELECT 1 FROM enrolments WHERE user = ?", school.UserIsEnrolled},
			{"SELECT 1 FROM submissions WHERE user = ?", school.UserHasSubmissions},
		} {
			if is, err := t.any(b.query, handle); err != nil || is {
				return 0, cmp.Or(err, b.why(handle))
			}
		}
		n, err := t.exec("DELETE FROM users WHERE handle = ?", handle)
		if err == nil && n == 0 {
			return 0, school.NoUser(handle)
		}
		if err != nil {
			return 0, err
		}
		for _, own := range []string{"deadlines", "accounts", "tokens", "identities"} {
			if _, err := t.exec("DELETE FROM "+own+" WHERE user = ?", handle); err != nil {
				return 0, err
			}
		}
		return n, nil
	})
	return err
}

// documents reads the documents that a query finds.
func documents[T any](ctx context.Context, s *Store, query string, args ...any) ([]T, error) {
	var all []T
	err := s.rows(ctx, query, args, func(rows *sql.Rows) error {
		var doc sql.RawBytes
		if err := rows.Scan(&doc); err != nil {
			return err
		}
		var one T
		err := decode(doc, &one, s.path)
		all = append(all, one)
		return err
	})
	return all, err
}

// single reads one document; none is the error if there is none.
func single[T any](ctx context.Context, s *Store, none error, query string, args ...any) (T, error) {
	all, err := documents[T](ctx, s, query, args...)
	if err == nil && len(all) == 0 {
		err = none
	}
	if err != nil {
		var zero T
		return zero, err
	}
	return all[0], nil
}
