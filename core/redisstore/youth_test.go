package redisstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
	"drover/core/redisstore"
)

// A Redis that begins a life with an old memory was set back: what it gives out may have ended
// since, for as long again.
func TestAnIncarnationIsYoungForAsLongAsItsMemoryWasOld(t *testing.T) {
	t.Parallel()
	b := coretest.Real(t)
	ctx := t.Context()
	const age = 3 * time.Hour
	meta, events := b.Namespace+":meta", b.Namespace+":events"
	require.NoError(t, b.Admin.Do(ctx, "XADD", events, fmt.Sprintf("%d-1", time.Now().Add(-age).UnixMilli()), "op", "exchange").Err())
	s := b.Open(t)
	h := coretest.NewCluster(t, s, "h1", "p1")
	h.AddVMs(t, 2)
	h.Submit(t, coretest.Spec("a", "p1", "ann"), coretest.Spec("b", "p1", "ann"))
	claims := h.Exchange(t, 1, 1).Claims
	require.Len(t, claims, 1)
	require.True(t, claims[0].Young)
	k := newTasker(t, &suite{Cluster: h, b: b})
	k.add(t, "t")
	require.True(t, k.run(t, 1, 1).Claims[0].Young)

	life := redisstore.ReadRecord("incarnation", b.Admin.HGet(ctx, meta, "incarnation").Val())
	require.NotNil(t, life)
	for _, test := range []struct {
		name  string
		since time.Duration // before now
		sign  time.Duration // of life: the last one, before now
		gap   time.Duration // for which nobody gave a sign, until a minute ago
		young bool
	}{
		{"nearly as long as it was old", age - time.Minute, -time.Second, 0, true},
		{"as long as it was old", age + time.Minute, -time.Second, 0, false},
		{"its clock was ahead when it began", -20 * time.Hour, -time.Second, 0, true},
		{"its clock stepped forwards and nobody gave a sign yet", age + time.Minute, age, 0, true},
		{"its clock stepped forwards a while ago", age + time.Minute, -time.Second, time.Hour, true},
	} {
		at := func(before time.Duration) int64 { return time.Now().Add(-before).UnixMilli() }
		gaps := ""
		if test.gap > 0 {
			gaps = fmt.Sprintf("%d|%d", at(time.Minute), test.gap.Milliseconds())
		}
		require.NoError(t, b.Admin.HSet(ctx, meta, "incarnation", fmt.Sprintf("%s|%d|%d", life["name"], at(test.since), age.Milliseconds()),
			"gaps", gaps, "overseen", fmt.Sprintf("%d|%d", at(test.sign), at(test.sign))).Err())
		owners := b.Namespace + ":owners"
		for _, owner := range b.Admin.ZRange(ctx, owners, 0, -1).Val() {
			require.NoError(t, b.Admin.ZAdd(ctx, owners, redis.Z{Score: float64(at(test.sign)), Member: owner}).Err())
		}
		require.Equal(t, test.young, b.Open(t).Young(), test.name)
	}
}

// One whose memory is new, or that has none, is young for a while all the same.
func TestAnIncarnationIsYoungAtFirst(t *testing.T) {
	t.Parallel()
	b := coretest.Real(t)
	require.True(t, b.Open(t).Young())
	life := redisstore.ReadRecord("incarnation", b.Admin.HGet(t.Context(), b.Namespace+":meta", "incarnation").Val())
	require.Equal(t, redisstore.LeastYouth.Milliseconds(), redisstore.Num(life["youth"]))
}

// While owners may yet come back to another incarnation, VMs in use that it does not know are theirs. If its memory is old,
// what waits there may be theirs, too.
func TestOwnersComeBackToAnotherIncarnation(t *testing.T) {
	t.Parallel()
	const comeBack = 5 * time.Second
	for what, emptied := range map[string]bool{"it was emptied": true, "it has an old memory": false} {
		x := newSuite(t, coretest.Mini(t), false)
		_, err := x.Store.ReadClock(t.Context())
		require.NoError(t, err)
		if emptied {
			x.b.Mini.FlushAll()
		}
		opts := x.b.Options()
		opts.Incarnation, opts.Born, opts.ComeBack = "second-incarnation", start, comeBack
		s, err := redisstore.Open(t.Context(), opts)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		h := coretest.NewCluster(t, s, "h1", "p1")
		h.Submit(t, coretest.Spec("a", "p1", "ann"))
		clean := h.AddVMs(t, 1)[0]
		reconciled := func() core.Reconciled {
			got, err := s.Reconcile(t.Context(), h.Factory, h.Made, "h1", map[string]core.Found{
				clean: {Pool: "p1", Usable: true}, "vm-in-use": {Pool: "p1", Used: true},
			}, nil)
			require.NoError(t, err)
			return got
		}
		require.Equal(t, core.Reconciled{Alone: 1}, reconciled(), what)
		require.Equal(t, emptied, len(h.Exchange(t, 1, 1).Claims) == 1, what)
		x.b.Mini.SetTime(start.Add(comeBack))
		require.Equal(t, core.Reconciled{Dirtied: 1}, reconciled(), what)
		require.Equal(t, emptied, len(h.Exchange(t, 2, 1).Claims) == 0, what)
	}
}

// Of what was before Redis was emptied nobody knows by which clock: it counts from then on.
func TestWhatWasBeforeRedisWasEmptied(t *testing.T) {
	t.Parallel()
	x := newSuite(t, coretest.Mini(t), false)
	x.b.Mini.FlushAll()
	for _, since := range []time.Duration{0, time.Minute} {
		x.b.Mini.SetTime(start.Add(since))
		c, err := x.Store.ReadClock(t.Context())
		require.NoError(t, err)
		require.Equal(t, since, c.Age(start.Add(-time.Hour).UnixMilli()))
	}
}
