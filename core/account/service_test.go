package account_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"drover/core"
	"drover/core/account"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

func TestTokens(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	secret, made, err := w.IssueToken(ctx, ann, "laptop", []school.Scope{school.ScopeRead}, 0)
	require.NoError(t, err)
	require.Regexp(t, `^dro_[0-9A-Za-z]{49}$`, secret)
	require.Equal(t, account.DefaultTokenLife.Milliseconds(), made.Expires-made.Created)
	got, in, err := w.ByToken(ctx, secret)
	require.NoError(t, err)
	require.Equal(t, made, got)
	require.Equal(t, "ann", in.User.Handle)

	good := func(secret string) bool {
		_, _, err := w.ByToken(ctx, secret)
		if err != nil {
			require.Equal(t, core.CodeForbidden, core.CodeOf(err))
			require.NotContains(t, err.Error(), secret)
		}
		return err == nil
	}
	for _, bad := range []string{"dro_", secret[:52], secret + "0", strings.Replace(secret, "dro_", "drl_", 1), secret[:len(secret)-1] + "-"} {
		require.False(t, good(bad))
	}
	last := secret[20]
	swapped := secret[:20] + string('a'+(last+1)%26) + secret[21:]
	require.False(t, good(swapped), "the checksum knows")

	used := func() int64 {
		all, err := w.View(ctx, ann, "ann")
		require.NoError(t, err)
		require.Len(t, all.Tokens, 1)
		return all.Tokens[0].Used
	}
	first := used()
	require.Equal(t, w.clock().UnixMilli(), first)
	w.after(59 * time.Second)
	require.True(t, good(secret))
	require.Equal(t, first, used(), "a write at most once a minute")
	w.after(time.Second)
	require.True(t, good(secret))
	require.Equal(t, first+60_000, used())

	require.NoError(t, w.SignOut(ctx, ann, "ann"))
	require.True(t, good(secret), "programs stay signed in")
	w.disable("ann")
	require.False(t, good(secret))
	u, err := w.store.GetUser(ctx, "ann")
	require.NoError(t, err)
	u.Disabled = false
	w.user(u)
	w.after(account.DefaultTokenLife - time.Minute - time.Millisecond)
	require.True(t, good(secret))
	w.after(time.Millisecond)
	require.False(t, good(secret))
	w.requireNowhere(secret, secret[4:20])
}

func TestRevoke(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	for _, actor := range []core.Actor{ann, root} {
		secret, made, err := w.IssueToken(ctx, ann, "laptop", []school.Scope{school.ScopeRead}, time.Hour)
		require.NoError(t, err)
		require.Equal(t, core.CodeForbidden, core.CodeOf(w.Revoke(ctx, bob, "ann", made.ID)))
		require.Equal(t, core.CodeForbidden, core.CodeOf(w.Revoke(ctx, bob, "nobody", made.ID)))
		require.NoError(t, w.Revoke(ctx, actor, "ann", made.ID))
		require.Equal(t, core.CodeNotFound, core.CodeOf(w.Revoke(ctx, actor, "ann", made.ID)))
		_, _, err = w.ByToken(ctx, secret)
		require.Equal(t, core.CodeForbidden, core.CodeOf(err))
	}
	_, _, err := w.IssueToken(ctx, ann, "", []school.Scope{school.ScopeRead}, time.Hour)
	require.Equal(t, core.CodeInvalid, core.CodeOf(err))
	_, _, err = w.IssueToken(ctx, ann, "a", []school.Scope{school.ScopeRead}, 10*school.MaxTokenLife)
	require.Equal(t, core.CodeInvalid, core.CodeOf(err))
	_, err = w.View(ctx, bob, "ann")
	require.Equal(t, core.CodeForbidden, core.CodeOf(err))
}

func TestLink(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	was := w.password("ann", good)
	_, err := w.MakeLink(ctx, ann, "ann", 0)
	require.Equal(t, core.CodeForbidden, core.CodeOf(err))
	made, err := w.MakeLink(ctx, root, "ann@school.example", 0)
	require.NoError(t, err)
	secret := made.Secret
	for range 3 {
		require.NoError(t, w.LookAtLink(ctx, secret), "looking is no use")
	}
	_, _, err = w.ByToken(ctx, secret)
	require.Equal(t, core.CodeForbidden, core.CodeOf(err), "a link is no token")
	require.True(t, w.present(was))

	var in account.SignedIn
	var got atomic.Int32
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if one, err := w.RedeemLink(context.Background(), secret); err == nil {
				in = one
				got.Add(1)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 1, got.Load())
	require.True(t, in.Account.MustChange)
	require.True(t, w.present(in))
	require.False(t, w.present(was))
	require.Equal(t, core.CodeForbidden, core.CodeOf(w.LookAtLink(ctx, secret)))
	require.Equal(t, core.CodeForbidden, w.signIn("ann", good, home), "the password is gone")
	now, err := w.ChangePassword(ctx, ann, "", good2, home)
	require.NoError(t, err)
	require.False(t, now.Account.MustChange)
	w.requireNowhere(secret, secret[4:20])
}

func TestLinkEnds(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	link := func() string {
		made, err := w.MakeLink(ctx, root, "ann", 0)
		require.NoError(t, err)
		return made.Secret
	}
	old := link()
	w.after(account.LinkLife)
	_, err := w.RedeemLink(ctx, old)
	require.Equal(t, core.CodeForbidden, core.CodeOf(err))
	void := link()
	require.NoError(t, w.SignOut(ctx, root, "ann"))
	_, err = w.RedeemLink(ctx, void)
	require.Equal(t, core.CodeForbidden, core.CodeOf(err))
	lost, used := link(), link()
	_, err = w.RedeemLink(ctx, used)
	require.NoError(t, err)
	_, err = w.RedeemLink(ctx, lost)
	require.Equal(t, core.CodeForbidden, core.CodeOf(err), "another one was used since")
	lost = link()
	w.password("ann", good)
	_, err = w.RedeemLink(ctx, lost)
	require.Equal(t, core.CodeForbidden, core.CodeOf(err), "the password was set since")
	require.Empty(t, w.signIn("ann", good, home))
	last := link()
	token, _, err := w.IssueToken(ctx, ann, "a", []school.Scope{school.ScopeRead}, 0)
	require.NoError(t, err)
	w.disable("ann")
	_, err = w.RedeemLink(ctx, last)
	require.ErrorContains(t, err, "disabled")
	_, err = w.MakeLink(ctx, root, "ann", 0)
	require.Equal(t, core.CodeConflict, core.CodeOf(err))
	_, err = w.RedeemLink(ctx, token)
	require.Equal(t, core.CodeForbidden, core.CodeOf(err), "a token is no link")
}

func TestSignOut(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	for _, actor := range []core.Actor{ann, root} {
		in, err := w.SignInOIDC(ctx, account.Claim{Issuer: "https://id.example", Subject: "1", Email: "ann@school.example", Verified: true})
		require.NoError(t, err)
		require.True(t, w.present(in))
		require.Equal(t, core.CodeForbidden, core.CodeOf(w.SignOut(ctx, bob, "ann")))
		require.NoError(t, w.SignOut(ctx, actor, "ann"))
		require.False(t, w.present(in))
	}
	in, err := w.SignInOIDC(ctx, account.Claim{Issuer: "https://id.example", Subject: "1"})
	require.NoError(t, err)
	require.True(t, w.present(in), "in the same millisecond")
	require.NoError(t, w.SetLanguage(ctx, ann, "de"))
	require.Equal(t, core.CodeInvalid, core.CodeOf(w.SetLanguage(ctx, ann, "<b>")))
	require.True(t, w.present(in))
	w.disable("ann")
	require.False(t, w.present(in))
	require.NoError(t, w.store.DeleteUser(ctx, "ann"))
	require.False(t, w.present(in))
	w.after(time.Second)
	w.user(school.User{Handle: "ann"})
	require.False(t, w.present(in), "another ann")
}

func TestSignInOIDC(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	w.user(school.User{Handle: "kim", Email: "kim@school.example"})
	claim := account.Claim{Issuer: "https://id.example", Subject: "1", Email: "Ann@School.example", Verified: true}
	code := func(c account.Claim) core.Code {
		_, err := w.SignInOIDC(ctx, c)
		return core.CodeOf(err)
	}
	for name, c := range map[string]account.Claim{
		"not verified": {Issuer: claim.Issuer, Subject: "1", Email: claim.Email},
		"no address":   {Issuer: claim.Issuer, Subject: "1", Verified: true},
		"unknown":      {Issuer: claim.Issuer, Subject: "1", Email: "eve@school.example", Verified: true},
		"a handle":     {Issuer: claim.Issuer, Subject: "1", Email: "ann", Verified: true},
		"two":          {Issuer: claim.Issuer, Subject: "1", Email: "a@b, ann@school.example", Verified: true},
		"looks alike":  {Issuer: claim.Issuer, Subject: "1", Email: "\u212Aim@school.example", Verified: true}, // the Kelvin sign
	} {
		require.Equal(t, core.CodeForbidden, code(c), name)
	}
	require.Equal(t, core.CodeInvalid, code(account.Claim{Issuer: claim.Issuer, Email: claim.Email, Verified: true}))
	require.Equal(t, core.CodeInvalid, code(account.Claim{Issuer: "https://a:b@id.example", Subject: "1", Email: claim.Email, Verified: true}))
	ids, err := w.store.Identities(ctx, "ann")
	require.NoError(t, err)
	require.Empty(t, ids)

	require.Empty(t, code(claim))
	require.Contains(t, w.entries("ann"), "ann ties an identity of https://id.example to ann")
	claim.Email, claim.Verified = "new@elsewhere.example", false
	in, err := w.SignInOIDC(ctx, claim)
	require.NoError(t, err, "it is tied by now")
	require.Equal(t, "ann", in.User.Handle)
	require.Equal(t, core.CodeForbidden, code(account.Claim{Issuer: claim.Issuer, Subject: "2", Email: "ann@school.example", Verified: true}),
		"the address has another owner there")
	require.Empty(t, code(account.Claim{Issuer: "https://other.example", Subject: "2", Email: "ann@school.example", Verified: true}))
	w.disable("ann")
	require.Equal(t, core.CodeForbidden, code(claim))
}

func TestUntie(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	in, err := w.SignInOIDC(ctx, account.Claim{Issuer: "https://id.example", Subject: "1", Email: "ann@school.example", Verified: true})
	require.NoError(t, err)
	require.Equal(t, core.CodeForbidden, core.CodeOf(w.Untie(ctx, bob, "ann", "https://id.example", "1")))
	require.Equal(t, core.CodeConflict, core.CodeOf(w.Untie(ctx, ann, "ann", "https://id.example", "1")), "nothing else lets ann in")
	_, err = w.ChangePassword(ctx, ann, "", good, home)
	require.NoError(t, err)
	require.Equal(t, core.CodeNotFound, core.CodeOf(w.Untie(ctx, ann, "ann", "https://id.example", "2")))
	require.NoError(t, w.Untie(ctx, root, "ann", "https://id.example", "1"))
	require.False(t, w.present(in))
}

func TestBootstrap(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	require.NoError(t, w.store.DeleteUser(ctx, "root"))
	secrets := make([]string, 8)
	var all sync.WaitGroup
	for i := range secrets {
		all.Go(func() {
			handle, secret, err := w.Bootstrap(context.Background())
			if err == nil && handle == "admin" {
				secrets[i] = secret
			}
		})
	}
	all.Wait()
	require.NotContains(t, secrets, "", "each process has a link")
	users, err := w.store.ListUsers(ctx, "", 10)
	require.NoError(t, err)
	require.Len(t, users, 2)
	w.after(2 * time.Hour)
	_, secret, err := w.Bootstrap(ctx)
	require.NoError(t, err)
	require.NotEmpty(t, secret, "nobody used the first in time")
	in, err := w.RedeemLink(ctx, secret)
	require.NoError(t, err)
	require.Equal(t, []core.UserRole{core.RoleAdmin}, in.User.Roles)
	w.password("admin", good)
	handle, secret, err := w.Bootstrap(ctx)
	require.NoError(t, err)
	require.Empty(t, handle+secret, "somebody can sign in")
	w.disable("admin")
	_, _, err = w.Bootstrap(ctx)
	require.Equal(t, core.CodeConflict, core.CodeOf(err))
}

// An admin that never signed in, such as one made on the command line, gets a link.
func TestBootstrapOfAnAdminThatIsThere(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	handle, secret, err := w.Bootstrap(t.Context())
	require.NoError(t, err)
	require.Equal(t, "root", handle)
	require.NoError(t, w.LookAtLink(t.Context(), secret))
}

func TestLinksOfAClass(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	w.user(school.User{Handle: "bob"})
	_, err := w.store.PutClass(ctx, school.Class{Handle: "cs101", Title: "Programming I"})
	require.NoError(t, err)
	for user, role := range map[string]core.UserRole{"ann": core.RoleStudent, "bob": core.RoleStudent, "root": core.RoleTeacher} {
		require.NoError(t, w.store.Enrol(ctx, school.Enrolment{Class: "cs101", User: user, Role: role}))
	}
	of := account.ClassLinks{Class: "cs101", Limit: 2}
	_, _, err = w.MakeLinks(ctx, ann, of)
	require.Equal(t, core.CodeForbidden, core.CodeOf(err))
	_, _, err = w.MakeLinks(ctx, root, account.ClassLinks{Class: "cs9", Limit: 2})
	require.Equal(t, core.CodeNotFound, core.CodeOf(err))
	of.Life = account.MaxLinkLife + 1
	_, _, err = w.MakeLinks(ctx, root, of)
	require.Equal(t, core.CodeInvalid, core.CodeOf(err))
	of.Life = 0
	all, next, err := w.MakeLinks(ctx, root, of)
	require.NoError(t, err)
	require.Equal(t, []string{"ann", "bob"}, []string{all[0].User, all[1].User})
	require.Equal(t, "bob", next)
	of.After = next
	all, next, err = w.MakeLinks(ctx, root, of)
	require.NoError(t, err)
	require.Equal(t, "root", all[0].User)
	require.Empty(t, next)
	gone, err := w.store.GetUser(ctx, "bob")
	require.NoError(t, err)
	gone.Disabled = true
	_, err = w.store.PutUser(ctx, gone)
	require.NoError(t, err)
	of.After, of.Role, of.Limit = "", core.RoleStudent, 3
	all, _, err = w.MakeLinks(ctx, root, of)
	require.NoError(t, err, "one who is disabled holds back nobody")
	require.Len(t, all, 1)
	require.Equal(t, "ann", all[0].User)
	of.Role, of.Life = core.RoleTeacher, account.MaxLinkLife
	all, _, err = w.MakeLinks(ctx, root, of)
	require.NoError(t, err)
	require.Len(t, all, 1)
	w.after(account.MaxLinkLife - 1)
	require.NoError(t, w.LookAtLink(ctx, all[0].Secret))
	w.after(1)
	require.Error(t, w.LookAtLink(ctx, all[0].Secret))
}
