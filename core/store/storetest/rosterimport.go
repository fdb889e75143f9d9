package storetest

import (
	"context"
	"testing"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

// RosterImport makes the record of an import into a class.
func RosterImport(class string) school.RosterImport {
	return school.RosterImport{Class: class, ID: "i1", By: "local-root", At: 5, Rows: []school.ImportedRow{
		{User: "ann", Created: true, Role: core.RoleStudent}, {User: "bob", Role: core.RoleStudent, Renamed: true, Name: "Bob <B>", OldName: "b"},
	}}
}

func rosterImports(t *testing.T, s school.ResultStore) {
	ctx := t.Context()
	_, err := s.PutRosterImport(ctx, RosterImport("cs101"))
	requireCode(t, core.CodeNotFound, err)
	aClass(t, s, "ann", "bob")
	_, err = s.GetRosterImport(ctx, "cs101")
	requireCode(t, core.CodeNotFound, err)
	want := RosterImport("cs101")
	want.Revision, err = s.PutRosterImport(ctx, want)
	require.NoError(t, err)
	got, err := s.GetRosterImport(ctx, "cs101")
	require.NoError(t, err)
	require.Equal(t, want, got)
	_, err = s.PutRosterImport(ctx, RosterImport("cs101"))
	requireCode(t, core.CodeConflict, err)
	want.Undone = 9
	want.Revision, err = s.PutRosterImport(ctx, want)
	require.NoError(t, err)
	require.EqualValues(t, 2, want.Revision)

	require.NoError(t, s.DeleteAssignment(ctx, "cs101", "hw1"))
	require.NoError(t, s.DeleteClass(ctx, "cs101"))
	mustClass(t, s, Class("cs101"))
	_, err = s.GetRosterImport(ctx, "cs101")
	requireCode(t, core.CodeNotFound, err)
}

// usersAtOnce finds several users in one call.
func usersAtOnce(t *testing.T, s school.ResultStore) {
	ctx := t.Context()
	ann, bob := mustUser(t, s, User("ann")), mustUser(t, s, school.User{Handle: "bob"})
	got, err := s.GetUsers(ctx, []string{"bob", ann.Email, "ann", "nobody", "", "nobody@school.example", "'"})
	require.NoError(t, err)
	require.Equal(t, []school.User{ann, bob}, got)
	got, err = s.GetUsers(ctx, nil)
	require.NoError(t, err)
	require.Empty(t, got)
	_, err = s.GetUsers(ctx, make([]string, school.MaxKeys+1))
	requireCode(t, core.CodeLimit, err)
}

// waysIn shows what is said of users' ways in.
func waysIn(t *testing.T, s school.ResultStore) {
	ctx := t.Context()
	aClass(t, s, "ann", "bob", "cleo")
	mustEnrol(t, s, "ann", "bob")
	require.NoError(t, s.Enrol(ctx, school.Enrolment{Class: "cs101", User: "cleo", Role: core.RoleAssistant, Since: 5}))
	_, err := s.PutAccount(ctx, school.Account{User: "bob", Password: "$a$b", ChangedAt: 7})
	require.NoError(t, err)
	require.NoError(t, s.AddIdentity(ctx, IdentityOf("cleo", "1")))
	old, newer := Token("ann", "t1"), Token("ann", "t2")
	for i, token := range []*school.Token{&old, &newer} {
		token.Kind, token.Scopes, token.Class, token.By = school.TokenInvite, nil, "cs101", "local-root"
		token.Created += int64(i)
		require.NoError(t, token.Check())
		require.NoError(t, s.AddToken(ctx, *token))
	}
	got, err := s.WaysIn(ctx, []string{"cleo", "bob", "ann", "nobody"})
	require.NoError(t, err)
	require.Equal(t, []school.WayIn{
		{User: "ann", Invitation: &newer}, {User: "bob", Password: true, Changed: 7}, {User: "cleo", Identities: 1, Staff: true},
	}, got)
	_, err = s.WaysIn(ctx, make([]string, school.MaxKeys+1))
	requireCode(t, core.CodeLimit, err)
}

// importCalls are those of imports, and of several users at once, in what School fills.
func importCalls() map[string]Call {
	return map[string]Call{
		"PutRosterImport": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.PutRosterImport(ctx, RosterImport("cs101"))
			return err
		},
		"GetRosterImport": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.GetRosterImport(ctx, "cs101")
			return err
		},
		"GetUsers": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.GetUsers(ctx, []string{"ann"})
			return err
		},
		"WaysIn": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.WaysIn(ctx, []string{"ann"})
			return err
		},
	}
}
