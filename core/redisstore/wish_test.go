package redisstore_test

import (
	"strings"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"

	"github.com/stretchr/testify/require"
)

// wants lets the host's vmfactory reconcile, having heard what is wanted of the host.
func (x *suite) wants(t *testing.T, wishes ...core.HostWish) {
	t.Helper()
	_, err := x.Store.Reconcile(t.Context(), x.Factory, x.Made, "h1", map[string]core.Found{"v1": {Pool: "p1", Usable: true}}, append([]core.HostWish{}, wishes...))
	require.NoError(t, err)
}

// forgotten makes Redis forget what is wanted of the host, as if it were another incarnation of it.
func (x *suite) forgotten(t *testing.T) {
	t.Helper()
	require.NoError(t, x.b.Admin.HDel(t.Context(), x.Store.Namespace().Key("host", "h1"),
		"wished", "incarnation", "drain", "drain_until", "drain_within", "failed", "probation").Err())
}

// What the result store has of a host holds before the host claims anything in a new incarnation of Redis.
func TestWhatIsWantedOfAHostHoldsBeforeItClaims(t *testing.T) {
	t.Parallel()
	drain := core.HostWish{Host: "h1", Kind: core.WishDrain}
	const soon = -1 // an hour from when the wish is told
	for name, c := range map[string]struct {
		wish   core.HostWish
		claims int
		is     func(t *testing.T, h core.HostInfo)
	}{
		"nothing": {core.HostWish{Kind: core.WishDrain, Lifted: true}, 1, func(t *testing.T, h core.HostInfo) {
			require.False(t, h.Drain)
		}},
		"drain": {drain, 0, func(t *testing.T, h core.HostInfo) {
			require.True(t, h.Drain)
			require.Zero(t, h.DrainUntil)
		}},
		"drain until": {core.HostWish{Kind: core.WishDrain, Until: soon}, 0, func(t *testing.T, h core.HostInfo) {
			require.True(t, h.Drain)
			require.Positive(t, h.DrainUntil)
			require.InDelta(t, time.Hour, h.DrainWithin, float64(10*time.Minute))
		}},
		"drain until before": {core.HostWish{Kind: core.WishDrain, Until: 5}, 0, func(t *testing.T, h core.HostInfo) {
			require.Equal(t, time.Second, h.DrainWithin)
		}},
		"probation": {core.HostWish{Kind: core.WishProbation, Reason: "it flaps", Needed: 2, Until: soon}, 0, func(t *testing.T, h core.HostInfo) {
			require.Equal(t, "it flaps", h.Probation.Reason)
			require.Equal(t, 2, h.Probation.Needed)
		}},
		"probation whose time is over": {core.HostWish{Kind: core.WishProbation, Reason: "it flaps"}, 1, func(t *testing.T, h core.HostInfo) {
			require.Equal(t, 1, h.Probation.Needed)
		}},
		"settings": {core.HostWish{Kind: core.WishSettings, Settings: &core.HostSettings{Labels: map[string]string{"zone": "a"}}}, 1, func(t *testing.T, h core.HostInfo) {
			require.Equal(t, map[string]string{"zone": "a"}, h.Settings.Labels)
		}},
		"failed": {core.HostWish{Kind: core.WishFailed, By: "a dog", Reason: "no power"}, -1, func(t *testing.T, h core.HostInfo) {
			require.Equal(t, core.HostDown, h.State)
			require.Equal(t, "a-dog", h.Failed.By)
			require.Equal(t, "no power", h.Failed.Reason)
			require.False(t, h.Ready)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, x *suite) {
				x.forgotten(t)
				x.Submit(t, coretest.Spec("a", "p1", "ann"), coretest.Spec("b", "p1", "ann"))
				require.Empty(t, x.Exchange(t, 1, 1).Claims, "nobody has said what is wanted of it")
				wish := c.wish
				if wish.Until == soon {
					wish.Until = time.Now().Add(time.Hour).UnixMilli()
				}
				if c.claims >= 0 {
					x.wants(t, wish)
					require.Len(t, x.Exchange(t, 2, 1).Claims, c.claims)
				} else {
					_, err := x.Store.Reconcile(t.Context(), x.Factory, x.Made, "h1", nil, []core.HostWish{wish})
					if x.twice {
						refused(t, err, core.CodeFenced) // the second time
					} else {
						require.NoError(t, err)
					}
					_, err = x.Store.Beat(t.Context(), x.Factory, x.Made, time.Minute)
					refused(t, err, core.CodeFenced)
					x.Made = x.Register(t, x.Factory).Epoch
					x.wants(t, wish)
					require.Equal(t, core.HostDown, x.host(t, "h1").State, "it is back, and not believed")
				}
				c.is(t, x.host(t, "h1"))
				require.True(t, x.host(t, "h1").Wished || c.claims < 0)
				coretest.RequireSound(t, x.Store)
			})
		})
	}
}

// In one life Redis knows best: what a vmfactory read of the store may be of before.
func TestWhatIsWantedIsHeardOnceInAnIncarnation(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		x.wants(t)
		require.NoError(t, x.Store.Drain(t.Context(), "h1", true, 0))
		x.wants(t)
		require.True(t, x.host(t, "h1").Drain)
		require.NoError(t, x.Store.Drain(t.Context(), "h1", false, 0))
		x.wants(t, core.HostWish{Host: "h1", Kind: core.WishDrain})
		require.False(t, x.host(t, "h1").Drain)
	})
}

// A vmfactory that has not noticed another incarnation of Redis yet does not let its host claim in it.
func TestAHostThatHasHeardOfAnotherIncarnationHearsOfThisOneFirst(t *testing.T) {
	t.Parallel()
	x := newSuite(t, coretest.Mini(t), false)
	x.wants(t)
	next := open(t, x.b, "second-incarnation", x.now(t))
	_, err := next.Reconcile(t.Context(), x.Factory, x.Made, "h1", nil, nil)
	require.NoError(t, err)
	hosts, err := next.ListHosts(t.Context())
	require.NoError(t, err)
	require.False(t, hosts[0].Ready)
	_, err = next.Reconcile(t.Context(), x.Factory, x.Made, "h1", nil, []core.HostWish{{Host: "h1", Kind: core.WishDrain}})
	require.NoError(t, err)
	hosts, err = next.ListHosts(t.Context())
	require.NoError(t, err)
	require.True(t, hosts[0].Ready)
	require.True(t, hosts[0].Drain)
}

// A clock that was set back does not make a drain longer than it was given.
func TestADrainIsNoLongerThanItWasGiven(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		require.NoError(t, x.Store.Drain(t.Context(), "h1", true, 20*time.Second))
		h := x.host(t, "h1")
		require.Equal(t, 20*time.Second, h.DrainWithin)
		require.InDelta(t, x.now(t).Add(20*time.Second).UnixMilli(), h.DrainUntil, 5*60*1000)
		require.NoError(t, x.Store.Drain(t.Context(), "h1", true, 0))
		require.Zero(t, x.host(t, "h1").DrainWithin)
	})
}

// The pause of a task is over once it is known that it was begun by a clock that was set back;
// a moment that a task was told to wait for is not.
func TestTheClockGoesBackWhileTasksPause(t *testing.T) {
	t.Parallel()
	x := newSuite(t, coretest.Mini(t), false)
	k := newTasker(t, x)
	k.add(t, "again", "later", "withdrawn", "woken")
	moment := x.now(t).Add(time.Minute)
	require.NoError(t, k.Store.EnqueueTask(t.Context(), core.Task{ID: "at", Generation: 1, Kind: "none", NotBefore: moment.UnixMilli()}))
	claims := k.run(t, 1, 4).Claims
	require.Len(t, claims, 4)
	finish := make([]core.TaskFinish, len(claims))
	for i, c := range claims {
		outcome := core.OutcomeRetry
		if strings.HasPrefix(c.Task.ID, "later") {
			outcome = core.OutcomeLater
		}
		finish[i] = ended(c, outcome, 10*time.Second)
	}
	require.Empty(t, k.run(t, 2, 1, finish...).Claims)
	require.NoError(t, k.Store.WakeTask(t.Context(), "woken-1"))
	gone, err := k.Store.WithdrawTask(t.Context(), "withdrawn-1")
	require.NoError(t, err)
	require.True(t, gone)
	paused, err := x.b.Admin.ZCard(t.Context(), x.Store.Namespace().Key("tasks_paused")).Result()
	require.NoError(t, err)
	require.EqualValues(t, 2, paused)

	x.b.Mini.SetTime(start.Add(-3 * time.Hour))
	_, err = k.Store.Beat(t.Context(), k.owner, k.epoch, time.Minute)
	require.NoError(t, err)
	var ids []string
	for _, c := range k.run(t, 3, 5).Claims {
		ids = append(ids, c.Task.ID)
	}
	require.ElementsMatch(t, []string{"again", "later", "woken"}, ids)
	require.EqualValues(t, 0, x.b.Admin.Exists(t.Context(), x.Store.Namespace().Key("tasks_paused")).Val())
	coretest.RequireSound(t, k.Store)
}
