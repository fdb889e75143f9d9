package redisstore_test

import (
	"context"
	"net"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"
	"drover/core/coretest/tier"
	"drover/core/redisstore"
	"drover/core/redisstore/redisserver"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// testTimeout is how long a test waits for servers to agree on a new primary.
const testTimeout = 5 * time.Minute

// ready opens a store on the URL, with a cluster whose host has reconciled and has clean VMs.
func ready(t *testing.T, url, namespace string) (*redisstore.Store, *coretest.Cluster) {
	t.Helper()
	s, err := redisstore.Open(t.Context(), redisstore.Options{URL: url, Namespace: namespace, ComeBack: -1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	h := coretest.NewCluster(t, s, "h1", "p1")
	h.AddVMs(t, 3)
	h.Submit(t, coretest.Spec("a", "p1", "ann"), coretest.Spec("b", "p1", "ann"))
	require.True(t, h.Exchange(t, 1, 0).Ready)
	return s, h
}

// exchanged repeats a call until it is answered, as an owner does.
func exchanged(t *testing.T, s *redisstore.Store, call core.Exchange) core.Exchanged {
	t.Helper()
	var got core.Exchanged
	require.Eventually(t, func() bool {
		var err error
		got, err = s.Exchange(context.Background(), call)
		if err != nil {
			require.Equal(t, core.CodeUnavailable, core.CodeOf(err), "%v", err)
		}
		return err == nil
	}, testTimeout, 20*time.Millisecond)
	return got
}

// admin is a client of one server, past all Sentinels and Clusters.
func admin(t *testing.T, s *redisserver.Server) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Network: "unix", Addr: s.Socket})
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// follows waits until a server is a replica that has all its primary wrote.
func follows(t *testing.T, replica, primary *redis.Client) {
	t.Helper()
	require.Eventually(t, func() bool {
		n, err := primary.Wait(context.Background(), 1, 100*time.Millisecond).Result()
		text, infoErr := replica.Info(context.Background(), "replication").Result()
		return err == nil && infoErr == nil && n == 1 && redisstore.InfoField(text, "master_link_status") == "up"
	}, testTimeout, 20*time.Millisecond)
}

// A replica that is promoted is another incarnation, though it has been up for long: its host claims
// nothing until it reconciled, and lateness counts from when it was first seen to serve.
func TestAFailoverIsAnotherIncarnation(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Long)
	f, err := redisserver.StartFailover(t.Context(), 1)
	if err != nil {
		coretest.Missing(t, "redis-server", err)
	}
	t.Cleanup(func() { _ = f.Stop() })
	s, h := ready(t, f.URL(), "t")
	first := s.Incarnation()
	follows(t, admin(t, f.Servers[1]), admin(t, f.Servers[0]))
	waiting := make(chan error, 1)
	go func() { waiting <- s.Wait(context.Background(), h.Runner, "", time.Hour) }() // the host's bell has been rung
	primary := admin(t, f.Servers[0])
	require.Eventually(t, func() bool { // else it may come late, and wait on the next primary
		text, err := primary.Info(context.Background(), "clients").Result()
		return err == nil && redisstore.InfoField(text, "blocked_clients") == "1"
	}, testTimeout, time.Millisecond)
	before := time.Now()
	require.NoError(t, f.Servers[0].Kill())

	got := exchanged(t, s, h.Call(2, 2))
	require.False(t, got.Ready)
	require.Empty(t, got.Claims, "nobody has looked what is really there")
	require.NotEqual(t, first, s.Incarnation())
	require.GreaterOrEqual(t, s.Born(), before.UnixMilli())
	refused(t, <-waiting, core.CodeUnavailable)

	// Who comes later learns the same, whatever the server's uptime is.
	late, err := redisstore.Open(t.Context(), redisstore.Options{URL: f.URL(), Namespace: "t"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, late.Close()) })
	require.Equal(t, []any{s.Incarnation(), s.Born()}, []any{late.Incarnation(), late.Born()})
	overdue, err := late.Late(t.Context(), time.Hour)
	require.NoError(t, err)
	require.Empty(t, overdue)

	_, err = s.Reconcile(t.Context(), h.Factory, h.Made, "h1", map[string]core.Found{"vm-h1-1": {Pool: "p1", Usable: true}}, nil)
	require.NoError(t, err)
	got = exchanged(t, s, h.Call(3, 2))
	require.True(t, got.Ready)
	require.Len(t, got.Claims, 1, "of the three VMs one is really there")

	// The old primary comes back as a replica of the new one. It is nobody's Redis.
	require.NoError(t, f.Servers[0].Restart(t.Context()))
	follows(t, admin(t, f.Servers[0]), admin(t, f.Servers[1]))
	_, err = redisstore.Open(t.Context(), redisstore.Options{URL: f.Servers[0].URL(), Namespace: "t"})
	refused(t, err, core.CodeUnavailable)
	require.ErrorContains(t, err, "is a replica")
}

// A server that was demoted and is promoted again was up all the time, and the connections to
// it stayed; what it has is another one's data.
func TestARepromotedServerIsAnotherIncarnation(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	var servers [2]*redisserver.Server
	var admins [2]*redis.Client
	for i := range servers {
		var err error
		if servers[i], err = redisserver.Start(ctx, "--repl-diskless-sync-delay", "0"); err != nil {
			coretest.Missing(t, "redis-server", err)
		}
		t.Cleanup(func() { _ = servers[i].Stop() })
		admins[i] = admin(t, servers[i])
	}
	listen := func(c *redis.Client) string { // a replica needs a port to come to
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		require.NoError(t, err)
		_, port, err := net.SplitHostPort(l.Addr().String())
		require.NoError(t, err)
		require.NoError(t, l.Close())
		require.NoError(t, c.ConfigSet(ctx, "port", port).Err())
		return port
	}
	ports := [2]string{listen(admins[0]), listen(admins[1])}
	swap := func() {
		require.NoError(t, admins[1].ReplicaOf(ctx, "127.0.0.1", ports[0]).Err())
		follows(t, admins[1], admins[0])
		require.NoError(t, admins[1].ReplicaOf(ctx, "no", "one").Err())
		require.NoError(t, admins[0].ReplicaOf(ctx, "127.0.0.1", ports[1]).Err())
		follows(t, admins[0], admins[1])
	}
	s, h := ready(t, servers[0].URL(), "t")
	first := s.Incarnation()
	swap()
	_, err := s.Exchange(ctx, h.Call(2, 1))
	refused(t, err, core.CodeUnavailable)
	require.NoError(t, admins[0].ReplicaOf(ctx, "no", "one").Err())
	require.False(t, exchanged(t, s, h.Call(2, 1)).Ready, "who met a replica asks again")
	second := s.Incarnation()
	require.NotEqual(t, first, second)

	_, err = s.Reconcile(ctx, h.Factory, h.Made, "h1", map[string]core.Found{"vm-h1-1": {Pool: "p1", Usable: true}}, nil)
	require.NoError(t, err)
	require.True(t, exchanged(t, s, h.Call(3, 0)).Ready)
	swap()
	require.NoError(t, admins[0].ReplicaOf(ctx, "no", "one").Err())
	b, err := s.Beat(ctx, h.Factory, h.Made, time.Minute)
	require.NoError(t, err)
	require.False(t, b.Ready, "a vmfactory asks even if nobody met the replica")
	require.NotEqual(t, second, s.Incarnation())
}

// A node of a Redis Cluster has some of the keys only.
func TestANodeOfARedisClusterIsRefused(t *testing.T) {
	t.Parallel()
	s, err := redisserver.Start(t.Context(), "--cluster-enabled", "yes")
	if err != nil {
		coretest.Missing(t, "redis-server", err)
	}
	t.Cleanup(func() { _ = s.Stop() })
	_, err = redisstore.Open(t.Context(), redisstore.Options{URL: s.URL(), Namespace: "t"})
	require.ErrorContains(t, err, "a node of a Redis Cluster")
}
