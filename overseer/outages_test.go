package overseer_test

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
	"drover/overseer"
)

// outless has no pools any more, and the outage of one that it had.
type outless struct{ *fixture }

func (outless) ListPools(context.Context) ([]core.Pool, error) { return nil, nil }

func (outless) Outages(context.Context) (map[string]core.Outage, error) {
	return map[string]core.Outage{"gone": {Since: 1, Host: "h1"}}, nil
}

func (outless) RemovePool(context.Context, string, bool) error { return nil }

func (outless) SetOutage(context.Context, string, core.Outage) (bool, error) { return false, nil }

// notes lets a host's vmfactory report that it serves the pool again, and why that is broken; "" if it works.
func (s *scene) notes(host, why string) {
	factory := core.OwnerName(core.RoleVMFactory, host, 0)
	notes := core.HostNotes{Serves: []string{"again", "once"}}
	if why != "" {
		notes.Broken = map[string]string{"again": why}
	}
	require.NoError(s.t, s.cluster.Note(context.Background(), factory, s.epoch[factory], host, notes))
}

// watches lets a new overseer do its chores once, and returns what it did about outages and requests.
func (s *scene) watches() overseer.Counts {
	s.t.Helper()
	o, err := overseer.New(overseer.Config{Beat: time.Minute, Suspect: time.Minute, Down: time.Hour}, s.deps())
	require.NoError(s.t, err)
	report, err := o.Once(context.Background())
	require.NoError(s.t, err)
	all := maps.Clone(countsOf(report, "outages"))
	maps.Copy(all, countsOf(report, "broken"))
	return all
}

// outage is why no host can make VMs of the pool; "" if one can, or none is to.
func (s *scene) outage() string {
	s.t.Helper()
	all, err := s.cluster.Outages(context.Background())
	require.NoError(s.t, err)
	if o, is := all["again"]; is {
		return o.Host + ": " + o.Why
	}
	return ""
}

// Which pools are broken everywhere: those with hosts that are to make their VMs, of which none can.
func TestPoolsAreBrokenOnAllHostsThatMakeTheirVMs(t *testing.T) {
	t.Parallel()
	drain := func(s *scene, host string) {
		require.NoError(s.t, s.cluster.Drain(s.t.Context(), host, true, time.Hour))
	}
	for name, c := range map[string]struct {
		is   func(s *scene)
		want string
	}{
		"works on all hosts": {func(*scene) {}, ""},
		"broken on one host": {func(s *scene) { s.notes("h1", "no image") }, ""},
		"broken on all hosts": {func(s *scene) {
			s.notes("h2", "no disk")
			s.notes("h1", "no image")
		}, "h1: no image"},
		"the other is drained": {func(s *scene) {
			s.notes("h1", "no image")
			drain(s, "h2")
		}, "h1: no image"},
		"the other is said to have failed": {func(s *scene) {
			s.notes("h1", "no image")
			_, err := s.cluster.Report(s.t.Context(), core.HostReport{Host: "h2", Event: core.HostFailed, By: "dog", Reason: "smoke"})
			require.NoError(s.t, err)
		}, "h1: no image"},
		"the other is too small": {func(s *scene) {
			s.notes("h1", "no image")
			_, err := s.cluster.Register(s.t.Context(), core.Registration{
				Owner: core.OwnerName(core.RoleTestrunner, "h2", 1), Host: "h2", Machine: "h2", Beat: time.Hour, MemoryBytes: 1 << 20,
			})
			require.NoError(s.t, err)
		}, "h1: no image"},
		"the other fetches its image": {func(s *scene) {
			s.notes("h1", "no image")
			factory := core.OwnerName(core.RoleVMFactory, "h2", 0)
			require.NoError(s.t, s.cluster.Note(s.t.Context(), factory, s.epoch[factory], "h2", core.HostNotes{
				Serves: []string{"again"}, Fetching: map[string]string{"again": "an image"},
			}))
		}, ""},
		"the other has no vmfactory any more": {func(s *scene) {
			s.notes("h1", "no image")
			factory := core.OwnerName(core.RoleVMFactory, "h2", 0)
			require.NoError(s.t, s.cluster.Deregister(s.t.Context(), factory, s.epoch[factory]))
		}, "h1: no image"},
		"all are drained": {func(s *scene) {
			for _, host := range []string{"h1", "h2"} {
				s.notes(host, "no image")
				drain(s, host)
			}
		}, ""},
		"it is paused": {func(s *scene) {
			s.notes("h1", "no image")
			s.notes("h2", "no image")
			s.only(func(p *core.Pool) { p.Paused = true })
		}, ""},
		"no host serves it": {func(s *scene) {
			for _, host := range []string{"h1", "h2"} {
				factory := core.OwnerName(core.RoleVMFactory, host, 0)
				require.NoError(s.t, s.cluster.Note(s.t.Context(), factory, s.epoch[factory], host, core.HostNotes{Serves: []string{"once"}}))
			}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, coretest.Real(t))
			for _, host := range []string{"h1", "h2"} {
				s.hostWith(host, time.Hour, 0)
			}
			c.is(s)
			s.watches()
			require.Equal(t, c.want, s.outage())
		})
	}
}

// The time goes on under whichever overseer, and ends with the first report that the pool works. Only then does it
// begin anew, and requests that have waited for longer than the pool allows an outage wait on.
func TestRequestsOfABrokenPoolFail(t *testing.T) {
	t.Parallel()
	s := newScene(t, coretest.Mini(t))
	now := time.Now()
	s.b.Mini.SetTime(now)
	pass := func(d time.Duration) {
		now = now.Add(d)
		s.b.Mini.SetTime(now)
	}
	s.only(func(p *core.Pool) { p.BrokenFor = 10 * time.Minute })
	s.hostWith("h1", 24*time.Hour, 0)
	s.hostWith("h2", 24*time.Hour, 0)
	id, other := s.submit("again", 1)[0], s.submit("once", 1)[0]
	s.notes("h1", "no image")
	s.notes("h2", "no image")
	require.Equal(t, overseer.Counts{"begun": 1}, s.watches())
	pass(9 * time.Minute)
	require.Empty(t, s.watches())
	s.notes("h2", "")
	s.notes("h2", "no disk")
	require.Equal(t, overseer.Counts{"begun": 1}, s.watches(), "that it worked was noticed by no overseer")
	pass(9 * time.Minute)
	require.Empty(t, s.watches())
	require.Equal(t, core.RequestQueued, s.state(id))

	pass(time.Minute)
	require.Equal(t, overseer.Counts{"failed": 1}, s.watches())
	require.Equal(t, core.RequestFailed, s.state(id))
	require.Equal(t, core.RequestQueued, s.state(other))
	late := s.submit("again", 1)[0]
	require.Equal(t, overseer.Counts{"failed": 1}, s.watches(), "nor can it run later ones")
	require.Equal(t, core.RequestFailed, s.state(late))

	s.notes("h1", "")
	last := s.submit("again", 1)[0]
	require.Empty(t, s.watches())
	require.Equal(t, core.RequestQueued, s.state(last))
	require.Empty(t, s.outage())
}

// An overseer that starts does not go by what was recorded before all overseers were away for a while.
func TestAnOutageThatIsOverFailsNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t, coretest.Real(t))
	s.only(func(p *core.Pool) { p.BrokenFor = core.MinBrokenFor })
	s.hostWith("h1", time.Hour, 0)
	id := s.submit("again", 1)[0]
	s.notes("h1", "no image")
	s.watches()
	key := s.cluster.Namespace().Key("pool", "again")
	require.NoError(t, s.b.Admin.HSet(t.Context(), key, "outage", "1000|h1|no image").Err())
	s.hostWith("h2", time.Hour, 0)
	o, err := overseer.New(overseer.Config{}, s.deps())
	require.NoError(t, err)
	counts, err := o.FailBroken(t.Context())
	require.NoError(t, err)
	require.Zero(t, counts["failed"])
	require.Equal(t, core.RequestQueued, s.state(id))
}

// Overseers that look at once record one outage, and end each request once.
func TestOverseersFailRequestsOfABrokenPoolTogether(t *testing.T) {
	t.Parallel()
	b := coretest.Real(t)
	s := newScene(t, b)
	s.only(func(p *core.Pool) { p.BrokenFor = core.MinBrokenFor })
	s.hostWith("h1", time.Hour, 0)
	ids := s.submit("again", 20)
	s.notes("h1", "no image")
	s.watches()
	key := s.cluster.Namespace().Key("pool", "again")
	require.NoError(t, b.Admin.HSet(t.Context(), key, "outage", "1000|h1|no image").Err())
	done := make(chan overseer.Counts)
	for range 3 {
		go func() { done <- s.watches() }()
	}
	for range 3 {
		require.NotContains(t, <-done, "begun")
	}
	for _, id := range ids {
		require.Equal(t, core.RequestFailed, s.state(id))
		row, err := s.store.Get(t.Context(), id)
		require.NoError(t, err)
		require.Contains(t, row.Result.Reason, "since 1970-01-01T00:00:01Z")
		attempts, err := s.store.Attempts(t.Context(), id)
		require.NoError(t, err)
		require.Len(t, attempts, 1)
	}
	coretest.RequireSound(t, s.cluster)
}
