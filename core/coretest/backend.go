package coretest

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"drover/core/redisstore"
	"drover/core/redisstore/redisserver"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// Backend is one Redis that a test runs on.
type Backend struct {
	Name      string // mini or real
	URL       string // as the restricted user
	Namespace string // the test's own
	Admin     *redis.Client
	Mini      *miniredis.Miniredis // nil on the real one
}

// Each runs test once on miniredis and once on a real redis-server, in parallel,
// each with a namespace of its own. Where there is no redis-server the second
// run is skipped, and fails when CI is set. A package has one such test of what it
// does with Redis, which shows that the embedded one will do; the others take
// Real, because miniredis interprets scripts in ten times the time.
func Each(t *testing.T, test func(t *testing.T, b *Backend)) {
	t.Helper()
	t.Run("mini", func(t *testing.T) {
		t.Parallel()
		test(t, Mini(t))
	})
	t.Run("real", func(t *testing.T) {
		t.Parallel()
		test(t, Real(t))
	})
}

// Mini starts a miniredis of the test's own, whose clock it may turn.
func Mini(t testing.TB) *Backend {
	t.Helper()
	m := miniredis.NewMiniRedis()
	require.NoError(t, m.Start())
	t.Cleanup(m.Close)
	admin := redis.NewClient(&redis.Options{Addr: m.Addr()})
	t.Cleanup(func() { require.NoError(t, admin.Close()) })
	// A script over thousands of entries takes its interpreter seconds beside other work, and an
	// answer that comes is no fault of the server's.
	return &Backend{Name: "mini", URL: "redis://" + m.Addr() + "?read_timeout=1m", Namespace: newNamespace(), Admin: admin, Mini: m}
}

// Real gives the test a namespace and a user of its own on a redis-server that
// the tests of the package share.
func Real(t testing.TB) *Backend {
	t.Helper()
	s, err := sharedServer()
	if err != nil {
		Missing(t, "redis-server", err)
	}
	return on(t, s)
}

// Alone starts a redis-server for this test, which may change it as a whole: fill
// it, flush its scripts, stop it.
func Alone(t testing.TB) *Backend {
	t.Helper()
	s, err := redisserver.Start(context.Background(), "--appendonly", "no")
	if err != nil {
		Missing(t, "redis-server", err)
	}
	t.Cleanup(func() { _ = s.Stop() }) // it reports its own violent end
	return on(t, s)
}

// on makes a namespace on the server, and a user that may touch nothing else.
func on(t testing.TB, s *redisserver.Server) *Backend {
	t.Helper()
	ctx := context.Background()
	admin := redis.NewClient(&redis.Options{Network: "unix", Addr: s.Socket})
	t.Cleanup(func() { require.NoError(t, admin.Close()) })
	ns, password := newNamespace(), rand.Text()
	addUser(ctx, t, admin, ns, password, ns)
	return &Backend{
		Name: "real", Namespace: ns, Admin: admin,
		URL: fmt.Sprintf("unix://%s:%s@%s", ns, password, s.Socket),
	}
}

// addUser makes a user that may do what drover needs, in one namespace.
func addUser(ctx context.Context, t testing.TB, admin *redis.Client, name, password, namespace string) {
	t.Helper()
	require.NoError(t, admin.Do(ctx, "ACL", "SETUSER", name, "on", ">"+password,
		"~"+namespace+":*", "resetchannels", "+@all", "-@dangerous", "-@admin", "+info").Err())
	t.Cleanup(func() {
		require.NoError(t, admin.Do(ctx, "ACL", "DELUSER", name).Err())
	})
}

// Open opens a Store on the backend, closed at the end of the test.
func (b *Backend) Open(t testing.TB) *redisstore.Store {
	t.Helper()
	s, err := redisstore.Open(context.Background(), b.Options())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// Served lets Redis have served its memory for long.
func (b *Backend) Served(t testing.TB) {
	t.Helper()
	ctx, meta := context.Background(), b.Namespace+":meta"
	name, _, _ := strings.Cut(b.Admin.HGet(ctx, meta, "incarnation").Val(), "|")
	require.NoError(t, b.Admin.HSet(ctx, meta, "incarnation", cmp.Or(name, b.Options().Incarnation)+"|0|0").Err())
	require.NoError(t, b.Admin.HDel(ctx, meta, "gaps", "back_at").Err())
}

// Options are those of a Store on the backend.
func (b *Backend) Options() redisstore.Options {
	// The tests' owners do not come back by themselves.
	o := redisstore.Options{URL: b.URL, Namespace: b.Namespace, ComeBack: -1}
	if b.Mini != nil {
		// It does not tell its run id and has no uptime.
		o.Incarnation, o.Born = "mini", time.UnixMilli(0)
	}
	return o
}

// Missing skips a test for want of a real part, and fails it when CI is set.
func Missing(t testing.TB, part string, err error) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is missing, and CI must have it: %v", part, err)
	}
	t.Skipf("%s is missing (make test installs it): %v", part, err)
}

func newNamespace() string { return "t-" + strings.ToLower(rand.Text()[:12]) }

// sharedServer is the one redis-server of the test binary; it ends with it.
var sharedServer = sync.OnceValues(func() (*redisserver.Server, error) {
	return redisserver.Start(context.Background(), "--appendonly", "no")
})
