package storetest

import (
	"fmt"
	"sync/atomic"
	"testing"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

func users(t *testing.T, s school.ResultStore) {
	ann := User("ann")
	ann.Name, ann.Roles, ann.Disabled = "Änn <&> 'O''Hara' \u2028", []core.UserRole{core.RoleAdmin, core.RoleObserver}, true
	ann = mustUser(t, s, ann)
	bob := mustUser(t, s, school.User{Handle: "bob"})
	mustUser(t, s, school.User{Handle: "cleo"}) // without an address, as bob
	for key, want := range map[string]school.User{"ann": ann, "ann@school.example": ann, "Ann@School.Example": ann, "bob": bob} {
		got, err := s.GetUser(t.Context(), key)
		require.NoError(t, err)
		require.Equal(t, want, got, key)
	}
	for _, key := range []string{"nobody", "nobody@school.example"} {
		_, err := s.GetUser(t.Context(), key)
		requireCode(t, core.CodeNotFound, err)
	}
	for _, key := range []string{"", "@", "a b", "../ann", "ann@", "ann@a@b"} {
		_, err := s.GetUser(t.Context(), key)
		requireCode(t, core.CodeInvalid, err)
	}
}

// usersEmail shows that an address has one user, and is free once that has another.
func usersEmail(t *testing.T, s school.ResultStore) {
	ann := mustUser(t, s, User("ann"))
	bob := User("bob")
	bob.Email = ann.Email
	_, err := s.PutUser(t.Context(), bob)
	requireCode(t, core.CodeConflict, err)
	require.ErrorContains(t, err, ann.Email)
	bob.Email = ""
	bob = mustUser(t, s, bob)
	bob.Email = ann.Email
	_, err = s.PutUser(t.Context(), bob)
	requireCode(t, core.CodeConflict, err)

	was := ann.Email
	ann.Email = "ann2@school.example"
	ann = mustUser(t, s, ann)
	_, err = s.GetUser(t.Context(), was)
	requireCode(t, core.CodeNotFound, err)
	bob.Email = was
	bob = mustUser(t, s, bob)
	got, err := s.GetUser(t.Context(), was)
	require.NoError(t, err)
	require.Equal(t, bob, got)
	require.NoError(t, s.DeleteUser(t.Context(), "ann"))
	bob.Email = ann.Email
	mustUser(t, s, bob)
}

func raceEmail(t *testing.T, s school.ResultStore) {
	var made atomic.Int32
	race(t, func(i int) error {
		u := User(fmt.Sprintf("u%d", i))
		u.Email = "same@school.example"
		_, err := s.PutUser(t.Context(), u)
		if err == nil {
			made.Add(1)
		}
		if core.Is(err, core.CodeConflict) {
			return nil
		}
		return err
	})
	require.EqualValues(t, 1, made.Load())
	all, err := s.ListUsers(t.Context(), "", 100)
	require.NoError(t, err)
	require.Len(t, all, 1)
}

func usersRefuse(t *testing.T, s school.ResultStore) {
	for name, c := range map[string]struct {
		change func(u *school.User)
		want   core.Code
	}{
		"no handle":  {func(u *school.User) { u.Handle = "" }, core.CodeInvalid},
		"upper case": {func(u *school.User) { u.Handle = "Ann" }, core.CodeInvalid},
		"a path":     {func(u *school.User) { u.Handle = "../ann" }, core.CodeInvalid},
	} {
		u := User("ann")
		c.change(&u)
		_, err := s.PutUser(t.Context(), u)
		require.Equal(t, c.want, core.CodeOf(err), name)
	}
	for _, limit := range []int{-1, 0, 1001} {
		_, err := s.ListUsers(t.Context(), "", limit)
		requireCode(t, core.CodeInvalid, err)
		_, err = s.ListClasses(t.Context(), "", limit)
		requireCode(t, core.CodeInvalid, err)
		_, err = s.Members(t.Context(), "cs101", "", limit)
		requireCode(t, core.CodeInvalid, err)
	}
	all, err := s.ListUsers(t.Context(), "", 1000)
	require.NoError(t, err)
	require.Empty(t, all)
}

// usersPages reads users page by page while some come and go.
func usersPages(t *testing.T, s school.ResultStore) {
	var want []string
	for i := range 25 {
		handle := fmt.Sprintf("u%02d", i)
		mustUser(t, s, User(handle))
		want = append(want, handle)
	}
	var got []string
	for after := ""; ; {
		page, err := s.ListUsers(t.Context(), after, 7)
		require.NoError(t, err)
		for _, u := range page {
			got = append(got, u.Handle)
		}
		if len(page) < 7 {
			break
		}
		gone := page[5+len(got)/7%2].Handle // in turn the one before the cursor, and the cursor itself
		require.NoError(t, s.DeleteUser(t.Context(), gone))
		mustUser(t, s, User(gone[:1]+"-"+gone[1:])) // before it
		after = page[6].Handle
	}
	require.Equal(t, want, got)
}

func usersDelete(t *testing.T, s school.ResultStore) {
	aClass(t, s, "ann", "bob", "cleo")
	requireCode(t, core.CodeNotFound, s.DeleteUser(t.Context(), "nobody"))
	mustEnrol(t, s, "ann")
	requireCode(t, core.CodeConflict, s.DeleteUser(t.Context(), "ann"))
	require.NoError(t, s.PutDeadline(t.Context(), school.Deadline{Class: "cs101", Assignment: "hw1", User: "ann", Due: 5, By: "tess"}))
	is, err := s.Drop(t.Context(), "cs101", "ann")
	require.NoError(t, err)
	require.True(t, is)
	mustCreateSubmission(t, s, Submission("cs101", "hw1", "bob"))
	requireCode(t, core.CodeConflict, s.DeleteUser(t.Context(), "bob"))
	require.NoError(t, s.DeleteUser(t.Context(), "ann"))
	_, err = s.GetUser(t.Context(), "ann")
	requireCode(t, core.CodeNotFound, err)
	own, err := s.Deadlines(t.Context(), "cs101", "", "")
	require.NoError(t, err)
	require.Empty(t, own, "they would be the next ann's")
	mustUser(t, s, User("ann")) // the name is free, and begins anew
}

func classes(t *testing.T, s school.ResultStore) {
	b, a := Class("b"), Class("a")
	b, a = mustClass(t, s, b), mustClass(t, s, a)
	b.Title, b.Deleting = "changed", true
	b = mustClass(t, s, b)
	got, err := s.GetClass(t.Context(), "b")
	require.NoError(t, err)
	require.Equal(t, b, got)
	all, err := s.ListClasses(t.Context(), "", 10)
	require.NoError(t, err)
	require.Equal(t, []school.Class{a, b}, all)
	all, err = s.ListClasses(t.Context(), "a", 1)
	require.NoError(t, err)
	require.Equal(t, []school.Class{b}, all)

	_, err = s.PutClass(t.Context(), Class("cs/101"))
	requireCode(t, core.CodeInvalid, err)
}

func classesDelete(t *testing.T, s school.ResultStore) {
	aClass(t, s, "ann", "bob")
	mustClass(t, s, Class("cs102"))
	mustEnrol(t, s, "ann", "bob")
	require.NoError(t, s.Enrol(t.Context(), school.Enrolment{Class: "cs102", User: "ann", Role: core.RoleTeacher}))
	requireCode(t, core.CodeNotFound, s.DeleteClass(t.Context(), "cs103"))
	requireCode(t, core.CodeConflict, s.DeleteClass(t.Context(), "cs101"))
	require.NoError(t, s.DeleteAssignment(t.Context(), "cs101", "hw1"))
	require.NoError(t, s.DeleteClass(t.Context(), "cs101"))
	_, err := s.GetClass(t.Context(), "cs101")
	requireCode(t, core.CodeNotFound, err)
	in, err := s.Memberships(t.Context(), "ann")
	require.NoError(t, err)
	require.Equal(t, []school.Enrolment{{Class: "cs102", User: "ann", Role: core.RoleTeacher}}, in)
	require.NoError(t, s.DeleteUser(t.Context(), "bob"), "bob is in no class any more")
	mustClass(t, s, Class("cs101"))
	members, err := s.Members(t.Context(), "cs101", "", 10)
	require.NoError(t, err)
	require.Empty(t, members, "a new class of an old name")
}

func enrolments(t *testing.T, s school.ResultStore) {
	aClass(t, s, "ann", "bob", "cleo")
	ctx := t.Context()
	requireCode(t, core.CodeNotFound, s.Enrol(ctx, school.Enrolment{Class: "cs101", User: "nobody", Role: core.RoleStudent}))
	requireCode(t, core.CodeNotFound, s.Enrol(ctx, school.Enrolment{Class: "none", User: "ann", Role: core.RoleStudent}))
	requireCode(t, core.CodeInvalid, s.Enrol(ctx, school.Enrolment{Class: "cs101", User: "a.b", Role: core.RoleStudent}))
	mustEnrol(t, s, "bob", "cleo", "ann")
	again := school.Enrolment{Class: "cs101", User: "bob", Role: core.RoleAssistant, Since: 7}
	require.NoError(t, s.Enrol(ctx, again))
	student := func(user string) school.Enrolment {
		return school.Enrolment{Class: "cs101", User: user, Role: core.RoleStudent, Since: 5}
	}
	members := func(after string, limit int) []school.Enrolment {
		t.Helper()
		all, err := s.Members(ctx, "cs101", after, limit)
		require.NoError(t, err)
		return all
	}
	require.Equal(t, []school.Enrolment{student("ann"), again, student("cleo")}, members("", 10))
	require.Equal(t, []school.Enrolment{again}, members("ann", 1))
	is, err := s.Drop(ctx, "cs101", "ann")
	require.NoError(t, err)
	require.True(t, is)
	is, err = s.Drop(ctx, "cs101", "ann")
	require.NoError(t, err)
	require.False(t, is)
	require.Equal(t, []school.Enrolment{again, student("cleo")}, members("ann", 10), "the cursor need not be there")

	class, err := s.GetClass(ctx, "cs101")
	require.NoError(t, err)
	class.Deleting = true
	mustClass(t, s, class)
	requireCode(t, core.CodeConflict, s.Enrol(ctx, student("ann")))
	is, err = s.Drop(ctx, "cs101", "bob")
	require.NoError(t, err)
	require.True(t, is)
}

func memberships(t *testing.T, s school.ResultStore) {
	mustUser(t, s, User("ann"))
	var want []school.Enrolment
	for i := range school.MaxMemberships {
		want = append(want, school.Enrolment{Class: fmt.Sprintf("c%03d", i), User: "ann", Role: core.RoleStudent, Since: int64(i)})
	}
	together(t, len(want), func(i int) error {
		_, err := s.PutClass(t.Context(), Class(want[i].Class))
		if err == nil {
			err = s.Enrol(t.Context(), want[i])
		}
		return err
	})
	mustClass(t, s, Class("one-more"))
	requireCode(t, core.CodeLimit, s.Enrol(t.Context(), school.Enrolment{Class: "one-more", User: "ann", Role: core.RoleStudent}))
	require.NoError(t, s.Enrol(t.Context(), want[7]), "those that are there can be changed")
	got, err := s.Memberships(t.Context(), "ann")
	require.NoError(t, err)
	require.Equal(t, want, got)
	got, err = s.Memberships(t.Context(), "nobody")
	require.NoError(t, err)
	require.Empty(t, got)
}
