package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

// phc is a password's hash, as the store sees it.
const phc = "$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0$aGFzaC+/hash"

// IdentityOf makes an identity of a user.
func IdentityOf(user, subject string) school.Identity {
	return school.Identity{Issuer: "https://id.example", Subject: subject, User: user, Created: 5}
}

func mustAccount(t *testing.T, s school.ResultStore, a school.Account) school.Account {
	t.Helper()
	revision, err := s.PutAccount(t.Context(), a)
	require.NoError(t, err)
	require.Equal(t, a.Revision+1, revision)
	a.Revision = revision
	return a
}

func accounts(t *testing.T, s school.ResultStore) {
	ann := mustUser(t, s, User("ann"))
	is := func(want school.Account) {
		t.Helper()
		got, err := s.GetAccount(t.Context(), want.User)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	is(school.Account{User: "ann"})
	a := mustAccount(t, s, school.Account{User: "ann", Password: phc, ChangedAt: 5, SignedOut: 6, MustChange: true, Language: "de-CH"})
	is(a)
	ann.Name = "another"
	mustUser(t, s, ann)
	is(a) // a change of the user does not change the account
	a = mustAccount(t, s, school.Account{User: "ann", Revision: a.Revision})
	is(a)
	text, err := json.Marshal(school.Account{User: "ann", Password: phc})
	require.NoError(t, err)
	require.NotContains(t, string(text), "argon2id")
	u, err := s.GetUser(t.Context(), "ann")
	require.NoError(t, err)
	require.Equal(t, "another", u.Name)

	_, err = s.GetAccount(t.Context(), "nobody")
	requireCode(t, core.CodeNotFound, err)
	for _, revision := range []int64{0, 1} {
		_, err = s.PutAccount(t.Context(), school.Account{User: "nobody", Revision: revision})
		requireCode(t, core.CodeNotFound, err)
	}
}

func accountsRefuse(t *testing.T, s school.ResultStore) {
	mustUser(t, s, User("ann"))
	_, err := s.PutAccount(t.Context(), school.Account{User: "../ann", Password: phc})
	requireCode(t, core.CodeInvalid, err)
	_, err = s.GetAccount(t.Context(), "../ann")
	requireCode(t, core.CodeInvalid, err)
}

// accountsDelete shows that nothing of a user is left to the next one with its name.
func accountsDelete(t *testing.T, s school.ResultStore) {
	ctx := t.Context()
	mustUser(t, s, User("ann"))
	mustUser(t, s, User("bob"))
	for _, user := range []string{"ann", "bob"} {
		mustAccount(t, s, school.Account{User: user, Password: phc})
		require.NoError(t, s.AddToken(ctx, Token(user, "of-"+user)))
		require.NoError(t, s.AddIdentity(ctx, IdentityOf(user, user)))
	}
	require.NoError(t, s.DeleteUser(ctx, "ann"))
	_, err := s.GetAccount(ctx, "ann")
	requireCode(t, core.CodeNotFound, err)
	_, err = s.TokenByHash(ctx, Token("ann", "of-ann").Hash)
	requireCode(t, core.CodeNotFound, err)
	_, err = s.GetIdentity(ctx, "https://id.example", "ann")
	requireCode(t, core.CodeNotFound, err)

	mustUser(t, s, User("ann"))
	a, err := s.GetAccount(ctx, "ann")
	require.NoError(t, err)
	require.Equal(t, school.Account{User: "ann"}, a)
	require.Empty(t, tokenIDs(t, s, "ann", school.TokenAPI))
	require.Equal(t, []string{"of-bob"}, tokenIDs(t, s, "bob", school.TokenAPI))
	ids, err := s.Identities(ctx, "bob")
	require.NoError(t, err)
	require.Equal(t, []school.Identity{IdentityOf("bob", "bob")}, ids)
}

// raceAccountDelete adds things to a user that is being deleted: none of them is left once the user is gone.
func raceAccountDelete(t *testing.T, s school.ResultStore) {
	ctx := t.Context()
	for round := range 5 {
		mustUser(t, s, school.User{Handle: "ann"})
		var gone atomic.Bool
		together(t, 7, func(i int) error {
			name := fmt.Sprintf("%d-%d", round, i)
			var err error
			switch i % 4 {
			case 0:
				err = s.AddToken(ctx, Token("ann", name))
			case 1:
				err = s.AddIdentity(ctx, IdentityOf("ann", name))
			case 2:
				_, err = s.PutAccount(ctx, school.Account{User: "ann", Password: phc})
			default:
				if err = s.DeleteUser(ctx, "ann"); err == nil {
					gone.Store(true)
				}
			}
			if core.Is(err, core.CodeNotFound) || core.Is(err, core.CodeConflict) {
				return nil
			}
			return err
		})
		require.True(t, gone.Load())
		require.Empty(t, tokenIDs(t, s, "ann", school.TokenAPI))
		ids, err := s.Identities(ctx, "ann")
		require.NoError(t, err)
		require.Empty(t, ids)
	}
}

func identities(t *testing.T, s school.ResultStore) {
	ctx := t.Context()
	mustUser(t, s, User("ann"))
	mustUser(t, s, User("bob"))
	b, a, other := IdentityOf("ann", "b ü|1"), IdentityOf("ann", "a"), IdentityOf("ann", "z")
	other.Issuer = "http://127.0.0.1:8080/realms/x"
	for _, id := range []school.Identity{b, a, other} {
		require.NoError(t, s.AddIdentity(ctx, id))
	}
	later := a
	later.Created = 9
	require.NoError(t, s.AddIdentity(ctx, later), "again")
	taken := a
	taken.User = "bob"
	requireCode(t, core.CodeConflict, s.AddIdentity(ctx, taken))
	all, err := s.Identities(ctx, "ann")
	require.NoError(t, err)
	require.Equal(t, []school.Identity{other, a, b}, all, "as they were first")
	got, err := s.GetIdentity(ctx, b.Issuer, b.Subject)
	require.NoError(t, err)
	require.Equal(t, b, got)
	for _, key := range [][2]string{{b.Issuer, "B ü|1"}, {"https://id.example/", "a"}, {other.Issuer, "a"}} {
		_, err = s.GetIdentity(ctx, key[0], key[1])
		requireCode(t, core.CodeNotFound, err)
	}

	is, err := s.RemoveIdentity(ctx, "bob", a.Issuer, a.Subject)
	require.NoError(t, err)
	require.False(t, is, "it is not bob's")
	for _, want := range []bool{true, false} {
		is, err = s.RemoveIdentity(ctx, "ann", a.Issuer, a.Subject)
		require.NoError(t, err)
		require.Equal(t, want, is)
	}
	require.NoError(t, s.AddIdentity(ctx, taken), "it is free now")
}

func identitiesRefuse(t *testing.T, s school.ResultStore) {
	mustUser(t, s, User("ann"))
	for name, c := range map[string]struct {
		change func(*school.Identity)
		want   core.Code
	}{
		"nobody":     {func(id *school.Identity) { id.User = "nobody" }, core.CodeNotFound},
		"user":       {func(id *school.Identity) { id.User = "" }, core.CodeInvalid},
		"no issuer":  {func(id *school.Identity) { id.Issuer = "" }, core.CodeInvalid},
		"a space":    {func(id *school.Identity) { id.Issuer += "/a b" }, core.CodeInvalid},
		"no subject": {func(id *school.Identity) { id.Subject = "" }, core.CodeInvalid},
		"no UTF-8":   {func(id *school.Identity) { id.Subject = "\xff" }, core.CodeInvalid},
	} {
		id := IdentityOf("ann", "1")
		c.change(&id)
		require.Equal(t, c.want, core.CodeOf(s.AddIdentity(t.Context(), id)), name)
	}
	_, err := s.GetIdentity(t.Context(), "https://id.example", "\xff")
	requireCode(t, core.CodeInvalid, err)
}

func identitiesLimit(t *testing.T, s school.ResultStore) {
	mustUser(t, s, User("ann"))
	for i := range school.MaxIdentities {
		require.NoError(t, s.AddIdentity(t.Context(), IdentityOf("ann", fmt.Sprint(i))))
	}
	requireCode(t, core.CodeLimit, s.AddIdentity(t.Context(), IdentityOf("ann", "more")))
	require.NoError(t, s.AddIdentity(t.Context(), IdentityOf("ann", "7")), "one that is there")
	all, err := s.Identities(t.Context(), "ann")
	require.NoError(t, err)
	require.Len(t, all, school.MaxIdentities)
	require.False(t, slices.ContainsFunc(all, func(id school.Identity) bool { return id.Subject == "more" }))
}

// raceIdentity shows that if many users are tied to one identity at once, one gets it.
func raceIdentity(t *testing.T, s school.ResultStore) {
	together(t, 10, func(i int) error {
		_, err := s.PutUser(t.Context(), school.User{Handle: fmt.Sprintf("u%d", i)})
		return err
	})
	for round := range 5 {
		var won atomic.Pointer[string]
		together(t, 20, func(i int) error { // each user twice
			id := IdentityOf(fmt.Sprintf("u%d", i/2), fmt.Sprint(round))
			err := s.AddIdentity(t.Context(), id)
			if core.Is(err, core.CodeConflict) {
				return nil
			}
			if was := won.Swap(&id.User); err == nil && was != nil && *was != id.User {
				return fmt.Errorf("both %s and %s have it", *was, id.User)
			}
			return err
		})
		got, err := s.GetIdentity(t.Context(), "https://id.example", fmt.Sprint(round))
		require.NoError(t, err)
		require.Equal(t, *won.Load(), got.User)
	}
}
