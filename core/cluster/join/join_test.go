package join_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"drover/core"
	"drover/core/cluster/join"
	"drover/core/coretest"
	"drover/core/store/sqlite"
	"drover/core/store/sqlite/sqlitetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	olga = core.Actor{Handle: "olga", Roles: []core.UserRole{core.RoleOperator}}
	otto = core.Actor{Handle: "otto", Roles: []core.UserRole{core.RoleObserver}}
	ann  = core.Actor{Handle: "ann"}
)

type fixture struct {
	*join.Service
	store *sqlite.Store

	mu    sync.Mutex
	now   time.Time
	hosts []core.HostInfo
}

func newFixture(t *testing.T, groups ...core.HostGroup) *fixture {
	t.Helper()
	w := &fixture{store: sqlitetest.Open(t), now: time.UnixMilli(1_700_000_000_000)}
	w.Service = &join.Service{
		Store: w.store, Limits: coretest.Real(t).Open(t), Now: w.clock,
		Groups:   func(context.Context) ([]core.HostGroup, error) { return groups, nil },
		Hosts:    func(context.Context) ([]core.HostInfo, error) { return w.hosts, nil },
		Settings: func() (join.Settings, error) { return settings, nil },
	}
	return w
}

var settings = join.Settings{Values: map[string]string{"redis": "redis://host@r:6379/0"}, Secrets: map[string]string{"redis_password_file": "s3cret"}}

func (w *fixture) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *fixture) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func (w *fixture) issue(t *testing.T, wish join.Wish) (string, core.JoinToken) {
	t.Helper()
	secret, token, err := w.Issue(t.Context(), olga, wish)
	require.NoError(t, err)
	return secret, token
}

// key is what machine n made up.
func key(n int) string { return fmt.Sprintf("%032d", n) }

func requireCode(t *testing.T, want core.Code, err error, text string) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, want, core.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, text)
}

func TestAMachineJoins(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	secret, token := w.issue(t, join.Wish{})
	require.True(t, strings.HasPrefix(secret, "drj_"))
	require.Equal(t, core.JoinLife, time.Duration(token.Expires-token.Created)*time.Millisecond)
	ask := join.Ask{Token: secret, Host: "h1", Key: key(1), Address: "192.0.2.7"}
	got, err := w.Redeem(t.Context(), ask)
	require.NoError(t, err)
	require.Equal(t, join.Grant{Host: "h1", Settings: settings, Now: w.now}, got)
	again, err := w.Redeem(t.Context(), ask)
	require.NoError(t, err, "it crashed before it had written anything")
	require.Equal(t, got, again)
	ask.Key = key(2)
	_, err = w.Redeem(t.Context(), ask)
	requireCode(t, core.CodeForbidden, err, "was used by all 1 hosts")

	all, err := w.Tokens(t.Context(), otto)
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Empty(t, all[0].Hash)
	require.Equal(t, []core.Joined{{Host: "h1", At: w.now.UnixMilli()}}, all[0].Joined)
	entries, err := w.store.ListAuditEntries(t.Context(), core.AuditFilter{})
	require.NoError(t, err)
	require.Len(t, entries, 2, "the token, and one join")
	require.Equal(t, "h1", entries[0].Actor)
	require.Contains(t, entries[0].Text, "from 192.0.2.7")
	for _, e := range entries {
		require.NotContains(t, e.Text, secret)
		require.NotContains(t, e.Text, "s3cret")
	}
}

func TestTokensThatAreNotValid(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	secret, token := w.issue(t, join.Wish{Uses: 2})
	other := secret[:20] + "x" + secret[21:]
	if other == secret {
		other = secret[:20] + "y" + secret[21:]
	}
	for _, bad := range []string{"", "drj_", other, secret[:len(secret)-1], secret + "0", strings.Replace(secret, "drj_", "dro_", 1)} {
		_, err := w.Redeem(t.Context(), join.Ask{Token: bad, Host: "h1", Key: key(1)})
		requireCode(t, core.CodeForbidden, err, "is not valid")
	}
	for _, bad := range []string{"", key(1)[1:], strings.Repeat("k", 129)} {
		_, err := w.Redeem(t.Context(), join.Ask{Token: secret, Host: "h1", Key: bad})
		requireCode(t, core.CodeInvalid, err, "a machine's key")
	}
	for _, bad := range []string{"", "A B", strings.Repeat("h", 64)} {
		_, err := w.Redeem(t.Context(), join.Ask{Token: secret, Host: bad, Key: key(1)})
		requireCode(t, core.CodeInvalid, err, "")
	}
	w.pass(core.JoinLife - time.Millisecond)
	_, err := w.Redeem(t.Context(), join.Ask{Token: secret, Host: "h1", Key: key(1)})
	require.NoError(t, err)
	w.pass(time.Millisecond)
	_, err = w.Redeem(t.Context(), join.Ask{Token: secret, Host: "h1", Key: key(1)})
	requireCode(t, core.CodeForbidden, err, "expired at 2023-11-14T22:28:20Z, and here it is 2023-11-14T22:28:20Z")
	require.NoError(t, w.Revoke(t.Context(), olga, token.ID))
	requireCode(t, core.CodeNotFound, w.Revoke(t.Context(), olga, token.ID), "revoked")
	_, err = w.Redeem(t.Context(), join.Ask{Token: secret, Host: "h1", Key: key(1)})
	requireCode(t, core.CodeForbidden, err, "was revoked")
}

func TestNamesOfHosts(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.hosts = []core.HostInfo{{Name: "up", State: core.HostUp}, {Name: "late", State: core.HostSuspect}, {Name: "gone", State: core.HostDown}}
	many, _ := w.issue(t, join.Wish{Uses: 3})
	for _, name := range []string{"up", "late"} {
		_, err := w.Redeem(t.Context(), join.Ask{Token: many, Host: name, Key: key(1)})
		requireCode(t, core.CodeConflict, err, "has a host "+name+" already")
	}
	_, err := w.Redeem(t.Context(), join.Ask{Token: many, Host: "gone", Key: key(1)})
	require.NoError(t, err, "a machine that replaces one that is down")
	_, err = w.Redeem(t.Context(), join.Ask{Token: many, Host: "gone", Key: key(2)})
	requireCode(t, core.CodeConflict, err, "another machine joined as host gone")

	one, _ := w.issue(t, join.Wish{Host: "h7"})
	_, err = w.Redeem(t.Context(), join.Ask{Token: one, Host: "h8", Key: key(1)})
	requireCode(t, core.CodeForbidden, err, "is for host h7")
	got, err := w.Redeem(t.Context(), join.Ask{Token: one, Key: key(1)})
	require.NoError(t, err)
	require.Equal(t, "h7", got.Host)
}

func TestLabelsOfAGroup(t *testing.T) {
	t.Parallel()
	w := newFixture(t, core.HostGroup{Name: "spot", Labels: "zone=a,kind=spot"})
	secret, _ := w.issue(t, join.Wish{Group: "spot", Uses: 2})
	own := core.HostSettings{Labels: map[string]string{"zone": "b", "disk": "ssd"}, Overcommit: core.Overcommit{CPU: 2}}
	_, err := w.store.PutHostWish(t.Context(), core.HostWish{Host: "h1", Kind: core.WishSettings, At: w.now.UnixMilli() + 5, Settings: &own})
	require.NoError(t, err)
	for range 2 {
		got, err := w.Redeem(t.Context(), join.Ask{Token: secret, Host: "h1", Key: key(1)})
		require.NoError(t, err)
		require.Equal(t, "spot", got.Group)
		its, err := w.store.HostWishes(t.Context(), "h1")
		require.NoError(t, err)
		require.Len(t, its, 1)
		want := own
		want.Labels = map[string]string{"zone": "a", "kind": "spot", "disk": "ssd"}
		require.Equal(t, &want, its[0].Settings, "what else was set stays")
	}
	_, _, err = w.Issue(t.Context(), olga, join.Wish{Group: "none"})
	requireCode(t, core.CodeNotFound, err, "no host group")
}

func TestWhoMayMakeTokens(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, a := range []core.Actor{otto, ann} {
		_, _, err := w.Issue(t.Context(), a, join.Wish{})
		requireCode(t, core.CodeForbidden, err, "")
		requireCode(t, core.CodeForbidden, w.Revoke(t.Context(), a, "x"), "")
	}
	_, err := w.Tokens(t.Context(), ann)
	requireCode(t, core.CodeForbidden, err, "")
	for name, bad := range map[string]join.Wish{
		"too long": {Life: core.MaxJoinLife + time.Millisecond}, "backwards": {Life: -1}, "too many": {Uses: core.MaxJoinUses + 1}, "none": {Uses: -1},
		"one host many times": {Host: "h1", Uses: 2}, "no name": {Host: "H 1"},
	} {
		_, _, err := w.Issue(t.Context(), olga, bad)
		require.Equal(t, core.CodeInvalid, core.CodeOf(err), "%s: %v", name, err)
	}
}

func TestOldTokensGo(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	_, first := w.issue(t, join.Wish{})
	w.pass(core.JoinLife + time.Hour - time.Millisecond)
	_, second := w.issue(t, join.Wish{})
	all, err := w.Tokens(t.Context(), olga)
	require.NoError(t, err)
	require.Equal(t, []string{second.ID, first.ID}, []string{all[0].ID, all[1].ID}, "newest first")
	w.pass(time.Millisecond)
	w.issue(t, join.Wish{})
	all, err = w.Tokens(t.Context(), olga)
	require.NoError(t, err)
	require.Len(t, all, 2)
}

func TestASiteWithoutSettings(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	secret, _ := w.issue(t, join.Wish{})
	w.Settings = nil
	_, err := w.Redeem(t.Context(), join.Ask{Token: secret, Host: "h1", Key: key(1)})
	requireCode(t, core.CodeConflict, err, "host_config")
	w.Settings = func() (join.Settings, error) { return settings, core.Errorf(core.CodeInvalid, "", "broken") }
	_, err = w.Redeem(t.Context(), join.Ask{Token: secret, Host: "h1", Key: key(1)})
	requireCode(t, core.CodeInvalid, err, "broken")
	w.Settings = func() (join.Settings, error) { return settings, nil }
	_, err = w.Redeem(t.Context(), join.Ask{Token: secret, Host: "h1", Key: key(1)})
	require.NoError(t, err, "nothing was used up")
}

func TestTooManyAsk(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var err error
	for n := 0; n < 1000 && (n < 100 || core.Is(err, core.CodeForbidden)); n++ { // the clock runs
		_, err = w.Redeem(t.Context(), join.Ask{Token: "x", Address: "192.0.2.1"})
	}
	requireCode(t, core.CodeFull, err, "try again in")
	_, err = w.Redeem(t.Context(), join.Ask{Token: "x", Address: "192.0.2.2"})
	requireCode(t, core.CodeForbidden, err, "")
}

// However many machines ask at once, and however often each, never more than a token's uses join, under different
// names, and each machine has one name.
func TestMachinesRace(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	r := rand.New(rand.NewPCG(1, 2))
	for range 10 {
		uses, machines := 1+r.IntN(4), 1+r.IntN(8)
		secret, token := w.issue(t, join.Wish{Uses: uses})
		var mu sync.Mutex
		names := map[int]map[string]bool{}
		var wg sync.WaitGroup
		for n := range machines * 2 {
			wg.Go(func() {
				m := n % machines
				host := fmt.Sprintf("%s-%d", token.ID[:8], n)
				got, err := w.Redeem(context.WithoutCancel(t.Context()), join.Ask{Token: secret, Host: host, Key: key(m), Address: fmt.Sprint(token.ID, n)})
				if core.Is(err, core.CodeForbidden) {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				}
				if names[m] == nil {
					names[m] = map[string]bool{}
				}
				names[m][got.Host] = true
			})
		}
		wg.Wait()
		require.Len(t, names, min(uses, machines))
		seen := map[string]bool{}
		for m, its := range names {
			require.Len(t, its, 1, "machine %d", m)
			for name := range its {
				require.False(t, seen[name])
				seen[name] = true
			}
		}
	}
}
