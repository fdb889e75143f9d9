package classes_test

import (
	"testing"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestActor(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	a := w.as("tess")
	assert.Equal(t, map[string]core.UserRole{"cs101": core.RoleTeacher}, a.In)
	_, err := w.reg.Actor(t.Context(), "ghost")
	requireCode(t, core.CodeNotFound, err)
	u, err := w.reg.Store.GetUser(t.Context(), "tess")
	require.NoError(t, err)
	u.Disabled = true
	require.NoError(t, done(w.reg.EditUser(t.Context(), w.as("root"), u)))
	_, err = w.reg.Actor(t.Context(), "tess")
	requireCode(t, core.CodeForbidden, err)
}

// Whatever one tries, somebody stays admin.
func TestLastAdmin(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	root := w.as("root")
	u, err := w.reg.Store.GetUser(ctx, "root")
	require.NoError(t, err)
	stepDown := func() error {
		less := u
		less.Roles = []core.UserRole{core.RoleOperator}
		return done(w.reg.EditUser(ctx, root, less))
	}
	disable := func() error {
		off := u
		off.Disabled = true
		return done(w.reg.EditUser(ctx, root, off))
	}
	leave := func() error { return w.reg.DeleteUser(ctx, root, "root") }
	for _, try := range []func() error{stepDown, disable, leave} {
		requireCode(t, core.CodeConflict, try())
	}
	other, err := w.reg.CreateUser(ctx, root, school.User{Handle: "second", Roles: []core.UserRole{core.RoleAdmin}, Disabled: true})
	require.NoError(t, err)
	requireCode(t, core.CodeConflict, leave()) // one who is disabled leads nobody
	other.Disabled = false
	require.NoError(t, done(w.reg.EditUser(ctx, root, other)))
	require.NoError(t, leave())
	requireCode(t, core.CodeConflict, w.reg.DeleteUser(ctx, w.as("second"), "second"))
}

func TestUsers(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	root := w.as("root")
	for _, handle := range []string{"drover", "local-root", "experiment-cs101", "Ann", ""} {
		requireCode(t, core.CodeInvalid, done(w.reg.CreateUser(ctx, root, school.User{Handle: handle})))
	}
	requireCode(t, core.CodeConflict, done(w.reg.CreateUser(ctx, root, school.User{Handle: "ann"})))
	requireCode(t, core.CodeConflict, done(w.reg.CreateUser(ctx, root, school.User{Handle: "anna", Email: " ANN@example.org "})))
	requireCode(t, core.CodeInvalid, done(w.reg.CreateUser(ctx, root, school.User{Handle: "anna", Roles: []core.UserRole{core.RoleTeacher}})))
	u, err := w.reg.CreateUser(ctx, root, school.User{Handle: "anna", Name: "Anna", Revision: 7, Created: 1})
	require.NoError(t, err)
	assert.EqualValues(t, 1, u.Revision)
	assert.Greater(t, u.Created, start)

	u.Name = "Anna B."
	blind := u
	blind.Revision = 0
	requireCode(t, core.CodeInvalid, done(w.reg.EditUser(ctx, root, blind)))
	loud := u
	loud.Name = "Anna\a"
	requireCode(t, core.CodeInvalid, done(w.reg.EditUser(ctx, root, loud)))
	edited, err := w.reg.EditUser(ctx, root, u)
	require.NoError(t, err)
	assert.EqualValues(t, 2, edited.Revision)
	u.Name = "Anna C."
	requireCode(t, core.CodeConflict, done(w.reg.EditUser(ctx, root, u)))
	w.log.clear()
	same, err := w.reg.EditUser(ctx, root, edited)
	require.NoError(t, err)
	assert.Equal(t, edited, same)
	assert.Empty(t, w.log.names, "nothing changes")
	requireCode(t, core.CodeConflict, w.reg.DeleteUser(ctx, root, "ann")) // she is in a class
	requireCode(t, core.CodeNotFound, w.reg.DeleteUser(ctx, root, "ghost"))

	p, err := w.reg.ViewUser(ctx, w.as("ann"), "ann")
	require.NoError(t, err)
	assert.Equal(t, "cs101", p.Classes[0].Class)
}

// One's own and others' roles: nobody takes what one may not give.
func TestRolesInClass(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	tess, tina := w.as("tess"), w.as("tina")
	requireCode(t, core.CodeForbidden, w.reg.Enrol(ctx, tina, "cs101", "tess", core.RoleStudent))
	requireCode(t, core.CodeForbidden, w.reg.Enrol(ctx, tina, "cs101", "tina", core.RoleStudent))
	requireCode(t, core.CodeForbidden, w.reg.Drop(ctx, tess, "cs101", "tess"))
	requireCode(t, core.CodeForbidden, w.reg.Drop(ctx, w.as("ann"), "cs101", "ann"))
	requireCode(t, core.CodeNotFound, w.reg.Drop(ctx, tess, "cs101", "eve"))
	requireCode(t, core.CodeNotFound, w.reg.Enrol(ctx, tess, "cs101", "ghost", core.RoleStudent))
	requireCode(t, core.CodeInvalid, w.reg.Enrol(ctx, tess, "cs101", "nick", core.RoleAdmin))
	require.NoError(t, w.reg.Enrol(ctx, tess, "cs101", "tina", core.RoleStudent))
	w.log.clear()
	require.NoError(t, w.reg.Enrol(ctx, tess, "cs101", "tina", core.RoleStudent))
	assert.Empty(t, w.log.names, "she is one already")
}
