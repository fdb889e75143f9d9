package account_test

import (
	"context"
	"fmt"
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

func TestSignIn(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.password("ann", good)
	for _, name := range []string{"ann", " ann ", "ann@school.example", "Ann@School.Example"} {
		in, err := w.SignIn(t.Context(), name, good, home)
		require.NoError(t, err, name)
		require.Equal(t, "ann", in.User.Handle)
		require.True(t, w.present(in))
	}
	decomposed := "m\u0075\u0308de wie ein Hund"
	_, err := w.ChangePassword(t.Context(), ann, good, decomposed, home)
	require.NoError(t, err)
	require.Empty(t, w.signIn("ann", "m\u00fcde wie ein Hund", home), "as another keyboard writes it")
	w.requireNowhere(good, decomposed, "argon2id")
}

// A stranger gets the same answer, after as many hashes, whatever is wrong.
func TestSignInTellsNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.password("ann", good)
	w.user(school.User{Handle: "off", Disabled: true})
	sentences := map[string]bool{}
	for _, c := range [][2]string{
		{"ann", good2},
		{"ann", ""},
		{"ann", strings.Repeat("x", 1<<16)},
		{"nobody", good},
		{"nobody", ""},
		{"nobody@school.example", good},
		{"root", ""},
		{"root", good},
		{"../ann", good},
		{"\xff", good},
		{"", ""},
		{"off", good},
		{strings.Repeat("x", 1000), good},
	} {
		before := w.Hasher.Count()
		_, err := w.SignIn(t.Context(), c[0], c[1], home)
		require.Equal(t, core.CodeForbidden, core.CodeOf(err), "%.20q %v", c[0], err)
		sentences[err.Error()] = true
		require.EqualValues(t, 1, w.Hasher.Count()-before, "%.20q", c[0])
	}
	require.Len(t, sentences, 1)

	w.disable("ann")
	_, err := w.SignIn(t.Context(), "ann", good, home)
	require.ErrorContains(t, err, "disabled", "who has the password may know")
	_, err = w.SignIn(t.Context(), "ann", good2, home)
	require.True(t, sentences[err.Error()])
}

func TestGuessingIsBoundedByUser(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.password("ann", good)
	require.Empty(t, w.signIn("ann", good, home))
	for i := 0; w.signIn("ann", "guess", fmt.Sprintf("203.0.113.%d", i)) == core.CodeForbidden; i++ {
		require.Less(t, i, 10, "whatever address it comes from")
	}
	before := w.Hasher.Count()
	_, err := w.SignIn(t.Context(), "ann@school.example", good, away)
	require.Equal(t, core.CodeFull, core.CodeOf(err), "also by another name, and with the right password")
	require.ErrorContains(t, err, "1m")
	require.Equal(t, before, w.Hasher.Count(), "what is refused costs nothing")
	require.Equal(t, core.CodeForbidden, w.signIn("root", "guess", away), "others are not shut out")

	require.Empty(t, w.signIn("ann", good, home), "where ann signed in before")
	for range 9 {
		require.Equal(t, core.CodeForbidden, w.signIn("ann", "guess", home))
	}
	require.Equal(t, core.CodeFull, w.signIn("ann", "guess", home), "which is bounded too")

	w.after(time.Minute)
	require.Equal(t, core.CodeForbidden, w.signIn("ann", "guess", away))
	require.Equal(t, core.CodeFull, w.signIn("ann", "guess", away))
	w.after(10 * time.Minute)
	require.Empty(t, w.signIn("ann", good, away))
}

// Unknown users are bounded as known ones are, else the difference would tell.
func TestGuessingIsBoundedForUnknownUsers(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for range 10 {
		require.Equal(t, core.CodeForbidden, w.signIn("nobody", "guess", away))
	}
	require.Equal(t, core.CodeFull, w.signIn("nobody", "guess", home))
}

func TestGuessingIsBoundedByAddress(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	n := 0
	for ; w.signIn(fmt.Sprintf("u%d", n), "guess", fmt.Sprintf("2001:db8:1:2::%x", n)) == core.CodeForbidden; n++ {
		require.Less(t, n, 300, "a line of IPv6 has many addresses")
	}
	require.Equal(t, 300, n)
	require.Equal(t, core.CodeForbidden, w.signIn("ann", "guess", "2001:db8:1:3::1"))
	require.Equal(t, core.CodeForbidden, w.signIn("root", "guess", "::ffff:192.0.2.7"))
}

func TestGuessingAtOnceIsBounded(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.password("ann", good)
	var tried atomic.Int32
	var all sync.WaitGroup
	for range 30 {
		all.Go(func() {
			if _, err := w.SignIn(context.Background(), "ann", "guess", away); core.Is(err, core.CodeForbidden) {
				tried.Add(1)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 10, tried.Load())
}

// Hashes take memory: so many at once, and so many that wait.
func TestHashesAreBounded(t *testing.T) {
	t.Parallel()
	h := hasher(t, account.Cost{Memory: 8 << 10, Iterations: 1})
	var full, done atomic.Int32
	var all sync.WaitGroup
	for range 500 {
		all.Go(func() {
			switch _, err := h.Hash(context.Background(), good); core.CodeOf(err) {
			case "":
				done.Add(1)
			case core.CodeFull:
				full.Add(1)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 500, full.Load()+done.Load())
	require.Positive(t, full.Load())
	require.EqualValues(t, h.Count(), done.Load())
	_, err := h.Hash(t.Context(), good)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, _ = h.Verify(ctx, "", good) // a turn may be free, or the context seen first
}

func TestHashGrowsWithTheCost(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.password("ann", good)
	was, err := w.store.GetAccount(t.Context(), "ann")
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(was.Password, "$argon2id$v=19$m=64,t=1,p=1$"), was.Password)
	w.Hasher = hasher(t, account.Cost{Memory: 128, Iterations: 1})
	require.Equal(t, core.CodeForbidden, w.signIn("ann", good2, home))
	in, err := w.SignIn(t.Context(), "ann", good, home)
	require.NoError(t, err)
	now, err := w.store.GetAccount(t.Context(), "ann")
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(now.Password, "$argon2id$v=19$m=128,t=1,p=1$"), now.Password)
	require.Equal(t, was.ChangedAt, now.ChangedAt, "it is the same password")
	require.True(t, w.present(in))
	require.Empty(t, w.signIn("ann", good, home))
}

func TestPasswordRules(t *testing.T) {
	t.Parallel()
	u := school.User{Handle: "annalena-b", Name: "Änna Lena Lee", Email: "annamail@school.example"}
	for _, bad := range []string{
		"", "short77", strings.Repeat("x", 257), "annalena-b", "AnnaLena-B", "annamail", "ANNAMAIL@school.example", "änna lena lee",
		"password", "PassWord1", "qwertyuiop", "aaaaaaaaaaaa", "correcthorsebatterystaple",
	} {
		require.Equal(t, core.CodeInvalid, core.CodeOf(account.CheckPassword(u, bad)), bad)
	}
	for _, fine := range []string{good, "tr0ub4dor&3", strings.Repeat("xy", 128), "annalena-b2"} {
		require.NoError(t, account.CheckPassword(u, fine), fine)
	}
}

func TestChangePassword(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	first := w.password("ann", good)
	_, err := w.ChangePassword(ctx, ann, "wrong", good2, home)
	require.Equal(t, core.CodeForbidden, core.CodeOf(err))
	_, err = w.ChangePassword(ctx, ann, "", good2, home)
	require.Equal(t, core.CodeForbidden, core.CodeOf(err))
	for _, bad := range []string{"short", good} {
		_, err = w.ChangePassword(ctx, ann, good, bad, home)
		require.Equal(t, core.CodeInvalid, core.CodeOf(err), bad)
	}
	require.True(t, w.present(first))
	second, err := w.ChangePassword(ctx, ann, good, good2, home)
	require.NoError(t, err)
	require.False(t, w.present(first), "sessions of the old password end")
	require.True(t, w.present(second))
	require.Equal(t, core.CodeForbidden, w.signIn("ann", good, home))
	require.Empty(t, w.signIn("ann", good2, home))
	require.Contains(t, w.entries("ann"), "ann changes the password of ann")
	w.requireNowhere(good, good2)

	for range 12 {
		_, err = w.ChangePassword(ctx, ann, "guess", good, away)
	}
	require.Equal(t, core.CodeFull, core.CodeOf(err), "a session that was left open is no way to guess")
}

// meanwhile is a limiter during whose last question of a sign-in something else happens.
type meanwhile struct {
	core.Limiter
	happens func()
}

func (m meanwhile) Take(ctx context.Context, name string, r core.Rate, n int) (core.Allowance, error) {
	if n == 1 && strings.HasPrefix(name, "sign-in-known:") {
		m.happens()
	}
	return m.Limiter.Take(ctx, name, r, n)
}

func TestPasswordIsChangedDuringASignIn(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.password("ann", good)
	w.Limits = meanwhile{w.Limits, func() {
		w.after(time.Second)
		require.NoError(t, w.GivePassword(t.Context(), root, "ann", good2))
		w.after(time.Second)
	}}
	in, err := w.SignIn(t.Context(), "ann", good, home)
	require.NoError(t, err)
	require.False(t, w.present(in), "it was by the old password")
}

func TestGivePassword(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	was := w.password("ann", good)
	require.Equal(t, core.CodeForbidden, core.CodeOf(w.GivePassword(ctx, ann, "ann", good2)))
	require.Equal(t, core.CodeNotFound, core.CodeOf(w.GivePassword(ctx, root, "nobody", good2)))
	require.Equal(t, core.CodeInvalid, core.CodeOf(w.GivePassword(ctx, root, "ann", "short")))
	require.NoError(t, w.GivePassword(ctx, root, "ann", good2))
	require.False(t, w.present(was))
	in, err := w.SignIn(ctx, "ann", good2, home)
	require.NoError(t, err)
	require.True(t, in.Account.MustChange)
	in, err = w.ChangePassword(ctx, ann, good2, good, home)
	require.NoError(t, err)
	require.False(t, in.Account.MustChange)
	require.Contains(t, w.entries("ann"), "root gives ann a password, to be changed at the next sign-in")
	w.requireNowhere(good, good2)
}

// Sign-ins by password are in the audit log, refused ones, too, and each refused one is reported. Nothing of what was typed
// is there: it may be a password in the wrong field. Many tries make few entries.
func TestSignInsAreAudited(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.password("ann", good)
	var told []string
	w.Refused = func(handle, address, why string) { told = append(told, handle+" "+address+" "+why) }
	before := len(w.entries(""))
	for range 3 {
		require.Empty(t, w.signIn("Ann@school.example", good, home))
		require.Equal(t, core.CodeForbidden, w.signIn("ann", good2, home))
		require.Equal(t, core.CodeForbidden, w.signIn(good, good, home))
	}
	require.Len(t, told, 6)
	require.Equal(t, []string{"ann " + home + " the name or the password is wrong", " " + home + " the name or the password is wrong"}, told[:2])
	require.Len(t, w.entries(""), before+3, "one of a kind, name and address")
	require.Equal(t, []string{"drover refuses a sign-in from " + home + ": the name or the password is wrong"}, w.entries("sign-in"))
	of := w.entries("ann")
	require.Equal(t, []string{
		"ann signs in by a password, from " + home, "drover refuses a sign-in from " + home + ": the name or the password is wrong",
	}, of[len(of)-2:])
	w.after(2 * time.Hour)
	require.Equal(t, core.CodeForbidden, w.signIn("ann", good2, home))
	require.Len(t, w.entries("ann"), len(of)+1, "and one an hour later")
	for w.signIn("ann", good2, away) != core.CodeFull {
	}
	of = w.entries("ann")
	require.Contains(t, of[len(of)-1], away+": there were too many tries")
	w.requireNowhere(good, good2)
}
