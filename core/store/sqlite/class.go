package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"

	"drover/core"
	"drover/core/school"
	"drover/core/store/bounds"
)

// PutClass makes or changes a class, see school.Roster.
func (s *Store) PutClass(ctx context.Context, c school.Class) (int64, error) {
	if err := cmp.Or(core.CheckName("class", c.Handle), core.CheckRevision(c.Handle, c.Revision)); err != nil {
		return 0, err
	}
	row := revised{what: "class " + c.Handle, table: "classes", key: []column{{"handle", c.Handle}}, revision: c.Revision}
	c.Revision++
	doc, err := encode(c, c.Handle)
	if err != nil {
		return 0, err
	}
	row.columns = []column{{"deleting", c.Deleting}, {"doc", doc}}
	return commit(ctx, s.committer, c.Handle, len(doc), func(t *tx) (int64, error) { return t.put(row) })
}

// GetClass returns a class, see school.Roster.
func (s *Store) GetClass(ctx context.Context, handle string) (school.Class, error) {
	return single[school.Class](ctx, s, school.NoClass(handle), "SELECT doc FROM classes WHERE handle = ?", handle)
}

// ListClasses lists classes, see school.Roster.
func (s *Store) ListClasses(ctx context.Context, after string, limit int) ([]school.Class, error) {
	if err := bounds.Rows(limit); err != nil {
		return nil, err
	}
	return documents[school.Class](ctx, s, "SELECT doc FROM classes WHERE handle > ? ORDER BY handle LIMIT ?", after, limit)
}

// DeleteClass removes a class, see school.Roster.
func (s *Store) DeleteClass(ctx context.Context, handle string) error {
	_, err := commit(ctx, s.committer, handle, 0, func(t *tx) (int, error) {
		if is, err := t.any("SELECT 1 FROM assignments WHERE class = ?", handle); err != nil || is {
			return 0, cmp.Or(err, school.ClassHasAssignments(handle))
		}
		n, err := t.exec("DELETE FROM classes WHERE handle = ?", handle)
		if err == nil && n == 0 {
			return 0, school.NoClass(handle)
		}
		if err != nil {
			return 0, err
		}
		if _, err := t.exec("DELETE FROM webhooks WHERE class = ? AND class <> ''", handle); err != nil {
			return 0, err
		}
		if _, err := t.exec("DELETE FROM roster_imports WHERE class = ?", handle); err != nil {
			return 0, err
		}
		if _, err := t.exec("DELETE FROM lti WHERE class = ? AND class <> ''", handle); err != nil {
			return 0, err
		}
		return t.exec("DELETE FROM enrolments WHERE class = ?", handle)
	})
	return err
}

// open returns nil if the class exists and is not being deleted.
func (t *tx) open(class string) error {
	var deleting bool
	err := t.one("SELECT deleting FROM classes WHERE handle = ?", []any{class}, &deleting)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return school.NoClass(class)
	case err == nil && deleting:
		return school.Deleting(class, "class "+class)
	}
	return err
}

// Enrol puts a user into a class, see school.Roster.
func (s *Store) Enrol(ctx context.Context, e school.Enrolment) error {
	if err := core.CheckNames("class", e.Class, "user", e.User); err != nil {
		return err
	}
	_, err := commit(ctx, s.committer, e.User, 0, func(t *tx) (int, error) {
		if err := t.open(e.Class); err != nil {
			return 0, err
		}
		if err := t.hasUser(e.User); err != nil {
			return 0, err
		}
		if err := t.room(school.MembershipQuota, e.User, "SELECT count(*) FROM enrolments WHERE user = ? AND class <> ?", e.User, e.Class); err != nil {
			return 0, err
		}
		return t.exec(`INSERT INTO enrolments (class, user, role, since, section) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET role = excluded.role, since = excluded.since, section = excluded.section`,
			e.Class, e.User, string(e.Role), e.Since, e.Section)
	})
	return err
}

func (t *tx) hasUser(handle string) error {
	is, err := t.any("SELECT 1 FROM users WHERE handle = ?", handle)
	if err == nil && !is {
		return school.NoUser(handle)
	}
	return err
}

// Drop takes a user out of a class, see school.Roster.
func (s *Store) Drop(ctx context.Context, class, user string) (bool, error) {
	return commit(ctx, s.committer, user, 0, func(t *tx) (bool, error) {
		n, err := t.exec("DELETE FROM enrolments WHERE class = ? AND user = ?", class, user)
		return n == 1, err
	})
}

const selectEnrolments = "SELECT class, user, role, since, section FROM enrolments "

// Members lists the members of a class, see school.Roster.
func (s *Store) Members(ctx context.Context, class, after string, limit int) ([]school.Enrolment, error) {
	if err := bounds.Rows(limit); err != nil {
		return nil, err
	}
	return s.enrolments(ctx, selectEnrolments+"WHERE class = ? AND user > ? ORDER BY user LIMIT ?", class, after, limit)
}

// Memberships lists the classes of a user, see school.Roster.
func (s *Store) Memberships(ctx context.Context, user string) ([]school.Enrolment, error) {
	return s.enrolments(ctx, selectEnrolments+"WHERE user = ? ORDER BY class LIMIT ?", user, school.MaxMemberships)
}

func (s *Store) enrolments(ctx context.Context, query string, args ...any) ([]school.Enrolment, error) {
	var all []school.Enrolment
	err := s.rows(ctx, query, args, func(rows *sql.Rows) error {
		var e school.Enrolment
		err := rows.Scan(&e.Class, &e.User, &e.Role, &e.Since, &e.Section)
		all = append(all, e)
		return err
	})
	return all, err
}
