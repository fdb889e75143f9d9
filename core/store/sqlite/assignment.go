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

// PutAssignment makes or changes an assignment, see school.Assignments.
func (s *Store) PutAssignment(ctx context.Context, a school.Assignment) (int64, error) {
	if err := cmp.Or(core.CheckNames("class", a.Class, "assignment", a.Handle), core.CheckRevision(a.Handle, a.Revision)); err != nil {
		return 0, err
	}
	name := a.Name()
	row := revised{what: "assignment " + name, table: "assignments", key: []column{{"class", a.Class}, {"handle", a.Handle}}, revision: a.Revision}
	a.Revision++
	doc, err := encode(a, name)
	if err != nil {
		return 0, err
	}
	row.columns = []column{{"deleting", a.Deleting}, {"doc", doc}}
	return commit(ctx, s.committer, name, len(doc), func(t *tx) (int64, error) {
		if err := t.open(a.Class); err != nil && (!a.Deleting || !core.Is(err, core.CodeConflict)) {
			return 0, err
		}
		again, err := t.reordered(&a)
		if err != nil {
			return 0, err
		}
		revision, err := t.put(row)
		if err == nil && again && row.revision > 0 {
			err = t.competeAll(&a)
		}
		return revision, err
	})
}

// GetAssignment returns an assignment, see school.Assignments.
func (s *Store) GetAssignment(ctx context.Context, class, handle string) (school.Assignment, error) {
	return single[school.Assignment](ctx, s, school.NoAssignment(class+"/"+handle), "SELECT doc FROM assignments WHERE class = ? AND handle = ?", class, handle)
}

// ListAssignments lists assignments of a class, see school.Assignments.
func (s *Store) ListAssignments(ctx context.Context, class, after string, limit int) ([]school.Assignment, error) {
	if err := bounds.Rows(limit); err != nil {
		return nil, err
	}
	return documents[school.Assignment](ctx, s, "SELECT doc FROM assignments WHERE class = ? AND handle > ? ORDER BY handle LIMIT ?", class, after, limit)
}

// DeleteAssignment removes an assignment, see school.Assignments.
func (s *Store) DeleteAssignment(ctx context.Context, class, handle string) error {
	name := class + "/" + handle
	_, err := commit(ctx, s.committer, name, 0, func(t *tx) (int, error) {
		if is, err := t.any("SELECT 1 FROM submissions WHERE class = ? AND assignment = ?", class, handle); err != nil || is {
			return 0, cmp.Or(err, school.AssignmentHasSubmissions(name))
		}
		n, err := t.exec("DELETE FROM assignments WHERE class = ? AND handle = ?", class, handle)
		if err == nil && n == 0 {
			return 0, school.NoAssignment(class + "/" + handle)
		}
		for _, table := range []string{"deadlines", "experiments"} {
			if err == nil {
				n, err = t.exec("DELETE FROM "+table+" WHERE class = ? AND assignment = ?", class, handle)
			}
		}
		return n, err
	})
	return err
}

// takes returns nil if the assignment exists, and neither it nor its class is being deleted.
func (t *tx) takes(class, handle string) error {
	var deleting bool
	err := t.one("SELECT deleting FROM assignments WHERE class = ? AND handle = ?", []any{class, handle}, &deleting)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return school.NoAssignment(class + "/" + handle)
	case err != nil:
		return err
	case deleting:
		return school.Deleting(class+"/"+handle, "assignment "+class+"/"+handle)
	}
	return t.open(class)
}

// PutDeadline sets a user's personal deadline, see school.Assignments.
func (s *Store) PutDeadline(ctx context.Context, d school.Deadline) error {
	if err := core.CheckNames("class", d.Class, "assignment", d.Assignment, "user", d.User); err != nil {
		return err
	}
	doc, err := encode(d, d.User)
	if err != nil {
		return err
	}
	_, err = commit(ctx, s.committer, d.User, len(doc), func(t *tx) (int, error) {
		at := place{d.Class, d.Assignment, d.User}
		if d.Due == 0 && d.Cutoff == 0 {
			n, err := t.exec("DELETE FROM deadlines WHERE class = ? AND assignment = ? AND user = ?", d.Class, d.Assignment, d.User)
			if err == nil && n > 0 {
				err = t.moved(at)
			}
			return n, err
		}
		if err := t.takes(d.Class, d.Assignment); err != nil {
			return 0, err
		}
		if err := t.hasUser(d.User); err != nil {
			return 0, err
		}
		if err := t.room(school.DeadlineQuota, d.Class, "SELECT count(*) FROM deadlines WHERE class = ? AND NOT (assignment = ? AND user = ?)", d.Class, d.Assignment, d.User); err != nil {
			return 0, err
		}
		n, err := t.exec("INSERT INTO deadlines (class, assignment, user, doc) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET doc = excluded.doc",
			d.Class, d.Assignment, d.User, doc)
		if err == nil {
			err = t.moved(at)
		}
		return n, err
	})
	return err
}

// Deadlines lists personal deadlines, see school.Assignments.
func (s *Store) Deadlines(ctx context.Context, class, assignment, user string) ([]school.Deadline, error) {
	if err := core.CheckName("class", class); err != nil {
		return nil, err
	}
	query, args := selection("SELECT doc FROM deadlines", []condition{
		{"class = ?", class}, {"assignment = ?", assignment}, {"user = ?", user},
	})
	return documents[school.Deadline](ctx, s, query+" ORDER BY assignment, user", args...)
}

// condition is a term of a WHERE clause that is left out if its value is "".
type condition struct{ text, value string }

// selection adds the conditions with values to a query.
func selection(query string, conditions []condition) (string, []any) {
	var args []any
	between := " WHERE "
	for _, c := range conditions {
		if c.value != "" {
			query, args, between = query+between+c.text, append(args, c.value), " AND "
		}
	}
	return query, args
}
