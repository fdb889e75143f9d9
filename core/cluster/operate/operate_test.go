package operate_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"drover/core"
	"drover/core/cluster/operate"
	"drover/core/coretest"
)

// A wish for a host is written to the store before Redis, and is deleted with the host.
func TestWhatIsWantedOfAHostIsKept(t *testing.T) {
	t.Parallel()
	b := coretest.Real(t)
	w := newFixture(t, b)
	ctx := t.Context()
	kept := func() core.HostWish {
		t.Helper()
		all, err := w.store.HostWishes(ctx, "h1")
		require.NoError(t, err)
		require.Len(t, all, 1)
		return all[0]
	}
	require.NoError(t, w.op.Drain(ctx, olga, "h1", time.Hour))
	drained := kept()
	require.Equal(t, core.HostWish{
		Host: "h1", Kind: core.WishDrain, By: "olga", At: w.now.UnixMilli(), Until: w.now.Add(time.Hour).UnixMilli(),
	}, drained)
	w.pass(-time.Hour) // another's clock
	require.NoError(t, w.op.Undrain(ctx, olga, "h1"))
	require.True(t, kept().Lifted)
	require.Greater(t, kept().At, drained.At)

	requireCode(t, core.CodeNotFound, w.op.Drain(ctx, olga, "h9", 0))
	requireCode(t, core.CodeNotFound, w.op.Forget(ctx, olga, "h9"))
	all, err := w.store.HostWishes(ctx, "")
	require.NoError(t, err)
	require.Len(t, all, 1, "nothing is kept of a host that is not there")

	// Redis was wiped and the host is gone for good: what was wanted of it can be forgotten.
	keys, err := b.Admin.Keys(ctx, b.Namespace+":*").Result()
	require.NoError(t, err)
	require.NoError(t, b.Admin.Del(ctx, keys...).Err())
	require.NoError(t, w.op.Forget(ctx, olga, "h1"))
	requireCode(t, core.CodeNotFound, w.op.Forget(ctx, olga, "h1"))

	// Without the store nothing is done that it would not know of.
	w.Cluster = coretest.NewCluster(t, w.Store, "h1", "p1")
	w.op.Store = full{w.op.Store}
	requireCode(t, core.CodeUnavailable, w.op.Drain(ctx, olga, "h1", 0))
	hosts, err := w.Store.ListHosts(ctx)
	require.NoError(t, err)
	require.False(t, hosts[0].Drain)
}

// full is a store that takes no wish.
type full struct{ operate.Store }

func (full) PutHostWish(context.Context, core.HostWish) (bool, error) {
	return false, core.Errorf(core.CodeUnavailable, "", "the disk is full")
}

func TestHostIsDrainedAndForgotten(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	ctx := t.Context()
	requireCode(t, core.CodeInvalid, w.op.Drain(ctx, olga, "h1", time.Millisecond))
	requireCode(t, core.CodeInvalid, w.op.Drain(ctx, olga, "H 1", 0))
	requireCode(t, core.CodeNotFound, w.op.Drain(ctx, olga, "h9", 0))
	require.NoError(t, w.op.Drain(ctx, olga, "h1", operate.AtOnce))
	v, err := w.op.Overview(ctx, otto)
	require.NoError(t, err)
	require.True(t, v.Hosts[0].Drain)
	require.NotZero(t, v.Hosts[0].DrainUntil)
	require.NoError(t, w.op.Undrain(ctx, olga, "h1"))
	v, err = w.op.Overview(ctx, otto)
	require.NoError(t, err)
	require.False(t, v.Hosts[0].Drain, "what was done is seen by the next reading")
	requireCode(t, core.CodeConflict, w.op.Forget(ctx, olga, "h1"))
	require.NoError(t, w.op.Trust(ctx, olga, "h1"))
	requireCode(t, core.CodeInvalid, w.op.Report(ctx, olga, core.HostReport{Host: "h1", Event: "tired"}))
	requireCode(t, core.CodeInvalid, w.op.Report(ctx, olga, core.HostReport{Host: "h1", Event: core.HostFailed, Reason: strings.Repeat("x", 301)}))
	require.NoError(t, w.op.Report(ctx, olga, core.HostReport{Host: "h1", Event: core.HostFailed, Reason: "smoke"}))
	entries := w.entries(t)
	require.Equal(t, "olga reports by olga that host h1 has failed: smoke", entries[0])
	require.Contains(t, entries, "olga drains host h1, and what it has in hand after 1s goes to other hosts")
	require.Contains(t, strings.Join(entries, "\n"), "failed: forgets host h1")
}

func TestPoolIsSetAndPaused(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	ctx := t.Context()
	p := core.DefaultPool("p1")
	p.Warm, p.Limits.Memory = 3, 512<<20
	require.NoError(t, w.op.SetPool(ctx, olga, p))
	require.NoError(t, w.op.Pause(ctx, olga, "p1", true))
	now, err := w.op.Pool(ctx, otto, "p1")
	require.NoError(t, err)
	p.Paused = true
	require.Equal(t, p, now)
	stored, err := w.store.Pools(ctx)
	require.NoError(t, err)
	require.Equal(t, []core.Pool{p}, stored)
	p.Warm = -1
	requireCode(t, core.CodeInvalid, w.op.SetPool(ctx, olga, p))
	requireCode(t, core.CodeNotFound, w.op.Pause(ctx, olga, "p9", true))
	require.NoError(t, w.op.SetPool(ctx, olga, core.DefaultPool("p2")))
	require.Equal(t, []string{
		"olga makes pool p2 of provider local", "olga changes pool p1: paused from false to true",
		"olga changes pool p1: memory from 268435456 to 536870912, warm from 2 to 3",
	}, w.entries(t))
}

// Who may only look changes nothing, and who may not look sees nothing.
func TestRights(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	w.submit(t, r1, "ann")
	calls := map[string]struct {
		changes bool
		call    func(ctx context.Context, a core.Actor) error
	}{
		"drain":   {true, func(ctx context.Context, a core.Actor) error { return w.op.Drain(ctx, a, "h1", 0) }},
		"undrain": {true, func(ctx context.Context, a core.Actor) error { return w.op.Undrain(ctx, a, "h1") }},
		"trust":   {true, func(ctx context.Context, a core.Actor) error { return w.op.Trust(ctx, a, "h1") }},
		"forget":  {true, func(ctx context.Context, a core.Actor) error { return w.op.Forget(ctx, a, "h9") }},
		"report": {true, func(ctx context.Context, a core.Actor) error {
			return w.op.Report(ctx, a, core.HostReport{Host: "h1", Event: core.HostRecovered})
		}},
		"set":   {true, func(ctx context.Context, a core.Actor) error { return w.op.SetPool(ctx, a, core.DefaultPool("p1")) }},
		"pause": {true, func(ctx context.Context, a core.Actor) error { return w.op.Pause(ctx, a, "p1", false) }},
		"drop":  {true, func(ctx context.Context, a core.Actor) error { return w.op.Drop(ctx, a, r1) }},

		"overview": {false, func(ctx context.Context, a core.Actor) error { _, err := w.op.Overview(ctx, a); return err }},
		"host":     {false, func(ctx context.Context, a core.Actor) error { _, err := w.op.Host(ctx, a, "h1"); return err }},
		"pools":    {false, func(ctx context.Context, a core.Actor) error { _, err := w.op.Pools(ctx, a); return err }},
		"pool":     {false, func(ctx context.Context, a core.Actor) error { _, err := w.op.Pool(ctx, a, "p1"); return err }},
		"queues":   {false, func(ctx context.Context, a core.Actor) error { _, err := w.op.Queues(ctx, a); return err }},
		"dead":     {false, func(ctx context.Context, a core.Actor) error { _, err := w.op.Dead(ctx, a); return err }},
		"moves":    {false, func(ctx context.Context, a core.Actor) error { _, err := w.op.Moves(ctx, a); return err }},
		"parked":   {false, func(ctx context.Context, a core.Actor) error { _, err := w.op.Parked(ctx, a); return err }},
		"timeline": {false, func(ctx context.Context, a core.Actor) error { _, err := w.op.Timeline(ctx, a, r1); return err }},
		"findings": {false, func(ctx context.Context, a core.Actor) error { _, err := w.op.Findings(ctx, a); return err }},
		"events":   {false, func(ctx context.Context, a core.Actor) error { _, err := w.op.Events(ctx, a, ""); return err }},
		"last":     {false, func(ctx context.Context, a core.Actor) error { _, err := w.op.LastEvents(ctx, a); return err }},
	}
	for name, c := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			requireCode(t, core.CodeForbidden, c.call(ctx, ann))
			if c.changes {
				requireCode(t, core.CodeForbidden, c.call(ctx, otto))
			} else {
				require.NoError(t, c.call(ctx, otto))
			}
			require.NotEqual(t, core.CodeForbidden, core.CodeOf(c.call(ctx, olga)))
		})
	}
}

func TestOverviewCounts(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	w.AddVMs(t, 3)
	w.submit(t, r1, "ann")
	w.submit(t, r2, "ann")
	w.claim(t)
	v, err := w.op.Overview(t.Context(), otto)
	require.NoError(t, err)
	require.Len(t, v.Owners, 2)
	load := operate.Load{Pool: "p1", Target: 2, Max: 8, Clean: 3, InUse: 1, Hosts: 1}
	require.Equal(t, map[string][]operate.Load{"h1": {load}}, v.Loads)
	load.Waiting = 1
	require.Equal(t, []operate.Load{load}, v.Totals)
	require.Equal(t, 4, load.VMs())
	h, err := w.op.Host(t.Context(), otto, "h1")
	require.NoError(t, err)
	require.Len(t, h.VMList, 4)
	require.Len(t, h.OwnersOf, 2)
	_, err = w.op.Host(t.Context(), otto, "h9")
	requireCode(t, core.CodeNotFound, err)
}

// Twenty dashboards cost one, and an hour of them one a second.
func TestManyReadersAreOneReading(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	cluster := &counting{Store: w.Store}
	w.op.Cluster = cluster
	look := func() {
		var all errgroup.Group
		for range 20 {
			all.Go(func() error {
				if _, err := w.op.Overview(t.Context(), otto); err != nil {
					return err
				}
				if _, err := w.op.LastEvents(t.Context(), otto); err != nil {
					return err
				}
				_, err := w.op.Findings(t.Context(), otto)
				return err
			})
		}
		require.NoError(t, all.Wait())
	}
	look()
	require.Equal(t, [3]int64{1, 1, 1}, [3]int64{cluster.hosts.Load(), cluster.events.Load(), cluster.checks.Load()})
	w.pass(time.Second)
	look()
	require.Equal(t, [3]int64{2, 2, 1}, [3]int64{cluster.hosts.Load(), cluster.events.Load(), cluster.checks.Load()})
	w.pass(time.Minute)
	look()
	require.Equal(t, [3]int64{3, 3, 2}, [3]int64{cluster.hosts.Load(), cluster.events.Load(), cluster.checks.Load()})
}

// A reader who goes away takes no reading from others.
func TestAReaderThatLeaves(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := w.op.Overview(gone, otto)
	require.Error(t, err)
	_, err = w.op.Overview(t.Context(), otto)
	require.NoError(t, err)
}

func TestQueuesShowTurns(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	first := w.submit(t, r1, "ann")
	w.submit(t, r2, "ann")
	other := w.submit(t, r3, "cleo")
	v, err := w.op.Queues(t.Context(), otto)
	require.NoError(t, err)
	require.Len(t, v.Queues, len(core.Priorities()), "one a class")
	q := v.Queues[1]
	require.Equal(t, core.QueueInfo{Pool: "p1", Priority: core.PriorityNormal, Waiting: 3, Submitters: 2}, q.QueueInfo)
	require.Equal(t, []core.Turn{
		{Submitter: "ann", Waiting: 2, Next: r1 + "-1", Since: first.Submitted}, {Submitter: "cleo", Waiting: 1, Next: r3 + "-1", Since: other.Submitted},
	}, q.Turns)
	require.Equal(t, first.Submitted, q.Oldest)
	require.True(t, q.All)
}

func TestDeadAreDropped(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	ctx := t.Context()
	for _, id := range []string{r1, r2} {
		w.submit(t, id, "ann")
		w.end(t, w.claim(t), core.RequestDead, core.OutcomeDead)
	}
	w.submit(t, r3, "ann")
	dead, err := w.op.Dead(ctx, otto)
	require.NoError(t, err)
	require.Len(t, dead, 2)
	require.Equal(t, "its host was lost", dead[0].Reason)
	requireCode(t, core.CodeConflict, w.op.Drop(ctx, olga, r3))
	requireCode(t, core.CodeNotFound, w.op.Drop(ctx, olga, r9))
	require.NoError(t, w.op.Drop(ctx, olga, r1))
	require.Equal(t, "olga drops dead request "+r1, w.entries(t)[0])
	dead, err = w.op.Dead(ctx, otto)
	require.NoError(t, err)
	require.Len(t, dead, 1, "what was read a moment ago is filtered")
	_, err = w.in.Rerun(ctx, r2)
	require.NoError(t, err)
	dead, err = w.op.Dead(ctx, otto)
	require.NoError(t, err)
	require.Empty(t, dead)
	left, err := w.Store.ListDead(ctx, 10)
	require.NoError(t, err)
	require.Empty(t, left)
	coretest.RequireSound(t, w.Store)
}

func TestTimeline(t *testing.T) {
	t.Parallel()
	b := coretest.Real(t)
	w := newFixture(t, b)
	ctx := t.Context()
	w.submit(t, r1, "ann")
	c := w.claim(t)
	w.seq++
	w.Exchange(t, w.seq, 0, core.Finish{Key: c.Key, Token: c.Token, Outcome: core.OutcomeRelease})
	c = w.claim(t)
	require.NoError(t, w.Store.Progress(ctx, w.Runner, w.Epoch, c.Key, c.Token, "running", 0))
	kinds := func() (out []operate.StepKind) {
		v, err := w.op.Timeline(ctx, otto, r1)
		require.NoError(t, err)
		require.False(t, v.Cut)
		for i, s := range v.Steps {
			out = append(out, s.Kind)
			require.GreaterOrEqual(t, s.For, int64(0))
			if i > 0 {
				require.GreaterOrEqual(t, s.At, v.Steps[i-1].At)
			}
		}
		return out
	}
	before := []operate.StepKind{
		operate.StepSubmitted, operate.StepQueued, operate.StepClaimed, operate.StepReleased, operate.StepClaimed, operate.StepRunning,
	}
	require.Equal(t, before, kinds())
	v, err := w.op.Timeline(ctx, otto, r1)
	require.NoError(t, err)
	require.Equal(t, core.RequestRunning, v.State)
	require.NotNil(t, v.Place)
	w.end(t, c, core.RequestCompleted, core.OutcomeDone)
	require.Equal(t, append(before, operate.StepFinished, operate.StepRecorded), kinds())

	// Of one whose events are gone the store still says what it knows.
	require.NoError(t, b.Admin.Del(ctx, w.Store.Namespace().Key("events")).Err())
	v, err = w.op.Timeline(ctx, otto, r1)
	require.NoError(t, err)
	require.True(t, v.Cut)
	require.Equal(t, []operate.StepKind{
		operate.StepSubmitted, operate.StepClaimed, operate.StepRunning, operate.StepFinished, operate.StepRecorded,
	}, []operate.StepKind{v.Steps[0].Kind, v.Steps[1].Kind, v.Steps[2].Kind, v.Steps[3].Kind, v.Steps[4].Kind})
	require.Equal(t, int64(3), v.Steps[2].For, "from its start to its end")
	_, err = w.op.Timeline(ctx, otto, r9)
	requireCode(t, core.CodeNotFound, err)
}

func TestEventsAndFindings(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	ctx := t.Context()
	w.submit(t, r1, "ann")
	w.submit(t, r2, "ann")
	last, err := w.op.LastEvents(ctx, otto)
	require.NoError(t, err)
	require.Equal(t, r2+"-1", last[0].Moved, "newest first")
	next, err := w.op.Events(ctx, otto, last[1].ID)
	require.NoError(t, err)
	require.Equal(t, last[:1], next)
	for _, id := range []string{"x", "1-", "1-2-3", "-", "+", "1 2", strings.Repeat("9", 20)} {
		_, err = w.op.Events(ctx, otto, id)
		requireCode(t, core.CodeInvalid, err)
	}
	v, err := w.op.Findings(ctx, otto)
	require.NoError(t, err)
	require.Empty(t, v.Broken)
}

// What operators set of a host is kept in the store, before Redis has it.
func TestHostIsSet(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	ctx := t.Context()
	s := core.HostSettings{Labels: map[string]string{"gpu": "yes"}, Reserve: &core.Size{Memory: 1 << 30}}
	requireCode(t, core.CodeForbidden, w.op.SetHost(ctx, core.Actor{Handle: "ann"}, "h1", s))
	requireCode(t, core.CodeNotFound, w.op.SetHost(ctx, olga, "h9", s))
	requireCode(t, core.CodeInvalid, w.op.SetHost(ctx, olga, "h1", core.HostSettings{Overcommit: core.Overcommit{CPU: -1}}))
	require.NoError(t, w.op.SetHost(ctx, olga, "h1", s))
	all, err := w.store.HostWishes(ctx, "")
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, &s, all[0].Settings)
	v, err := w.op.Host(ctx, olga, "h1")
	require.NoError(t, err)
	require.Equal(t, s, v.Settings)
	require.EqualValues(t, core.Unlimited, v.Capacity.Memory, "it reported no size")
	w.op.Store = full{w.op.Store}
	requireCode(t, core.CodeUnavailable, w.op.SetHost(ctx, olga, "h1", core.HostSettings{}))
	hosts, err := w.Store.ListHosts(ctx)
	require.NoError(t, err)
	require.Equal(t, s, hosts[0].Settings, "without the store nothing is done")
}
