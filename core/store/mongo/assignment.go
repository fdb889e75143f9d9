package mongo

import (
	"cmp"
	"context"
	"strings"

	"drover/core"
	"drover/core/school"
	"drover/core/store/bounds"
)

// nameOf returns the id of an assignment's document; splitName is the reverse.
func nameOf(class, handle string) string { return class + "/" + handle }

func splitName(id string) (class, handle string) {
	class, handle, _ = strings.Cut(id, "/")
	return class, handle
}

// PutAssignment makes or changes an assignment, see school.Assignments.
func (s *Store) PutAssignment(ctx context.Context, a school.Assignment) (int64, error) {
	if err := cmp.Or(core.CheckNames("class", a.Class, "assignment", a.Handle), core.CheckRevision(a.Handle, a.Revision)); err != nil {
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
	if r.revision > 0 {
		return s.revisedRules(ctx, r, &a)
	}
	revision, err := s.revise(ctx, r)
	if err != nil {
		return revision, err
	}
	if err := s.openClass(ctx, a.Class); err != nil && (!a.Deleting || !core.Is(err, core.CodeConflict)) {
		_, failed := s.remove(ctx, assignments, m{"_id": name, "revision": revision}) // the class was deleted in the meantime
		return 0, cmp.Or(failed, err)
	}
	return revision, nil
}

// revisedRules changes an assignment, and which submissions count by its rules.
func (s *Store) revisedRules(ctx context.Context, r revised, a *school.Assignment) (int64, error) {
	was, err := s.GetAssignment(ctx, a.Class, a.Handle)
	if err != nil && !core.Is(err, core.CodeNotFound) {
		return 0, err
	}
	if was.SameOrder(a) {
		return s.revise(ctx, r)
	}
	mark := token()
	r.fields[weighed] = mark
	revision, err := s.revise(ctx, r)
	if err == nil {
		err = s.competeAll(ctx, r.id)
	}
	if err == nil {
		err = s.unmark(ctx, assignments, r.id, mark)
	}
	return revision, err
}

// GetAssignment returns an assignment, see school.Assignments.
func (s *Store) GetAssignment(ctx context.Context, class, handle string) (school.Assignment, error) {
	return single[school.Assignment](ctx, s, school.NoAssignment(nameOf(class, handle)), assignments, m{"_id": nameOf(class, handle)})
}

// ListAssignments lists assignments of a class, see school.Assignments.
func (s *Store) ListAssignments(ctx context.Context, class, after string, limit int) ([]school.Assignment, error) {
	if err := bounds.Rows(limit); err != nil {
		return nil, err
	}
	return documents[school.Assignment](ctx, s, assignments, m{"class": class, "handle": m{"$gt": after}}, by("handle"), limit)
}

// DeleteAssignment removes an assignment, see school.Assignments.
func (s *Store) DeleteAssignment(ctx context.Context, class, handle string) error {
	name := nameOf(class, handle)
	return s.delete(ctx, deletion{
		what: "assignment " + name, in: assignments, id: name, none: school.NoAssignment(name),
		hindered: func(ctx context.Context) error {
			n, err := s.count(ctx, submissions, m{"class": class, "assignment": handle}, 1)
			if err == nil && n > 0 {
				err = school.AssignmentHasSubmissions(name)
			}
			return err
		},
	})
}

// openAssignment returns nil if a document may refer to the assignment.
func (s *Store) openAssignment(ctx context.Context, class, handle string) error {
	name := nameOf(class, handle)
	return s.open(ctx, assignments, name, "assignment "+name, school.NoAssignment(name))
}

// takes returns nil if a document may refer to the assignment, and to the user, if one is named.
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

// hang inserts a document that refers to an assignment and perhaps a user. If one of them was deleted in the
// meantime, it removes the document again, provided that the filter mine still matches. Make returns whether it
// inserted the document.
func (s *Store) hang(ctx context.Context, in string, mine m, class, handle, user string, make func() (bool, error)) (bool, error) {
	if err := s.takes(ctx, class, handle, user); err != nil {
		return false, err
	}
	is, err := make()
	if err != nil || !is {
		return false, err
	}
	if err := s.takes(ctx, class, handle, user); err != nil {
		n, failed := s.remove(ctx, in, mine)
		if failed == nil && n == 0 { // another call saw the document and adopted it
			n, failed = s.count(ctx, in, m{"_id": mine["_id"]}, 1)
			if failed == nil && n == 1 {
				return true, nil
			}
		}
		return false, cmp.Or(failed, err)
	}
	return true, nil
}

// PutDeadline sets a user's personal deadline, see school.Assignments.
func (s *Store) PutDeadline(ctx context.Context, d school.Deadline) error {
	if err := core.CheckNames("class", d.Class, "assignment", d.Assignment, "user", d.User); err != nil {
		return err
	}
	id, mark := strings.Join([]string{d.Class, d.Assignment, d.User}, "/"), token()
	if d.Due == 0 && d.Cutoff == 0 {
		is, err := s.change(ctx, deadlines, m{"_id": id, "gone": absent}, m{"$set": m{"gone": true, weighed: mark}})
		if err == nil && is {
			err = s.moved(ctx, id, mark)
		}
		return err
	}
	doc, err := encode(d, d.User)
	if err != nil {
		return err
	}
	_, err = s.hang(ctx, deadlines, m{"_id": id}, d.Class, d.Assignment, d.User, func() (bool, error) {
		if err := s.room(ctx, school.DeadlineQuota, d.Class, deadlines, m{"class": d.Class, "_id": m{"$ne": id}, "gone": absent}); err != nil {
			return false, err
		}
		set := m{"class": d.Class, "assignment": d.Assignment, "user": d.User, "json": doc, "gone": absent, weighed: mark}
		return true, s.put(ctx, deadlines, id, set)
	})
	if err == nil {
		err = s.moved(ctx, id, mark)
	}
	return err
}

// Deadlines lists personal deadlines, see school.Assignments.
func (s *Store) Deadlines(ctx context.Context, class, assignment, user string) ([]school.Deadline, error) {
	if err := core.CheckName("class", class); err != nil {
		return nil, err
	}
	which := selection(map[string]string{"class": class, "assignment": assignment, "user": user})
	return documents[school.Deadline](ctx, s, deadlines, which, by("assignment", "user"), 0)
}
