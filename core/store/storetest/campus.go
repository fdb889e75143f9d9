package storetest

import (
	"cmp"
	"context"
	"slices"
	"testing"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// campus is what a store should hold of roster and coursework. Its names begin
// with what no other campus in the store has.
type campus struct {
	prefix      string
	users       map[string]school.User
	classes     map[string]school.Class
	enrolled    map[[2]string]school.Enrolment // by class and user
	assignments map[[2]string]school.Assignment
	handed      []*handed // oldest first
}

// modelSchool does random things to a few users, classes and assignments and
// compares the store's answers, and what it holds then, with a model's.
func modelSchool(t *testing.T, s school.ResultStore) {
	rapid.Check(t, func(rt *rapid.T) {
		c := &campus{
			prefix: NewID(), users: map[string]school.User{}, classes: map[string]school.Class{},
			enrolled: map[[2]string]school.Enrolment{}, assignments: map[[2]string]school.Assignment{},
		}
		ctx := t.Context()
		c.begin(ctx, rt, s)
		rt.Repeat(map[string]func(*rapid.T){
			"user":       func(rt *rapid.T) { c.putUser(ctx, rt, s) },
			"remove":     func(rt *rapid.T) { c.deleteUser(ctx, rt, s) },
			"class":      func(rt *rapid.T) { c.putClass(ctx, rt, s) },
			"unclass":    func(rt *rapid.T) { c.deleteClass(ctx, rt, s) },
			"enrol":      func(rt *rapid.T) { c.enrol(ctx, rt, s) },
			"drop":       func(rt *rapid.T) { c.drop(ctx, rt, s) },
			"assignment": func(rt *rapid.T) { c.putAssignment(ctx, rt, s) },
			"unassign":   func(rt *rapid.T) { c.deleteAssignment(ctx, rt, s) },
			"submit":     func(rt *rapid.T) { c.submit(ctx, rt, s) },
			"submit too": func(rt *rapid.T) { c.submit(ctx, rt, s) }, // twice as often as the others
			"record":     func(rt *rapid.T) { c.record(ctx, rt, s) },
			"bind":       func(rt *rapid.T) { c.bind(ctx, rt, s) },
			"grade":      func(rt *rapid.T) { c.grade(ctx, rt, s) },
			"clear":      func(rt *rapid.T) { c.clear(ctx, rt, s) },
			"":           func(rt *rapid.T) { c.check(ctx, rt, s) },
		})
	})
}

// draw names one of three things of a kind, mostly the first, which is there from
// the start.
func (c *campus) draw(rt *rapid.T, kind string) string {
	return c.prefix + "-" + kind + rapid.SampledFrom([]string{"a", "a", "a", "b", "c"}).Draw(rt, kind)
}

// begin makes the first user, class and assignment.
func (c *campus) begin(ctx context.Context, rt *rapid.T, s school.ResultStore) {
	u, class := school.User{Handle: c.prefix + "-usera"}, Class(c.prefix+"-classa")
	a := Assignment(class.Handle, c.prefix+"-hwa")
	for _, put := range []func() (int64, error){
		func() (int64, error) { return s.PutUser(ctx, u) },
		func() (int64, error) { return s.PutClass(ctx, class) },
		func() (int64, error) { return s.PutAssignment(ctx, a) },
	} {
		revision, err := put()
		require.NoError(rt, err)
		require.EqualValues(rt, 1, revision)
	}
	u.Revision, class.Revision, a.Revision = 1, 1, 1
	c.users[u.Handle], c.classes[class.Handle], c.assignments[[2]string{a.Class, a.Handle}] = u, class, a
}

// revision draws the revision that a change names, mostly the right one, and
// says what the store should answer.
func revision(rt *rapid.T, is bool, current int64) (int64, core.Code) {
	n := max(0, current+rapid.SampledFrom([]int64{0, 0, 0, 1, -1}).Draw(rt, "revision off"))
	switch {
	case n == current: // of what is not there, it is 0
		return n, ""
	case is:
		return n, core.CodeConflict
	}
	return n, core.CodeNotFound
}

func answered(rt *rapid.T, want core.Code, err error) bool {
	require.Equal(rt, want, core.CodeOf(err), "%v", err)
	return err == nil
}

func (c *campus) putUser(ctx context.Context, rt *rapid.T, s school.ResultStore) {
	u := school.User{Handle: c.draw(rt, "user"), Name: rapid.SampledFrom([]string{"", "x", "ü"}).Draw(rt, "name")}
	if mail := rapid.SampledFrom([]string{"", "a", "b"}).Draw(rt, "mail"); mail != "" {
		u.Email = mail + "@" + c.prefix
	}
	was, is := c.users[u.Handle]
	n, want := revision(rt, is, was.Revision)
	u.Revision = n
	for _, other := range c.users {
		if want == "" && u.Email != "" && other.Email == u.Email && other.Handle != u.Handle {
			want = core.CodeConflict
		}
	}
	got, err := s.PutUser(ctx, u)
	if want == core.CodeNotFound && core.Is(err, core.CodeConflict) {
		return // gone, and its address another's: either answer is true
	}
	if answered(rt, want, err) {
		u.Revision++
		require.Equal(rt, u.Revision, got)
		c.users[u.Handle] = u
	}
}

func (c *campus) deleteUser(ctx context.Context, rt *rapid.T, s school.ResultStore) {
	handle := c.draw(rt, "user")
	_, is := c.users[handle]
	want := core.Code("")
	if !is {
		want = core.CodeNotFound
	}
	for _, e := range c.enrolled {
		if e.User == handle {
			want = core.CodeConflict
		}
	}
	if slices.ContainsFunc(c.handed, func(h *handed) bool { return h.sub.User == handle }) {
		want = core.CodeConflict
	}
	if answered(rt, want, s.DeleteUser(ctx, handle)) {
		delete(c.users, handle)
	}
}

func (c *campus) putClass(ctx context.Context, rt *rapid.T, s school.ResultStore) {
	class := school.Class{Handle: c.draw(rt, "class"), Title: "t", Deleting: rapid.IntRange(0, 4).Draw(rt, "deleting") == 0}
	was, is := c.classes[class.Handle]
	n, want := revision(rt, is, was.Revision)
	class.Revision = n
	got, err := s.PutClass(ctx, class)
	if answered(rt, want, err) {
		class.Revision++
		require.Equal(rt, class.Revision, got)
		c.classes[class.Handle] = class
	}
}

func (c *campus) deleteClass(ctx context.Context, rt *rapid.T, s school.ResultStore) {
	handle := c.draw(rt, "class")
	_, is := c.classes[handle]
	want := core.Code("")
	if !is {
		want = core.CodeNotFound
	}
	for at := range c.assignments {
		if at[0] == handle {
			want = core.CodeConflict
		}
	}
	if answered(rt, want, s.DeleteClass(ctx, handle)) {
		delete(c.classes, handle)
		for at := range c.enrolled {
			if at[0] == handle {
				delete(c.enrolled, at)
			}
		}
	}
}

// open says what a class answers to what is new.
func (c *campus) open(class string) core.Code {
	is, ok := c.classes[class]
	switch {
	case !ok:
		return core.CodeNotFound
	case is.Deleting:
		return core.CodeConflict
	}
	return ""
}

func (c *campus) enrol(ctx context.Context, rt *rapid.T, s school.ResultStore) {
	e := school.Enrolment{Class: c.draw(rt, "class"), User: c.draw(rt, "user"), Role: rapid.SampledFrom([]core.UserRole{core.RoleStudent, core.RoleTeacher}).Draw(rt, "role")}
	want := c.open(e.Class)
	if _, is := c.users[e.User]; !is {
		want = cmp.Or(want, core.CodeNotFound)
	}
	if answered(rt, want, s.Enrol(ctx, e)) {
		c.enrolled[[2]string{e.Class, e.User}] = e
	}
}

func (c *campus) drop(ctx context.Context, rt *rapid.T, s school.ResultStore) {
	at := [2]string{c.draw(rt, "class"), c.draw(rt, "user")}
	_, want := c.enrolled[at]
	is, err := s.Drop(ctx, at[0], at[1])
	require.NoError(rt, err)
	require.Equal(rt, want, is)
	delete(c.enrolled, at)
}

func (c *campus) putAssignment(ctx context.Context, rt *rapid.T, s school.ResultStore) {
	a := Assignment(c.draw(rt, "class"), c.draw(rt, "hw"))
	a.Deleting = rapid.IntRange(0, 4).Draw(rt, "deleting") == 0
	was, is := c.assignments[[2]string{a.Class, a.Handle}]
	n, want := revision(rt, is, was.Revision)
	a.Revision = n
	if open := c.open(a.Class); open != "" && (open != core.CodeConflict || !a.Deleting) {
		want = open
	}
	got, err := s.PutAssignment(ctx, a)
	if answered(rt, want, err) {
		a.Revision++
		require.Equal(rt, a.Revision, got)
		c.assignments[[2]string{a.Class, a.Handle}] = a
	}
}

func (c *campus) deleteAssignment(ctx context.Context, rt *rapid.T, s school.ResultStore) {
	at := [2]string{c.draw(rt, "class"), c.draw(rt, "hw")}
	_, is := c.assignments[at]
	want := core.Code("")
	if !is {
		want = core.CodeNotFound
	}
	if slices.ContainsFunc(c.handed, func(h *handed) bool { return h.at() == at }) {
		want = core.CodeConflict
	}
	if answered(rt, want, s.DeleteAssignment(ctx, at[0], at[1])) {
		delete(c.assignments, at)
	}
}
