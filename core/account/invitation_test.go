package account_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/account"
	"drover/core/account/secrets"
	"drover/core/school"
)

var (
	tess = core.Actor{Handle: "tess", In: map[string]core.UserRole{"cs101": core.RoleTeacher}}
	tina = core.Actor{Handle: "tina", In: map[string]core.UserRole{"cs101": core.RoleAssistant}}
	host = core.Actor{Handle: "local-kim", Roles: []core.UserRole{core.RoleAdmin}} // no user of the store
)

// newClass is a fixture with cs101: tess teaches it, tina assists; ann, bob and cleo are students, and so are four
// who are not invited: olga, who is an operator, tom, who teaches cs202, pam, who has a password, and gone.
func newClass(t *testing.T) *fixture {
	t.Helper()
	w := newFixture(t)
	for _, class := range []string{"cs101", "cs202"} {
		_, err := w.store.PutClass(t.Context(), school.Class{Handle: class, Title: "Class"})
		require.NoError(t, err)
	}
	for _, handle := range []string{"tess", "tina", "bob", "cleo", "tom", "pam", "gone", "eve"} {
		w.user(school.User{Handle: handle})
	}
	w.user(school.User{Handle: "olga", Roles: []core.UserRole{core.RoleOperator}})
	for _, handle := range []string{"ann", "bob", "cleo", "olga", "tom", "pam", "gone"} {
		w.enrol("cs101", handle, core.RoleStudent)
	}
	w.enrol("cs101", "tess", core.RoleTeacher)
	w.enrol("cs101", "tina", core.RoleAssistant)
	w.enrol("cs202", "tom", core.RoleTeacher)
	w.enrol("cs202", "eve", core.RoleStudent)
	w.password("pam", good)
	w.disable("gone")
	return w
}

func (w *fixture) enrol(class, user string, role core.UserRole) {
	w.t.Helper()
	require.NoError(w.t, w.store.Enrol(w.t.Context(), school.Enrolment{Class: class, User: user, Role: role}))
}

// stands are the states of the students of cs101.
func (w *fixture) stands() map[string]account.InviteState {
	w.t.Helper()
	all, next, err := w.Invitations(w.t.Context(), tess, "cs101", "", 100)
	require.NoError(w.t, err)
	require.Empty(w.t, next)
	states := map[string]account.InviteState{}
	for _, one := range all {
		states[one.User] = one.State
	}
	return states
}

// invite invites users of cs101, all who never signed in if none is named.
func (w *fixture) invite(by core.Actor, users ...string) map[string]string {
	w.t.Helper()
	made, err := w.Invite(w.t.Context(), by, account.Invites{Class: "cs101", Users: users})
	require.NoError(w.t, err)
	links := map[string]string{}
	for _, l := range made.Links {
		links[l.User] = l.Secret
	}
	return links
}

func TestInvitations(t *testing.T) {
	t.Parallel()
	w := newClass(t)
	ctx := t.Context()
	none, barred := account.InviteNone, account.InviteBarred
	require.Equal(t, map[string]account.InviteState{
		"ann": none, "bob": none, "cleo": none, "olga": barred, "tom": barred, "gone": barred, "pam": account.InviteUsed,
	}, w.stands(), "neither tess nor tina is a student")

	first := w.invite(tess)
	require.Len(t, first, 3)
	require.Empty(t, w.invite(host), "nobody is invited twice unless named")
	again := w.invite(host, "bob")
	_, err := w.RedeemLink(ctx, first["bob"])
	require.ErrorIs(t, err, account.ErrLink, "made anew")
	in, err := w.RedeemLink(ctx, again["bob"])
	require.NoError(t, err)
	require.True(t, in.Account.MustChange, "a password is to be set")
	_, err = w.RedeemLink(ctx, again["bob"])
	require.ErrorIs(t, err, account.ErrLink, "used")

	n, err := w.Withdraw(ctx, tess, "cs101", []string{"ann", "bob", "nobody"})
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.ErrorIs(t, w.LookAtLink(ctx, first["ann"]), account.ErrLink, "withdrawn")
	require.NoError(t, w.LookAtLink(ctx, first["cleo"]))
	w.after(account.InviteLife)
	require.ErrorIs(t, w.LookAtLink(ctx, first["cleo"]), account.ErrLink, "too old")
	states := w.stands()
	require.Equal(t, []account.InviteState{none, account.InviteUsed, account.InviteExpired}, []account.InviteState{states["ann"], states["bob"], states["cleo"]})
	require.Len(t, w.invite(tess), 2, "those without one, and those whose one is too old")

	require.Equal(t, []string{
		"tess invites bob until 2026-06-15", "local-kim invites bob until 2026-06-15", "bob signs in by a link, in place of a password",
	}, w.entries("bob"))
	w.requireNowhere(first["ann"], first["bob"], again["bob"])
	_, err = w.store.TokenByHash(ctx, secrets.Hash(first["bob"]))
	require.Equal(t, core.CodeNotFound, core.CodeOf(err), "only the newest is kept")
}

func TestWhoIsInvitedByWhom(t *testing.T) {
	t.Parallel()
	w := newClass(t)
	ctx := t.Context()
	theo := core.Actor{Handle: "theo", In: map[string]core.UserRole{"cs202": core.RoleTeacher}}
	for who, want := range map[*core.Actor]core.Code{&tina: core.CodeForbidden, {Handle: "ann", In: map[string]core.UserRole{"cs101": core.RoleStudent}}: core.CodeForbidden, &theo: core.CodeNotFound, &bob: core.CodeNotFound} {
		_, _, err := w.Invitations(ctx, *who, "cs101", "", 10)
		require.Equal(t, want, core.CodeOf(err), "%s lists", who.Handle)
		_, err = w.Invite(ctx, *who, account.Invites{Class: "cs101", Users: []string{"ann"}})
		require.Equal(t, want, core.CodeOf(err), "%s invites", who.Handle)
		_, err = w.Withdraw(ctx, *who, "cs101", []string{"ann"})
		require.Equal(t, want, core.CodeOf(err), "%s withdraws", who.Handle)
	}
	require.Equal(t, account.InviteNone, w.stands()["ann"])
	for user, want := range map[string]core.Code{
		"olga": core.CodeConflict, "tom": core.CodeConflict, "pam": core.CodeConflict, "gone": core.CodeConflict,
		"eve": core.CodeNotFound, "tess": core.CodeNotFound, "nobody": core.CodeNotFound,
	} {
		_, err := w.Invite(ctx, root, account.Invites{Class: "cs101", Users: []string{"ann", user}})
		require.Equal(t, want, core.CodeOf(err), "%s: %v", user, err)
		require.Equal(t, account.InviteNone, w.stands()["ann"], "all or none")
	}
	for _, life := range []time.Duration{-1, account.MaxInviteLife + 1} {
		_, err := w.Invite(ctx, tess, account.Invites{Class: "cs101", Life: life})
		require.Equal(t, core.CodeInvalid, core.CodeOf(err))
	}
	_, err := w.Invite(ctx, tess, account.Invites{Class: "cs101", Users: make([]string, account.MaxInvited+1)})
	require.Equal(t, core.CodeLimit, core.CodeOf(err))
	_, err = w.Invite(ctx, root, account.Invites{Class: "cs9"})
	require.Equal(t, core.CodeNotFound, core.CodeOf(err))
}

// An invitation takes over no account: what its user has become since it was made counts.
func TestAnInvitationIsVoidOnceItsUserIsMore(t *testing.T) {
	t.Parallel()
	for name, become := range map[string]func(w *fixture){
		"has a password": func(w *fixture) { w.password("ann", good) },
		"has an identity": func(w *fixture) {
			require.NoError(w.t, w.store.AddIdentity(w.t.Context(), school.Identity{Issuer: "https://idp.example", Subject: "1", User: "ann"}))
		},
		"signed in by a link, and has set no password": func(w *fixture) {
			l, err := w.MakeLink(w.t.Context(), root, "ann", 0)
			require.NoError(w.t, err)
			_, err = w.RedeemLink(w.t.Context(), l.Secret)
			require.NoError(w.t, err)
		},
		"was signed out by an admin": func(w *fixture) { require.NoError(w.t, w.SignOut(w.t.Context(), root, "ann")) },
		"teaches another class":      func(w *fixture) { w.enrol("cs202", "ann", core.RoleAssistant) },
		"assists in the class":       func(w *fixture) { w.enrol("cs101", "ann", core.RoleAssistant) },
		"left the class":             func(w *fixture) { require.NoError(w.t, w.drop("cs101", "ann")) },
		"left the class for another one": func(w *fixture) {
			w.enrol("cs202", "ann", core.RoleStudent)
			require.NoError(w.t, w.drop("cs101", "ann"))
		},
		"has a role": func(w *fixture) {
			u, err := w.store.GetUser(w.t.Context(), "ann")
			require.NoError(w.t, err)
			u.Roles = []core.UserRole{core.RoleObserver}
			w.user(u)
		},
		"is disabled": func(w *fixture) { w.disable("ann") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newClass(t)
			secret := w.invite(tess, "ann")["ann"]
			w.after(time.Minute)
			become(w)
			_, err := w.RedeemLink(t.Context(), secret)
			require.Equal(t, core.CodeForbidden, core.CodeOf(err), "%v", err)
		})
	}
	w := newClass(t)
	_, err := w.RedeemLink(t.Context(), w.invite(tess, "ann")["ann"])
	require.NoError(t, err, "without any of this it works")
}

// drop removes a user from a class.
func (w *fixture) drop(class, user string) error {
	_, err := w.store.Drop(w.t.Context(), class, user)
	return err
}

func TestManyAreInvitedInParts(t *testing.T) {
	t.Parallel()
	w := newClass(t)
	for i := range account.MaxInvited {
		handle := fmt.Sprintf("s%03d", i)
		w.user(school.User{Handle: handle})
		w.enrol("cs101", handle, core.RoleStudent)
	}
	some, err := w.Invite(t.Context(), tess, account.Invites{Class: "cs101"})
	require.NoError(t, err)
	require.True(t, some.More)
	require.Len(t, some.Links, account.MaxInvited)
	rest, err := w.Invite(t.Context(), tess, account.Invites{Class: "cs101"})
	require.NoError(t, err)
	require.False(t, rest.More)
	require.Len(t, rest.Links, 3, "ann, bob and cleo came first")
}
