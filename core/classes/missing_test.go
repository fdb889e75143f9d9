package classes_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/school"
)

func TestMissing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	as := w.assignment("hw1")
	for _, user := range []string{"zed", "bob", "dan"} {
		_, err := w.reg.Store.PutUser(ctx, school.User{Handle: user, Name: "Name of " + user, Email: user + "@example.org", Created: 1})
		require.NoError(t, err)
		require.NoError(t, w.reg.Store.Enrol(ctx, school.Enrolment{Class: "cs101", User: user, Role: core.RoleStudent}))
	}
	missing := func(after string, limit int) (users []string) {
		t.Helper()
		all, err := w.reg.Missing(ctx, w.as("tina"), "cs101", "hw1", after, limit)
		require.NoError(t, err)
		for _, one := range all {
			users = append(users, one.User)
		}
		return users
	}
	everybody := missing("", 100)
	require.Subset(t, everybody, []string{"bob", "dan", "zed", "ann", "cleo"})
	require.NotContains(t, everybody, "tina", "who teaches")
	w.submit("ann", "hw1")
	w.submit("dan", "hw1")
	want := missing("", 100)
	require.NotContains(t, want, "ann")
	require.NotContains(t, want, "dan")
	require.Len(t, want, len(everybody)-2)
	var paged []string
	for after := ""; ; {
		some := missing(after, 1)
		if len(some) == 0 {
			break
		}
		after = some[0]
		paged = append(paged, after)
	}
	require.Equal(t, want, paged)
	require.NoError(t, w.reg.SetDeadline(ctx, w.as("tess"), school.Deadline{Class: "cs101", Assignment: "hw1", User: "bob", Due: as.Due + hour}))
	all, err := w.reg.Missing(ctx, w.as("tina"), "cs101", "hw1", "a", 1)
	require.NoError(t, err)
	require.Equal(t, "bob", all[0].User)
	require.Equal(t, "Name of bob", all[0].Name)
	require.Equal(t, as.Due+hour, all[0].Due)
	_, err = w.reg.Missing(ctx, w.as("tina"), "cs101", "hw1", "", 1001)
	require.Equal(t, core.CodeInvalid, core.CodeOf(err))
}
