package mongo

import (
	"context"
	"strings"

	"drover/core"
	"drover/core/store/bounds"
)

// nameOf is the id of an assignment's document, splitName takes it apart.
func nameOf(class, handle string) string { return class + "/" + handle }

func splitName(id string) (class, handle string) {
	class, handle, _ = strings.Cut(id, "/")
	return class, handle
}

// PutAssignment makes or changes an assignment, see core.Assignments.
func (s *Store) PutAssignment(ctx context.Context, a core.Assignment) (int64, error) {
	if err := bounds.Assignment(a); err != nil {
		return 0, err
	}
	name := a.Name()
	r := revised{what: "assignment " + name, in: assignments, id: name, name: name, revision: a.Revision}
	a.Revision++
	doc, err := encode(a, name)
	if err != nil {
		return 0, err
	}
	r.fields = m{"class": a.Class, "handle": a.Handle, "json": doc, "deleting": a.Deleting}
	if err := s.openClass(ctx, a.Class); err != nil && (!a.Deleting || !core.Is(err, core.CodeConflict)) {
		return 0, err
	}
	revision, err := s.revise(ctx, r)
	if err != nil || r.revision > 0 {
		return revision, err
	}
	if err := s.openClass(ctx, a.Class); err != nil && (!a.Deleting || !core.Is(err, core.CodeConflict)) {
		_, failed := s.remove(ctx, assignments, m{"_id": name, "revision": revision}) // the class was deleted meanwhile
		return 0, first(failed, err)
	}
	return revision, nil
}

// first returns the first error there is.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// GetAssignment returns an assignment, see core.Assignments.
func (s *Store) GetAssignment(ctx context.Context, class, handle string) (core.Assignment, error) {
	return single[core.Assignment](ctx, s, noAssignment(class, handle), assignments, m{"_id": nameOf(class, handle)})
}

func noAssignment(class, handle string) error {
	name := nameOf(class, handle)
	return core.Errorf(core.CodeNotFound, name, "there is no assignment %s: see drover assignment list", name)
}

// ListAssignments lists those of a class, see core.Assignments.
func (s *Store) ListAssignments(ctx context.Context, class, after string, limit int) ([]core.Assignment, error) {
	if err := bounds.Rows(limit); err != nil {
		return nil, err
	}
	return documents[core.Assignment](ctx, s, assignments, m{"class": class, "handle": m{"$gt": after}}, by("handle"), limit)
}

// DeleteAssignment removes an assignment, see core.Assignments.
func (s *Store) DeleteAssignment(ctx context.Context, class, handle string) error {
	name := nameOf(class, handle)
	return s.delete(ctx, deletion{
		what: "assignment " + name, in: assignments, id: name, none: noAssignment(class, handle),
		hindered: func(ctx context.Context) error {
			n, err := s.count(ctx, submissions, m{"class": class, "assignment": handle}, 1)
			if err == nil && n > 0 {
				err = core.Errorf(core.CodeConflict, name, "assignment %s has submissions: delete them first", name)
			}
			return err
		},
	})
}

// openAssignment returns nil if an assignment is there, to have something hung on it.
func (s *Store) openAssignment(ctx context.Context, class, handle string) error {
	name := nameOf(class, handle)
	return s.open(ctx, assignments, name, "assignment "+name, noAssignment(class, handle))
}

// takes returns nil if something can be hung on an assignment and on a user, if one is named.
func (s *Store) takes(ctx context.Context, class, handle, user string) error {
	if err := s.openAssignment(ctx, class, handle); err != nil {
		return err
	}
	if err := s.openClass(ctx, class); err != nil {
		return err
	}
	if user == "" {
		return nil
	}
	return s.openUser(ctx, user)
}

// hang makes a document that hangs on an assignment and perhaps a user, and takes it off again
// if one of them was deleted meanwhile. make returns whether it made the document.
func (s *Store) hang(ctx context.Context, in, id, class, handle, user string, make func() (bool, error)) (bool, error) {
	if err := s.takes(ctx, class, handle, user); err != nil {
		return false, err
	}
	is, err := make()
	if err != nil || !is {
		return false, err
	}
	if err := s.takes(ctx, class, handle, user); err != nil {
		_, failed := s.remove(ctx, in, m{"_id": id})
		return false, first(failed, err)
	}
	return true, nil
}

// PutDeadline sets a user's own deadline, see core.Assignments.
func (s *Store) PutDeadline(ctx context.Context, d core.Deadline) error {
	if err := bounds.Deadline(d); err != nil {
		return err
	}
	id := strings.Join([]string{d.Class, d.Assignment, d.User}, "/")
	if d.Due == 0 && d.Cutoff == 0 {
		_, err := s.remove(ctx, deadlines, m{"_id": id})
		return err
	}
	doc, err := encode(d, d.User)
	if err != nil {
		return err
	}
	_, err = s.hang(ctx, deadlines, id, d.Class, d.Assignment, d.User, func() (bool, error) {
		others, err := s.count(ctx, deadlines, m{"class": d.Class, "_id": m{"$ne": id}}, bounds.MaxDeadlines)
		if err != nil {
			return false, err
		}
		if others >= bounds.MaxDeadlines {
			return false, core.Errorf(core.CodeLimit, d.Class, "class %s has %d personal deadlines, the most there may be: move the assignments' own", d.Class, others)
		}
		return true, s.put(ctx, deadlines, id, m{"class": d.Class, "assignment": d.Assignment, "user": d.User, "json": doc})
	})
	return err
}

// Deadlines lists personal deadlines, see core.Assignments.
func (s *Store) Deadlines(ctx context.Context, class, assignment, user string) ([]core.Deadline, error) {
	if err := core.CheckName("class", class); err != nil {
		return nil, err
	}
	which := selection(map[string]string{"class": class, "assignment": assignment, "user": user})
	return documents[core.Deadline](ctx, s, deadlines, which, by("assignment", "user"), 0)
}
