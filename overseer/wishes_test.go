package overseer_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
	"drover/overseer"
)

// wiped removes all that Redis has, and brings the pools back.
func (s *scene) wiped() {
	ctx := context.Background()
	keys, err := s.b.Admin.Keys(ctx, s.b.Namespace+":*").Result()
	require.NoError(s.t, err)
	require.NoError(s.t, s.b.Admin.Del(ctx, keys...).Err())
	_, err = s.in.RestorePools(ctx)
	require.NoError(s.t, err)
}

// hears lets a host's vmfactory reconcile with the store's wishes for the host.
func (s *scene) hears(name string) {
	ctx := context.Background()
	wishes, err := s.store.HostWishes(ctx, name)
	require.NoError(s.t, err)
	factory := core.OwnerName(core.RoleVMFactory, name, 0)
	_, err = s.cluster.Reconcile(ctx, factory, s.epoch[factory], name, nil, append([]core.HostWish{}, wishes...))
	require.NoError(s.t, err)
}

func (s *scene) put(w core.HostWish) {
	is, err := s.store.PutHostWish(context.Background(), w)
	require.NoError(s.t, err)
	require.True(s.t, is)
}

func (s *scene) wish(host string, kind core.WishKind) *core.HostWish {
	all, err := s.store.HostWishes(context.Background(), host)
	require.NoError(s.t, err)
	for _, w := range all {
		if w.Kind == kind {
			return &w
		}
	}
	return nil
}

// A wiped Redis forgets what is wanted of hosts, and gets it back from the store.
func TestAWipedRedisHearsAgainWhatIsWantedOfHosts(t *testing.T) {
	t.Parallel()
	s := newScene(t, coretest.Real(t))
	ctx := context.Background()
	for _, host := range []string{"h1", "h2", "h3", "h4"} {
		s.host(host, time.Hour)
		s.hears(host)
	}
	s.put(core.HostWish{Host: "h1", Kind: core.WishDrain, By: "olga", At: 1})
	s.report("h2", core.HostFailed)
	s.report("h4", core.HostFailed)
	s.report("h4", core.HostRecovered)
	require.NoError(t, s.cluster.Probation(ctx, "h3", "it flaps", time.Minute, 2))
	s.once(nil, 0)
	require.True(t, s.hosts()["h1"].Drain, "the store has it, Redis had not")
	require.Equal(t, "watchdog", s.wish("h2", core.WishFailed).By)
	require.True(t, s.wish("h4", core.WishFailed).Lifted)
	require.Equal(t, "it flaps", s.wish("h3", core.WishProbation).Reason)
	require.Empty(t, countsOf(s.once(nil, 0), "wishes"), "all agree")
	zone := core.HostSettings{Labels: map[string]string{"zone": "a"}, Reserve: &core.Size{Memory: 1 << 30}}
	require.NoError(t, s.cluster.SetHost(ctx, "h1", zone))
	require.Equal(t, overseer.Counts{"noted": 1}, countsOf(s.once(nil, 0), "wishes"), "Redis has it, the store had not")
	require.Equal(t, &zone, s.wish("h1", core.WishSettings).Settings)
	zone.Overcommit.CPU = 2
	s.put(core.HostWish{Host: "h1", Kind: core.WishSettings, Settings: &zone, At: s.wish("h1", core.WishSettings).At + 1})
	require.Equal(t, overseer.Counts{"restored": 1}, countsOf(s.once(nil, 0), "wishes"), "the store's word counts")

	s.wiped()
	for _, host := range []string{"h1", "h2", "h3", "h4"} {
		s.host(host, time.Hour)
	}
	s.hears("h3") // a probation comes with its host
	require.Equal(t, overseer.Counts{"restored": 3}, countsOf(s.once(nil, 0), "wishes"))
	hosts := s.hosts()
	require.Equal(t, zone, hosts["h1"].Settings)
	require.True(t, hosts["h1"].Drain)
	require.Equal(t, core.HostDown, hosts["h2"].State)
	require.Equal(t, "watchdog", hosts["h2"].Failed.By)
	require.Equal(t, 2, hosts["h3"].Probation.Needed)
	require.Nil(t, hosts["h4"].Failed)

	// What ends, ends in the store, too.
	s.report("h2", core.HostRecovered)
	require.NoError(t, s.cluster.Probation(ctx, "h3", "", 0, 0))
	s.once(nil, 0)
	require.Nil(t, s.hosts()["h2"].Failed)
	require.True(t, s.wish("h2", core.WishFailed).Lifted)
	require.Empty(t, s.once(nil, 0).Chores[1].Counts)
	require.True(t, s.wish("h3", core.WishProbation).Lifted)
	coretest.RequireSound(t, s.cluster)
}

// A Redis that was set back has what was ended since: the store's word counts.
func TestWhatWasEndedSinceRedisWasSetBack(t *testing.T) {
	t.Parallel()
	s := newScene(t, coretest.Real(t))
	ctx := context.Background()
	for _, host := range []string{"h1", "h2", "h3"} {
		s.host(host, time.Hour)
	}
	require.NoError(t, s.cluster.Drain(ctx, "h1", true, 0))
	for _, host := range []string{"h2", "h3"} {
		require.NoError(t, coretest.ErrOf(s.cluster.Report(ctx, core.HostReport{Host: host, Event: core.HostFailed, By: "dog"})))
	}
	s.put(core.HostWish{Host: "h1", Kind: core.WishDrain, Lifted: true, At: 5})
	s.put(core.HostWish{Host: "h2", Kind: core.WishFailed, Lifted: true, By: "dog", At: time.Now().Add(time.Hour).UnixMilli()})
	s.put(core.HostWish{Host: "h3", Kind: core.WishFailed, Lifted: true, By: "dog", At: 5})
	s.once(nil, 0)
	hosts := s.hosts()
	require.False(t, hosts["h1"].Drain)
	require.Nil(t, hosts["h2"].Failed)
	require.NotNil(t, hosts["h3"].Failed, "it failed again, and the store did not take that")
	require.False(t, s.wish("h3", core.WishFailed).Lifted)
}

// wishless is a store that takes no wishes for a while.
type wishless struct {
	core.ResultStore
	err error
}

func (d *wishless) PutHostWish(ctx context.Context, w core.HostWish) (bool, error) {
	if d.err != nil {
		return false, d.err
	}
	return d.ResultStore.PutHostWish(ctx, w)
}

// A host that fails is down at once also while the store is away, and stays so; one that
// recovers waits for the store.
func TestAHostFailsWhileTheStoreIsAway(t *testing.T) {
	t.Parallel()
	s := newScene(t, coretest.Mini(t))
	s.host("h1", time.Hour)
	s.hears("h1")
	s.put(core.HostWish{Host: "h1", Kind: core.WishFailed, Lifted: true, By: "dog", At: 5})
	store := &wishless{s.store, core.Errorf(core.CodeUnavailable, "", "it is away")}
	deps := s.deps()
	deps.Store = store
	s.report("h1", core.HostFailed)
	_, err := s.oversee(deps)
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
	require.NotNil(t, s.hosts()["h1"].Failed)
	store.err = nil
	_, err = s.oversee(deps)
	require.NoError(t, err)
	require.NotNil(t, s.hosts()["h1"].Failed)
	require.False(t, s.wish("h1", core.WishFailed).Lifted)

	store.err = errors.New("it is away")
	s.report("h1", core.HostRecovered)
	_, err = s.oversee(deps)
	require.Error(t, err)
	require.NotNil(t, s.hosts()["h1"].Failed)
	store.err = nil
	s.b.Mini.SetTime(time.Now().Add(2 * time.Minute)) // it is given to another
	s.host("h1", time.Hour)
	_, err = s.oversee(deps)
	require.NoError(t, err)
	require.Nil(t, s.hosts()["h1"].Failed)
	require.True(t, s.wish("h1", core.WishFailed).Lifted)
}

// A clock that was set back by hours does not make a drain last for hours.
func TestADrainWhoseClockWasSetBackIsOver(t *testing.T) {
	t.Parallel()
	b := coretest.Real(t)
	s := newScene(t, b)
	clk := s.drainedScene()
	deps := s.depsAt(clk.Now)
	key := s.cluster.Namespace().Key
	ahead := time.Now().Add(5 * time.Hour).UnixMilli()
	require.NoError(t, b.Admin.HSet(t.Context(), key("host", "h1"), "drain_until", ahead).Err())
	clk.Advance(-10 * time.Second)
	_, err := s.oversee(deps)
	require.NoError(t, err)
	require.Len(t, s.held(core.RoleTestrunner, "h1"), 4, "it was just set back")
	require.NoError(t, b.Admin.HSet(t.Context(), key("meta"), "back_at", clk.Now().Add(-20*time.Second).UnixMilli()).Err())
	s.requireDrained(deps)
}

// Reports of hosts that nobody knows leave nothing in the store.
func TestAReportOfNoHostLeavesNoWish(t *testing.T) {
	t.Parallel()
	s := newScene(t, coretest.Real(t))
	for _, event := range []string{"failed", "recovered"} {
		require.NoError(t, s.b.Admin.XAdd(t.Context(), &redis.XAddArgs{
			Stream: s.b.Namespace + ":reports", Values: []any{"host", "nobody", "event", event, "by", "me"},
		}).Err())
	}
	s.once(nil, 0)
	all, err := s.store.HostWishes(t.Context(), "")
	require.NoError(t, err)
	require.Empty(t, all)
}
