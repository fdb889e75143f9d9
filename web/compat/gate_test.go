package compat_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"drover/core"
	"drover/core/coretest"
	"drover/core/school"
	"drover/web/caller"
	"drover/web/compat"
	"drover/web/services"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ann, bob = named("ann"), named("bob")

func named(handle string) *caller.Caller {
	return &caller.Caller{Actor: core.Actor{Handle: handle, Roles: []core.UserRole{core.RoleRunner}}, Token: "t", Scopes: school.Scopes()}
}

// keys are users' handles.
type keys struct{}

func (keys) ByToken(_ context.Context, secret string) (*caller.Caller, error) {
	switch secret {
	case "ann", "bob":
		return named(secret), nil
	case "away":
		return nil, core.Errorf(core.CodeUnavailable, "", "the store is away")
	}
	return nil, core.Errorf(core.CodeForbidden, "", "no such token")
}

func newGate(limits core.Limiter, bytes int64) *compat.Gate {
	log := logrus.New()
	log.SetOutput(io.Discard)
	return compat.NewGate(services.Deps{Limits: limits, Log: log}, keys{}, bytes)
}

func enter(t *testing.T, g *compat.Gate, key, address string) error {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	r.RemoteAddr = address
	_, err := g.Enter(r, key, school.ScopeRead, "")
	return err
}

// Who tries keys is held by its address, and shuts out nobody who has one.
func TestKeysCannotBeTried(t *testing.T) {
	t.Parallel()
	g := newGate(coretest.Mini(t).Open(t), 0)
	var much *compat.TooMuch
	tries := 0
	for err := error(nil); ; tries++ {
		if err = enter(t, g, "wrong", "192.0.2.1:7"); !isKey(err) {
			require.ErrorAs(t, err, &much)
			require.Positive(t, much.Retry)
			break
		}
		require.Less(t, tries, 1000)
	}
	require.GreaterOrEqual(t, tries, services.PerAddress.Burst)
	require.ErrorIs(t, enter(t, g, "wrong", "192.0.2.2:7"), compat.ErrKey)
	require.NoError(t, enter(t, g, "ann", "192.0.2.1:7"))
	require.True(t, core.Is(enter(t, g, "away", "192.0.2.1:7"), core.CodeUnavailable))
}

func isKey(err error) bool { return err == compat.ErrKey } //nolint:errorlint // that very one

// Calls of a user count, whichever API they come to, and others' do not.
func TestCallsAreBounded(t *testing.T) {
	t.Parallel()
	limits := coretest.Mini(t).Open(t)
	one, other := newGate(limits, 0), newGate(limits, 0)
	require.NoError(t, one.Calls(t.Context(), ann, services.PerUser.Burst-10))
	var much *compat.TooMuch
	require.ErrorAs(t, other.Calls(t.Context(), ann, services.PerUser.Burst/2), &much)
	require.NoError(t, other.Calls(t.Context(), bob, services.PerUser.Burst/2))
	require.NoError(t, newGate(nil, 0).Calls(t.Context(), ann, 1<<30))
}

// What a user brings counts while it comes.
func TestBytesAreBounded(t *testing.T) {
	t.Parallel()
	g := newGate(coretest.Mini(t).Open(t), 1<<20)
	bring := func(who *caller.Caller, size int) (int, error) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(strings.Repeat("x", size)))
		body, release, err := g.Body(httptest.NewRecorder(), r, who, 4<<20)
		require.NoError(t, err)
		defer release()
		content, err := io.ReadAll(body)
		return len(content), err
	}
	n, err := bring(ann, 500<<10)
	require.NoError(t, err)
	require.Equal(t, 500<<10, n)
	n, err = bring(ann, 3<<20)
	var much *compat.TooMuch
	require.ErrorAs(t, err, &much)
	require.Less(t, n, 600<<10)
	_, err = bring(bob, 500<<10)
	require.NoError(t, err)
	var large *http.MaxBytesError
	_, err = newBody(t, newGate(nil, 0), 5<<20)
	require.ErrorAs(t, err, &large)
}

func newBody(t *testing.T, g *compat.Gate, size int) (int, error) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(strings.Repeat("x", size)))
	body, release, err := g.Body(httptest.NewRecorder(), r, ann, 4<<20)
	require.NoError(t, err)
	defer release()
	content, err := io.ReadAll(body)
	return len(content), err
}

// Few bodies of one user are read at once: the next waits for its turn, and not for ever.
func TestBodiesTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(nil, 0)
		take := func(who *caller.Caller) (func(), error) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
			_, release, err := g.Body(httptest.NewRecorder(), r, who, 10)
			return release, err
		}
		var releases []func()
		for range 4 {
			release, err := take(ann)
			require.NoError(t, err)
			releases = append(releases, release)
		}
		release, err := take(bob)
		require.NoError(t, err)
		release()
		began := time.Now()
		_, err = take(ann)
		var much *compat.TooMuch
		require.ErrorAs(t, err, &much)
		require.Equal(t, 10*time.Second, time.Since(began))
		time.AfterFunc(3*time.Second, releases[0])
		release, err = take(ann)
		require.NoError(t, err)
		for _, r := range append(releases[1:], release) {
			r()
		}
		for range 4 {
			_, err := take(ann)
			require.NoError(t, err)
		}
	})
}

// The secret of callbacks is what docs/migrate.md says it is.
func TestCallbackSecret(t *testing.T) {
	t.Parallel()
	mac := hmac.New(sha256.New, []byte("dro_key"))
	_, _ = mac.Write([]byte("drover callback"))
	require.Equal(t, "whsec_"+base64.StdEncoding.EncodeToString(mac.Sum(nil)), compat.CallbackSecret("dro_key"))
}
