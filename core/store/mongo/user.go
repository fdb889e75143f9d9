package mongo

import (
	"cmp"
	"context"

	"drover/core"
	"drover/core/school"
	"drover/core/store/bounds"
)

// PutUser makes or changes a user, see school.Roster.
func (s *Store) PutUser(ctx context.Context, u school.User) (int64, error) {
	if err := cmp.Or(core.CheckName("user", u.Handle), core.CheckRevision(u.Handle, u.Revision)); err != nil {
		return 0, err
	}
	r := revised{what: "user " + u.Handle, in: users, id: u.Handle, name: u.Handle, revision: u.Revision}
	u.Revision++
	doc, err := encode(u, u.Handle)
	if err != nil {
		return 0, err
	}
	r.fields = m{"json": doc}
	if u.Email == "" {
		r.without = []string{"email"}
	} else {
		r.fields["email"] = u.Email
	}
	revision, err := s.revise(ctx, r)
	if isTaken(err) {
		err = school.EmailTaken(u.Handle, u.Email)
	}
	return revision, err
}

// GetUser finds a user by handle or e-mail address, see school.Roster.
func (s *Store) GetUser(ctx context.Context, handle string) (school.User, error) {
	key, byEmail, err := school.UserKey(handle)
	if err != nil {
		return school.User{}, err
	}
	which := m{"_id": key}
	if byEmail {
		which = m{"email": key}
	}
	return single[school.User](ctx, s, school.NoUser(key), users, which)
}

// ListUsers lists users, see school.Roster.
func (s *Store) ListUsers(ctx context.Context, after string, limit int) ([]school.User, error) {
	if err := bounds.Rows(limit); err != nil {
		return nil, err
	}
	return documents[school.User](ctx, s, users, m{"_id": m{"$gt": after}}, by("_id"), limit)
}

// DeleteUser removes a user, see school.Roster.
func (s *Store) DeleteUser(ctx context.Context, handle string) error {
	return s.delete(ctx, deletion{
		what: "user " + handle, in: users, id: handle, none: school.NoUser(handle),
		unless:  m{"classes.0": m{"$exists": false}},
		blocked: school.UserIsEnrolled(handle),
		hindered: func(ctx context.Context) error {
			n, err := s.count(ctx, submissions, m{"user": handle}, 1)
			if err == nil && n > 0 {
				err = school.UserHasSubmissions(handle)
			}
			return err
		},
	})
}

// openUser returns nil if a document may refer to the user.
func (s *Store) openUser(ctx context.Context, handle string) error {
	return s.open(ctx, users, handle, "user "+handle, school.NoUser(handle))
}
