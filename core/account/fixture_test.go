package account_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"drover/core"
	"drover/core/account"
	"drover/core/coretest"
	"drover/core/school"
	"drover/core/store/sqlite"
	"drover/core/store/sqlite/sqlitetest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	good  = "three blind mice"
	good2 = "see how they run"
	home  = "192.0.2.7"
	away  = "198.51.100.9"
)

// fixture is a Service on a real store and a Redis, with ann, and root who is an admin.
type fixture struct {
	*account.Service
	t     *testing.T
	store *sqlite.Store
	redis *coretest.Backend

	mu  sync.Mutex
	now time.Time
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	store := sqlitetest.Open(t)
	w := &fixture{t: t, store: store, redis: coretest.Mini(t), now: time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)}
	w.redis.Mini.SetTime(w.now)
	w.Service = &account.Service{Store: store, Limits: w.redis.Open(t), Hasher: hasher(t, account.Cost{Memory: 64, Iterations: 1}), Now: w.clock}
	w.user(school.User{Handle: "root", Roles: []core.UserRole{core.RoleAdmin}})
	w.user(school.User{Handle: "ann", Name: "Ann Margret Lee", Email: "ann@school.example"})
	return w
}

func hasher(t *testing.T, cost account.Cost) *account.Hasher {
	t.Helper()
	h, err := account.NewHasher(cost)
	require.NoError(t, err)
	return h
}

func (w *fixture) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *fixture) after(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
	w.redis.Mini.SetTime(w.now)
	w.redis.Mini.FastForward(d)
}

func (w *fixture) user(u school.User) school.User {
	w.t.Helper()
	if u.Revision == 0 {
		u.Created = w.clock().UnixMilli()
	}
	revision, err := w.store.PutUser(w.t.Context(), u)
	require.NoError(w.t, err)
	u.Revision = revision
	return u
}

func (w *fixture) disable(handle string) {
	w.t.Helper()
	u, err := w.store.GetUser(w.t.Context(), handle)
	require.NoError(w.t, err)
	u.Disabled = true
	w.user(u)
}

var (
	root = core.Actor{Handle: "root", Roles: []core.UserRole{core.RoleAdmin}}
	ann  = core.Actor{Handle: "ann"}
	bob  = core.Actor{Handle: "bob"}
)

// password sets a user's first password.
func (w *fixture) password(handle, password string) account.SignedIn {
	w.t.Helper()
	in, err := w.ChangePassword(w.t.Context(), core.Actor{Handle: handle}, "", password, home)
	require.NoError(w.t, err)
	return in
}

func (w *fixture) signIn(name, password, address string) core.Code {
	w.t.Helper()
	_, err := w.SignIn(w.t.Context(), name, password, address)
	return core.CodeOf(err)
}

// present says whether a session is still good.
func (w *fixture) present(in account.SignedIn) bool {
	w.t.Helper()
	_, err := w.Present(w.t.Context(), in.User.Handle, in.Since)
	if err != nil {
		require.Equal(w.t, core.CodeForbidden, core.CodeOf(err), "%v", err)
	}
	return err == nil
}

// entries are what the audit log says of a user, oldest first.
func (w *fixture) entries(subject string) []string {
	w.t.Helper()
	all, err := w.store.ListAuditEntries(w.t.Context(), core.AuditFilter{Subject: subject})
	require.NoError(w.t, err)
	texts := make([]string, len(all))
	for i, d := range all {
		texts[len(all)-1-i] = d.Actor + " " + d.Text
	}
	return texts
}

// requireNowhere requires that no audit log, account or token has a secret in it.
func (w *fixture) requireNowhere(secrets ...string) {
	w.t.Helper()
	for _, user := range []string{"ann", "root"} {
		for _, secret := range secrets {
			require.NotContains(w.t, strings.Join(w.entries(user), "\n"), secret)
		}
	}
}
