package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"drover/core"
	"drover/core/store/bounds"
)

// PutAssignment makes or changes an assignment, see core.Assignments.
func (s *Store) PutAssignment(ctx context.Context, a core.Assignment) (int64, error) {
	if err := bounds.Assignment(a); err != nil {
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
		return t.put(row)
	})
}

// GetAssignment returns an assignment, see core.Assignments.
func (s *Store) GetAssignment(ctx context.Context, class, handle string) (core.Assignment, error) {
	return single[core.Assignment](ctx, s, noAssignment(class, handle), "SELECT doc FROM assignments WHERE class = ? AND handle = ?", class, handle)
}

func noAssignment(class, handle string) error {
	name := class + "/" + handle
	return core.Errorf(core.CodeNotFound, name, "there is no assignment %s: see drover assignment list", name)
}

// ListAssignments lists those of a class, see core.Assignments.
func (s *Store) ListAssignments(ctx context.Context, class, after string, limit int) ([]core.Assignment, error) {
	if err := bounds.Rows(limit); err != nil {
		return nil, err
	}
	return documents[core.Assignment](ctx, s, "SELECT doc FROM assignments WHERE class = ? AND handle > ? ORDER BY handle LIMIT ?", class, after, limit)
}

// DeleteAssignment removes an assignment, see core.Assignments.
func (s *Store) DeleteAssignment(ctx context.Context, class, handle string) error {
	name := class + "/" + handle
	_, err := commit(ctx, s.committer, name, 0, func(t *tx) (int, error) {
		if is, err := t.any("SELECT 1 FROM submissions WHERE class = ? AND assignment = ?", class, handle); err != nil || is {
			return 0, conflict(err, name, "assignment %s has submissions: delete them first", name)
		}
		n, err := t.exec("DELETE FROM assignments WHERE class = ? AND handle = ?", class, handle)
		if err == nil && n == 0 {
			return 0, noAssignment(class, handle)
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

// takes returns nil if the assignment is there, and neither it nor its class is being deleted.
func (t *tx) takes(class, handle string) error {
	var deleting bool
	err := t.one("SELECT deleting FROM assignments WHERE class = ? AND handle = ?", []any{class, handle}, &deleting)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return noAssignment(class, handle)
	case err != nil:
		return err
	case deleting:
		return core.Errorf(core.CodeConflict, handle, "assignment %s/%s is being deleted", class, handle)
	}
	return t.open(class)
}

// PutDeadline sets a user's own deadline, see core.Assignments.
func (s *Store) PutDeadline(ctx context.Context, d core.Deadline) error {
	if err := bounds.Deadline(d); err != nil {
		return err
	}
	doc, err := encode(d, d.User)
	if err != nil {
		return err
	}
	_, err = commit(ctx, s.committer, d.User, len(doc), func(t *tx) (int, error) {
		if d.Due == 0 && d.Cutoff == 0 {
			return t.exec("DELETE FROM deadlines WHERE class = ? AND assignment = ? AND user = ?", d.Class, d.Assignment, d.User)
		}
		if err := t.takes(d.Class, d.Assignment); err != nil {
			return 0, err
		}
		if err := t.hasUser(d.User); err != nil {
			return 0, err
		}
		var others int
		err := t.one("SELECT count(*) FROM deadlines WHERE class = ? AND NOT (assignment = ? AND user = ?)", []any{d.Class, d.Assignment, d.User}, &others)
		if err != nil {
			return 0, err
		}
		if others >= bounds.MaxDeadlines {
			return 0, core.Errorf(core.CodeLimit, d.Class, "class %s has %d personal deadlines, the most there may be: move the assignments' own", d.Class, others)
		}
		return t.exec("INSERT INTO deadlines (class, assignment, user, doc) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET doc = excluded.doc",
			d.Class, d.Assignment, d.User, doc)
	})
	return err
}

// Deadlines lists personal deadlines, see core.Assignments.
func (s *Store) Deadlines(ctx context.Context, class, assignment, user string) ([]core.Deadline, error) {
	if err := core.CheckName("class", class); err != nil {
		return nil, err
	}
	query, args := selection("SELECT doc FROM deadlines", []condition{
		{"class = ?", class}, {"assignment = ?", assignment}, {"user = ?", user},
	})
	return documents[core.Deadline](ctx, s, query+" ORDER BY assignment, user", args...)
}

// condition is a term of a WHERE that counts unless its value is "".
type condition struct{ text, value string }

// selection adds the conditions that count to a query.
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
