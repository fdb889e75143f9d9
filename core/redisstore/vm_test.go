package redisstore_test

import (
	"fmt"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func TestLifeOfAVM(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		f := func(err error) { t.Helper(); require.NoError(t, err) }
		x.hush(t)
		before := x.picture(t)
		f(x.Store.Create(ctx, x.Factory, x.Made, "h1", "p1", []string{"v1", "v2", "v3"}))
		x.changed(t, before,
			"+ vms:h1 v1: p1|TIME", "+ vms:h1 v2: p1|TIME", "+ vms:h1 v3: p1|TIME",
			"+ slots:vmfactory@h1#0 v1: p1|E.0|TIME|creating|0|", "+ slots:vmfactory@h1#0 v2: p1|E.0|TIME|creating|0|",
			"+ slots:vmfactory@h1#0 v3: p1|E.0|TIME|creating|0|", "+ events: by:vmfactory@h1#0 moved:v1 v2 v3 op:create")
		before = x.picture(t)
		f(x.Store.Ready(ctx, x.Factory, x.Made, "h1", map[string]bool{"v1": true, "v2": false, "v3": true, "nobody": true}))
		x.changed(t, before,
			"- slots:vmfactory@h1#0 v1: p1|E.0|TIME|creating|0|", "- slots:vmfactory@h1#0 v2: p1|E.0|TIME|creating|0|",
			"- slots:vmfactory@h1#0 v3: p1|E.0|TIME|creating|0|",
			"+ vms:h1:p1:clean: v1 v3", "+ vms:h1:dirty: v2", "+ bell:h1: 1", "+ events: by:vmfactory@h1#0 moved:v1=1 v2=0 v3=1 op:ready")
		x.hush(t)
		before = x.picture(t)
		taken, err := x.Store.Retire(ctx, x.Factory, x.Made, "h1", []string{"v1", "v2", "nobody"})
		f(err)
		if !x.twice {
			require.Equal(t, []string{"v1"}, taken, "only what it took off the list itself")
		}
		x.changed(t, before,
			"- vms:h1:p1:clean: v1 v3", "+ vms:h1:p1:clean: v3", "- vms:h1:dirty: v2", "+ vms:h1:dirty: v2 v1",
			"+ bell:h1:vmfactory: 1", "+ events: by:vmfactory@h1#0 moved:v1 op:retire")
		x.hush(t)
		before = x.picture(t)
		vms, err := x.Store.Destroy(ctx, x.Factory, x.Made, "h1", 1)
		f(err)
		require.Equal(t, []string{"v2"}, vms, "oldest first")
		x.changed(t, before,
			"- vms:h1:dirty: v2 v1", "+ vms:h1:dirty: v1", "+ slots:vmfactory@h1#0 v2: p1|E.0|TIME|destroying|0|",
			"+ owner:vmfactory@h1#0 destroy: ID|v2", "+ events: by:vmfactory@h1#0 moved:v2 op:destroy")
		vms, err = x.Store.Destroy(ctx, x.Factory, x.Made, "h1", 5)
		f(err)
		require.Equal(t, []string{"v1"}, vms)
		before = x.picture(t)
		f(x.Store.Gone(ctx, x.Factory, x.Made, "h1", map[string]string{"v1": "", "v2": "will not die", "v3": "", "nobody": ""}))
		x.changed(t, before,
			"- slots:vmfactory@h1#0 v1: p1|E.0|TIME|destroying|0|", "- slots:vmfactory@h1#0 v2: p1|E.0|TIME|destroying|0|",
			"- vms:h1 v1: p1|TIME", "+ vms:h1:quarantined v2: will not die", "+ events: by:vmfactory@h1#0 moved:v1 v2=quarantined op:gone")
		list, err := x.Store.ListVMs(ctx, "h1")
		f(err)
		require.Len(t, list, 2)
		require.Equal(t, core.VMQuarantined, list[0].State)
		require.Equal(t, "will not die", list[0].Note)
		require.Equal(t, core.VMClean, list[1].State)
		clean, err := x.Store.CleanVMs(ctx, "h1", "p1")
		f(err)
		require.Equal(t, []string{"v3"}, clean)
	})
}

// Rule 13: clean is pushed on creating → clean only, once.
func TestAVMIsCleanOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		good := map[string]bool{"v1": true}
		require.NoError(t, x.Store.Create(ctx, x.Factory, x.Made, "h1", "p1", []string{"v1"}))
		require.NoError(t, x.Store.Ready(ctx, x.Factory, x.Made, "h1", good))
		before := x.picture(t)
		require.NoError(t, x.Store.Ready(ctx, x.Factory, x.Made, "h1", good))
		require.NoError(t, x.Store.Create(ctx, x.Factory, x.Made, "h1", "p1", []string{"v1"}), "a late copy of the call")
		require.NoError(t, x.Store.Ready(ctx, x.Factory, x.Made, "h1", good))
		x.changed(t, before)
		x.Submit(t, coretest.Spec("a", "p1", "ann"))
		require.Len(t, x.Exchange(t, 1, 1).Claims, 1)
		before = x.picture(t)
		require.NoError(t, x.Store.Create(ctx, x.Factory, x.Made, "h1", "p1", []string{"v1"}))
		require.NoError(t, x.Store.Ready(ctx, x.Factory, x.Made, "h1", good))
		taken, err := x.Store.Retire(ctx, x.Factory, x.Made, "h1", []string{"v1"})
		require.NoError(t, err)
		require.Empty(t, taken, "it is in a slot")
		require.NoError(t, x.Store.Gone(ctx, x.Factory, x.Made, "h1", map[string]string{"v1": ""}))
		x.changed(t, before)
	})
}

func TestVMCallsOfAFormerEpoch(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		x.AddVMs(t, 1)
		x.Register(t, x.Factory)
		before := x.picture(t)
		refused(t, x.Store.Create(ctx, x.Factory, x.Made, "h1", "p1", []string{"v"}), core.CodeFenced)
		refused(t, x.Store.Ready(ctx, x.Factory, x.Made, "h1", map[string]bool{"v": true}), core.CodeFenced)
		_, err := x.Store.Destroy(ctx, x.Factory, x.Made, "h1", 1)
		refused(t, err, core.CodeFenced)
		refused(t, x.Store.Gone(ctx, x.Factory, x.Made, "h1", map[string]string{"v": ""}), core.CodeFenced)
		_, err = x.Store.Retire(ctx, x.Factory, x.Made, "h1", []string{"vm-h1-1"})
		refused(t, err, core.CodeFenced)
		_, err = x.Store.Reconcile(ctx, x.Factory, x.Made, "h1", nil, nil)
		refused(t, err, core.CodeFenced)
		refused(t, x.Store.Create(ctx, x.Factory, x.Made, "h1", "p1", []string{"Not A Name"}), core.CodeInvalid)
		x.changed(t, before)
	})
}

func TestWhatADeadVMFactoryLeft(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		x.AddVMs(t, 1)
		_, err := x.Store.Retire(ctx, x.Factory, x.Made, "h1", []string{"vm-h1-1"})
		require.NoError(t, err)
		_, err = x.Store.Destroy(ctx, x.Factory, x.Made, "h1", 9)
		require.NoError(t, err)
		require.NoError(t, x.Store.Create(ctx, x.Factory, x.Made, "h1", "p1", []string{"vm-new"}))
		r := x.Register(t, x.Factory)
		require.Len(t, r.Left, 2)
		for _, h := range r.Left {
			require.Equal(t, "p1", h.Pool)
			require.Equal(t, h.Key, h.VM)
			_, err := x.Store.Settle(ctx, x.Factory, r.Epoch, []core.Settlement{{Key: h.Key, Token: h.Token, Outcome: core.OutcomeRelease}}, 0)
			require.NoError(t, err)
		}
		vms, err := x.Store.Destroy(ctx, x.Factory, r.Epoch, "h1", 9)
		require.NoError(t, err)
		require.ElementsMatch(t, []string{"vm-h1-1", "vm-new"}, vms)
	})
}

// Rule 3: reality is on the host, whatever Redis believed.
func TestReconcile(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		busy := x.claim(t, 1, "a")
		lost := x.claim(t, 2, "b")
		x.AddVMs(t, 5) // vm-h1-3 … vm-h1-7
		_, err := x.Store.Retire(ctx, x.Factory, x.Made, "h1", []string{"vm-h1-5", "vm-h1-6", "vm-h1-7"})
		require.NoError(t, err)
		_, err = x.Store.Destroy(ctx, x.Factory, x.Made, "h1", 1)
		require.NoError(t, err)
		require.NoError(t, x.Store.Gone(ctx, x.Factory, x.Made, "h1", map[string]string{"vm-h1-5": "stuck"}))
		_, err = x.Store.Destroy(ctx, x.Factory, x.Made, "h1", 1) // vm-h1-6
		require.NoError(t, err)
		require.NoError(t, x.Store.Create(ctx, x.Factory, x.Made, "h1", "p1", []string{"vm-making"}))
		require.NoError(t, x.b.Admin.HDel(ctx, x.key("host", "h1"), "incarnation").Err())
		x.hush(t)
		found := map[string]core.Found{
			busy.VM:     {Pool: "p1", Usable: true}, // its agent knows nothing yet; the slot says that it is taken
			"vm-h1-3":   {Pool: "p1", Usable: false},
			"vm-h1-5":   {Pool: "p1"},
			"stray":     {Pool: "p1", Usable: true},
			"used":      {Pool: "p1"},
			"nopool":    {Pool: "p77", Usable: true},
			"Not Ours":  {Pool: "p1", Usable: true},
			"vm-making": {Pool: "p1", Usable: true},
		}
		r, err := x.Store.Reconcile(ctx, x.Factory, x.Made, "h1", found, nil)
		require.NoError(t, err)
		if !x.twice {
			require.Equal(t, core.Reconciled{Adopted: 1, Dirtied: 3, Removed: 2}, r)
		}
		list, err := x.Store.ListVMs(ctx, "h1")
		require.NoError(t, err)
		states := make(map[string]core.VMState)
		for _, vm := range list {
			states[vm.ID] = vm.State
		}
		require.Equal(t, map[string]core.VMState{
			busy.VM: core.VMClaimed, lost.VM: core.VMClaimed, "vm-making": core.VMCreating, "vm-h1-6": core.VMDestroying,
			"vm-h1-5": core.VMQuarantined, "stray": core.VMClean, "vm-h1-3": core.VMDirty, "used": core.VMDirty, "nopool": core.VMDirty,
		}, states)
		require.True(t, x.host(t, "h1").Ready)
		require.True(t, x.rung(t, "bell", "h1"))
		before := x.picture(t)
		r, err = x.Store.Reconcile(ctx, x.Factory, x.Made, "h1", found, nil)
		require.NoError(t, err)
		require.Equal(t, core.Reconciled{}, r)
		x.changed(t, before, "+ bell:h1: 1")
		r, err = x.Store.Reconcile(ctx, x.Factory, x.Made, "h1", nil, nil)
		require.NoError(t, err)
		if !x.twice {
			require.Equal(t, core.Reconciled{Removed: 5}, r, "all but what is in slots")
		}
		coretest.RequireSound(t, x.Store)
	})
}

func TestReconcileBounds(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		found := make(map[string]core.Found)
		for i := range 2000 {
			found[fmt.Sprintf("v%d", i)] = core.Found{Pool: "p1", Usable: i%2 == 0}
		}
		r, err := x.Store.Reconcile(t.Context(), x.Factory, x.Made, "h1", found, nil)
		require.NoError(t, err)
		if !x.twice {
			require.Equal(t, core.Reconciled{Adopted: 1000, Dirtied: 1000}, r)
		}
		found["v2000"] = core.Found{Pool: "p1"}
		_, err = x.Store.Reconcile(t.Context(), x.Factory, x.Made, "h1", found, nil)
		refused(t, err, core.CodeLimit)
	})
}

func TestNotesOfAHost(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		require.Empty(t, x.host(t, "h1").Broken)
		test := &core.SelfTest{At: 5, TookMs: 7, Of: "drover 1", Attacks: []core.SelfCheck{{Name: "network", Verdict: core.VerdictFail, Text: "it has one"}}}
		for _, notes := range []core.HostNotes{
			{
				Broken:    map[string]string{"p1": "no \"image\" | there", "p2": "no room"},
				Providers: []core.ProviderNote{{Name: "local", Limits: []core.LimitNote{{Name: "memory", HeldBy: "watchdog", Weak: true}}, SelfTest: test}},
			},
			{Serves: []string{"p1", "p2"}},
			{Broken: map[string]string{"p2": "no room"}, Fetching: map[string]string{"p1": "an image"}, Providers: []core.ProviderNote{{Name: "local", Missing: "root"}}},
			{Providers: []core.ProviderNote{{Name: "local"}, {Name: "lxc"}}},
			{},
		} {
			require.NoError(t, x.Store.Note(ctx, x.Factory, x.Made, "h1", notes))
			require.Equal(t, notes.Broken, x.host(t, "h1").Broken)
			require.Equal(t, notes.Fetching, x.host(t, "h1").Fetching)
			require.Equal(t, notes.Providers, x.host(t, "h1").Providers)
			require.Equal(t, notes.Serves, x.host(t, "h1").Serves)
		}
		zombies := core.HostNotes{Broken: map[string]string{"p1": "said by a zombie"}, Providers: []core.ProviderNote{{Name: "x"}}}
		refused(t, x.Store.Note(ctx, x.Factory, x.Made-1, "h1", zombies), core.CodeFenced)
		require.Empty(t, x.host(t, "h1").Broken)
		require.Empty(t, x.host(t, "h1").Providers)
	})
}

func TestMeasuresOfAHost(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		require.Nil(t, x.host(t, "h1").Load)
		send := func(m core.HostMeasure) time.Duration {
			t.Helper()
			within, err := x.Store.Measured(ctx, x.Factory, x.Made, "h1", m)
			require.NoError(t, err)
			kept, err := x.b.Admin.HGet(ctx, x.key("meta"), "load_age").Int64()
			require.NoError(t, err)
			require.Equal(t, within.Milliseconds(), kept)
			got := x.host(t, "h1").Load
			require.NotNil(t, got)
			require.Equal(t, kept, got.Within)
			require.InDelta(t, x.now(t).UnixMilli(), got.At, 5000)
			m.At, m.Within = got.At, got.Within
			require.Equal(t, m, *got)
			return within
		}
		require.Equal(t, core.MeasureWithin, send(core.HostMeasure{Free: core.Size{CPU: 1500, Memory: 1 << 40, Disk: 1 << 50}}))
		m := core.HostMeasure{Free: core.Size{CPU: 1}, Pressure: &core.Pressure{CPU: 12.34, IO: 100}}
		send(m)
		_, err := x.Store.Measured(ctx, x.Factory, x.Made-1, "h1", core.HostMeasure{})
		refused(t, err, core.CodeFenced)
		require.EqualValues(t, 1, x.host(t, "h1").Load.Free.CPU)

		set := func(field string, value any) {
			t.Helper()
			require.NoError(t, x.b.Admin.HSet(ctx, x.key("host", "h1"), field, value).Err())
		}
		set("load_at", x.now(t).Add(-3*core.MeasureWithin+5*time.Second).UnixMilli())
		require.NotNil(t, x.host(t, "h1").Load, "two were missed")
		for _, at := range []time.Duration{-3*core.MeasureWithin - time.Second, 3*core.MeasureWithin + 5*time.Second} {
			set("load_at", x.now(t).Add(at).UnixMilli())
			require.Nil(t, x.host(t, "h1").Load, "what is too old, or by a clock that was set back, is not current")
		}
		send(m)
		set("state", "down")
		require.Nil(t, x.host(t, "h1").Load)
		set("state", "up")

		x.unsound = true // hosts without a record
		for i := range 999 {
			require.NoError(t, x.b.Admin.ZAdd(ctx, x.key("hosts"), redis.Z{Member: fmt.Sprint("n", i), Score: 1}).Err())
		}
		hosts, err := x.b.Admin.ZCard(ctx, x.key("hosts")).Result()
		require.NoError(t, err)
		require.Equal(t, time.Duration(hosts)*core.MeasurePerHost, send(m), "the time between two grows with the number of hosts")
	})
}

func TestManyVMs(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		ids := x.AddVMs(t, 1200)
		_, err := x.Store.Retire(ctx, x.Factory, x.Made, "h1", ids)
		require.NoError(t, err)
		gone := make(map[string]string)
		for len(gone) < 1200 {
			vms, err := x.Store.Destroy(ctx, x.Factory, x.Made, "h1", 700)
			require.NoError(t, err)
			require.NotEmpty(t, vms)
			for _, vm := range vms {
				gone[vm] = ""
			}
		}
		require.NoError(t, x.Store.Gone(ctx, x.Factory, x.Made, "h1", gone))
		list, err := x.Store.ListVMs(ctx, "")
		require.NoError(t, err)
		require.Empty(t, list)
		none, err := x.Store.Destroy(ctx, x.Factory, x.Made, "h1", 0)
		require.NoError(t, err)
		require.Empty(t, none)
	})
}

func TestLoad(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		x.claim(t, 1, "a")
		x.AddVMs(t, 5)
		_, err := x.Store.Retire(ctx, x.Factory, x.Made, "h1", []string{"vm-h1-2", "vm-h1-3", "vm-h1-4"})
		require.NoError(t, err)
		_, err = x.Store.Destroy(ctx, x.Factory, x.Made, "h1", 2)
		require.NoError(t, err)
		require.NoError(t, x.Store.Gone(ctx, x.Factory, x.Made, "h1", map[string]string{"vm-h1-2": "stuck"}))
		require.NoError(t, x.Store.Create(ctx, x.Factory, x.Made, "h1", "p1", []string{"n1", "n2", "n3"}))
		x.Submit(t, specs("w", 3, "ann")...)
		x.Submit(t, withPriority(coretest.Spec("x", "p1", "bob"), core.PriorityLow))
		got, err := x.Store.Load(ctx, "h1", []string{"nosuch", "p1"})
		require.NoError(t, err)
		require.Len(t, got.Pools, 1, "unknown pools are left out")
		want := core.PoolLoad{Pool: got.Pools[0].Pool, Clean: 2, Creating: 3, InUse: 1, Dirty: 2, Quarantined: 1, Waiting: 4}
		require.Equal(t, want, got.Pools[0])
		require.Equal(t, 1000, got.Pools[0].Pool.Max)
		small := core.DefaultPool("p1")
		small.Warm, small.Max = 1, 2
		require.NoError(t, x.Store.SetPool(ctx, small))
		got, err = x.Store.Load(ctx, "h1", []string{"p1"})
		require.NoError(t, err)
		require.Equal(t, 2, got.Pools[0].Waiting, "no more than it could make")
	})
}
