package redisstore_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"
	"drover/core/redisstore"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// suite is what a test works on: a cluster of one host and pool.
type suite struct {
	*coretest.Cluster
	b     *coretest.Backend
	twice bool // every script call runs twice and its first reply is lost
	// unsound is set by tests that break invariants on purpose.
	unsound bool
}

// each runs a test once as it is and once with every call made twice. At its end the namespace must be sound.
// TestEveryScriptOnEachServer runs the scripts on the other servers.
func each(t *testing.T, test func(t *testing.T, x *suite)) {
	t.Helper()
	for name, twice := range map[string]bool{"once": false, "twice": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newSuite(t, coretest.Real(t), twice)
			test(t, x)
			if !x.unsound {
				coretest.RequireSound(t, x.Store)
			}
		})
	}
}

// start is the time at which tests on miniredis begin.
var start = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func newSuite(t *testing.T, b *coretest.Backend, twice bool) *suite {
	t.Helper()
	if b.Mini != nil {
		b.Mini.SetTime(start)
	}
	s := open(t, b, "first-incarnation", time.UnixMilli(0))
	if twice {
		coretest.Twice(s)
	}
	return &suite{Cluster: coretest.NewCluster(t, s, "h1", "p1"), b: b, twice: twice}
}

// open opens a store that takes the server's life for the one told.
func open(t *testing.T, b *coretest.Backend, incarnation string, born time.Time) *redisstore.Store {
	t.Helper()
	opts := b.Options()
	opts.Incarnation, opts.Born = incarnation, born
	s, err := redisstore.Open(context.Background(), opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// picture is the namespace, with the cluster's epochs as E.
func (x *suite) picture(t testing.TB) coretest.Picture {
	t.Helper()
	return x.b.Picture(t, strconv.FormatInt(x.Made, 10), "E", strconv.FormatInt(x.Epoch, 10), "E")
}

// changed requires that the namespace differs from a picture by the lines, in any order.
func (x *suite) changed(t testing.TB, before coretest.Picture, lines ...string) {
	t.Helper()
	diff := before.To(x.picture(t))
	slices.Sort(diff)
	slices.Sort(lines)
	require.Equal(t, strings.Join(lines, "\n"), strings.Join(diff, "\n"))
}

// key names a key of the namespace.
func (x *suite) key(name string, args ...string) string {
	return x.Store.Namespace().Key(name, args...)
}

// rung says whether a bell rings, and silences it.
func (x *suite) rung(t testing.TB, name string, args ...string) bool {
	t.Helper()
	n, err := x.b.Admin.Del(context.Background(), x.key(name, args...)).Result()
	require.NoError(t, err)
	return n == 1
}

// hush silences the host's bells.
func (x *suite) hush(t testing.TB) {
	t.Helper()
	x.rung(t, "bell", x.Host)
	x.rung(t, "factory_bell", x.Host)
	x.rung(t, "placement_bell")
	x.rung(t, "tasks_bell")
}

// due sets when an owner's and its host's next heartbeat is due, from now.
func (x *suite) due(t testing.TB, in time.Duration, owners ...string) {
	t.Helper()
	ctx := context.Background()
	at := float64(x.now(t).Add(in).UnixMilli())
	for _, o := range owners {
		_, host, err := core.ParseOwner(o)
		require.NoError(t, err)
		require.NoError(t, x.b.Admin.ZAdd(ctx, x.key("owners"), redis.Z{Member: o, Score: at}).Err())
		require.NoError(t, x.b.Admin.ZAdd(ctx, x.key("hosts"), redis.Z{Member: host, Score: at}).Err())
	}
}

func (x *suite) now(t testing.TB) time.Time {
	t.Helper()
	now, err := x.b.Admin.Time(context.Background()).Result()
	require.NoError(t, err)
	return now
}

// refused requires that err is a core error of the code, with a sentence.
func refused(t testing.TB, err error, code core.Code) {
	t.Helper()
	require.Equal(t, code, core.CodeOf(err), "%v", err)
	require.NotEmpty(t, err.Error())
}

// pausesEnd makes the next try of all that pauses due.
func (x *suite) pausesEnd(t testing.TB) {
	t.Helper()
	ctx := context.Background()
	keys, err := x.b.Admin.ZRange(ctx, x.key("later"), 0, -1).Result()
	require.NoError(t, err)
	for _, key := range keys {
		require.NoError(t, x.b.Admin.ZIncrBy(ctx, x.key("later"), -float64(time.Hour.Milliseconds()), key).Err())
	}
}

// specs makes n requests <prefix>0, <prefix>1, … of a submitter.
func specs(prefix string, n int, submitter string) []core.Spec {
	out := make([]core.Spec, n)
	for i := range out {
		out[i] = coretest.Spec(fmt.Sprintf("%s%d", prefix, i), "p1", submitter)
	}
	return out
}

func withPriority(s core.Spec, priority core.Priority) core.Spec {
	s.Priority = priority
	return s
}

// claim submits one request, makes a VM for it and claims both.
func (x *suite) claim(t testing.TB, seq int64, id string) core.Claim {
	t.Helper()
	x.Submit(t, coretest.Spec(id, x.Pool, "ann"))
	x.AddVMs(t, 1)
	got := x.Exchange(t, seq, 1)
	require.Len(t, got.Claims, 1)
	return got.Claims[0]
}

func end(c core.Claim, outcome core.Outcome) core.Finish {
	return core.Finish{Key: c.Key, Token: c.Token, Outcome: outcome}
}
