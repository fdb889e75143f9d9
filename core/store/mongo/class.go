package mongo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"drover/core"
	"drover/core/school"
	"drover/core/store/bounds"
)

// PutClass makes or changes a class, see school.Roster.
func (s *Store) PutClass(ctx context.Context, c school.Class) (int64, error) {
	if err := cmp.Or(core.CheckName("class", c.Handle), core.CheckRevision(c.Handle, c.Revision)); err != nil {
		return 0, err
	}
	r := revised{what: "class " + c.Handle, in: classes, id: c.Handle, name: c.Handle, revision: c.Revision}
	c.Revision++
	doc, err := encode(c, c.Handle)
	if err != nil {
		return 0, err
	}
	r.fields = m{"json": doc, "deleting": c.Deleting}
	return s.revise(ctx, r)
}

// GetClass returns a class, see school.Roster.
func (s *Store) GetClass(ctx context.Context, handle string) (school.Class, error) {
	return single[school.Class](ctx, s, school.NoClass(handle), classes, m{"_id": handle})
}

// ListClasses lists classes, see school.Roster.
func (s *Store) ListClasses(ctx context.Context, after string, limit int) ([]school.Class, error) {
	if err := bounds.Rows(limit); err != nil {
		return nil, err
	}
	return documents[school.Class](ctx, s, classes, m{"_id": m{"$gt": after}}, by("_id"), limit)
}

// DeleteClass removes a class, see school.Roster.
func (s *Store) DeleteClass(ctx context.Context, handle string) error {
	return s.delete(ctx, deletion{
		what: "class " + handle, in: classes, id: handle, none: school.NoClass(handle),
		hindered: func(ctx context.Context) error {
			n, err := s.count(ctx, assignments, m{"class": handle, "gone": absent}, 1)
			if err == nil && n > 0 {
				err = school.ClassHasAssignments(handle)
			}
			return err
		},
	})
}

// openClass returns nil if a document may refer to the class.
func (s *Store) openClass(ctx context.Context, handle string) error {
	return s.open(ctx, classes, handle, "class "+handle, school.NoClass(handle))
}

// member is the part of a user's document about the user's classes: enrolments are kept there, so that an enrolled
// user cannot be deleted.
type member struct {
	ID      string              `bson:"_id"`
	Classes []string            `bson:"classes"` // for searches
	In      map[string]enrolled `bson:"in"`
}

type enrolled struct {
	Role  core.UserRole `bson:"role"`
	Since int64         `bson:"since"`

	Section string `bson:"section,omitempty"`
}

// Enrol puts a user into a class, see school.Roster.
func (s *Store) Enrol(ctx context.Context, e school.Enrolment) error {
	if err := core.CheckNames("class", e.Class, "user", e.User); err != nil {
		return err
	}
	if err := s.openClass(ctx, e.Class); err != nil {
		return err
	}
	place := m{"$set": m{"in." + e.Class: enrolled{e.Role, e.Since, e.Section}}, "$addToSet": m{"classes": e.Class}}
	for _, which := range []m{
		{"_id": e.User, "gone": absent, "classes": e.Class},
		{"_id": e.User, "gone": absent, fmt.Sprintf("classes.%d", school.MaxMemberships-1): m{"$exists": false}},
	} {
		is, err := s.change(ctx, users, which, place)
		if err != nil {
			return err
		}
		if !is {
			continue
		}
		if err := s.openClass(ctx, e.Class); err != nil { // it was deleted in the meantime
			_, _ = s.Drop(ctx, e.Class, e.User) // if that fails, the creation of a class with this name does it
			return err
		}
		return nil
	}
	if err := s.openUser(ctx, e.User); err != nil {
		return err
	}
	return school.MembershipQuota.Check(e.User, school.MaxMemberships)
}

// Drop takes a user out of a class, see school.Roster.
func (s *Store) Drop(ctx context.Context, class, user string) (bool, error) {
	if !core.ValidName(class) {
		return false, nil
	}
	return s.change(ctx, users, m{"_id": user, "classes": class}, dropFrom(class))
}

func dropFrom(class string) m {
	return m{"$unset": m{"in." + class: ""}, "$pull": m{"classes": class}}
}

// dismiss removes all users from a class.
func (s *Store) dismiss(ctx context.Context, class string) error {
	return s.changeAll(ctx, users, m{"classes": class}, dropFrom(class))
}

// Members lists the members of a class, see school.Roster.
func (s *Store) Members(ctx context.Context, class, after string, limit int) ([]school.Enrolment, error) {
	if err := bounds.Rows(limit); err != nil {
		return nil, err
	}
	if !core.ValidName(class) {
		return nil, nil
	}
	docs, err := some[member](ctx, s, users, m{"classes": class, "_id": m{"$gt": after}}, by("_id"), limit, "in."+class)
	var all []school.Enrolment
	for _, doc := range docs {
		all = append(all, doc.enrolments()...)
	}
	return all, err
}

// Memberships lists the classes of a user, see school.Roster.
func (s *Store) Memberships(ctx context.Context, user string) ([]school.Enrolment, error) {
	doc, _, err := one[member](ctx, s, users, m{"_id": user, "gone": absent}, "in")
	return doc.enrolments(), err
}

func (d *member) enrolments() []school.Enrolment {
	var all []school.Enrolment
	for class, e := range d.In {
		all = append(all, school.Enrolment{Class: class, User: d.ID, Role: e.Role, Since: e.Since, Section: e.Section})
	}
	slices.SortFunc(all, func(a, b school.Enrolment) int { return strings.Compare(a.Class, b.Class) })
	return all
}
