package overseer_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
	"drover/core/redisstore"
	"drover/core/service/clock"
	"drover/overseer"
)

// round lets an overseer place once.
func (s *scene) round(deps overseer.Deps) overseer.Counts {
	s.t.Helper()
	o, err := overseer.New(overseer.Config{Beat: time.Minute, Suspect: time.Minute, Down: time.Hour}, deps)
	require.NoError(s.t, err)
	report, err := o.Once(context.Background())
	require.NoError(s.t, err)
	return countsOf(report, "place")
}

// targets are those of each host for a pool, as <warm>/<most>; "-" for a host that has none.
func (s *scene) targets(pool string) map[string]string {
	hosts, err := s.cluster.ListHosts(context.Background())
	require.NoError(s.t, err)
	out := make(map[string]string)
	for _, h := range hosts {
		out[h.Name] = "-"
		if h.Targets != nil {
			out[h.Name] = fmt.Sprintf("%d/%d", h.Targets[pool].Warm, h.Targets[pool].Most)
		}
	}
	return out
}

// only makes the scene's pools keep nothing warm but what is said.
func (s *scene) only(change func(*core.Pool)) {
	for _, name := range []string{"again", "once"} {
		p := core.DefaultPool(name)
		p.Max, p.Warm = 100, 0
		if name == "again" && change != nil {
			change(&p)
		}
		require.NoError(s.t, s.in.SetPool(context.Background(), p))
	}
}

func TestOneWaitingRequestOnThirtyHosts(t *testing.T) {
	t.Parallel()
	s := newScene(t, coretest.Real(t))
	s.only(nil)
	for i := range 30 {
		s.hostWith(fmt.Sprintf("h%02d", i), time.Hour, 0)
	}
	s.submit("again", 1)
	s.round(s.deps())
	want := map[string]string{}
	for i := range 30 {
		want[fmt.Sprintf("h%02d", i)] = "0/0"
	}
	want["h00"], want["h01"] = "0/1", "0/1"
	require.Equal(t, want, s.targets("again"), "itself, and one for a creation that fails")
	before, err := s.cluster.Ground(t.Context())
	require.NoError(t, err)
	require.Zero(t, s.round(s.deps())["hosts"], "nothing changes")
	after, err := s.cluster.Ground(t.Context())
	require.NoError(t, err)
	require.Equal(t, before.Number, after.Number, "and nothing is written")
}

// What the cluster keeps warm is made elsewhere when a host is lost or drained, and only one decision counts.
func TestTheShareOfALostHostIsMadeElsewhere(t *testing.T) {
	t.Parallel()
	b := coretest.Real(t)
	ctx := t.Context()
	s := newScene(t, b)
	s.only(func(p *core.Pool) { p.WarmTotal, p.Spread = 4, 2 })
	for _, h := range []string{"h1", "h2", "h3"} {
		s.hostWith(h, time.Hour, 0)
	}
	s.round(s.deps())
	require.Equal(t, map[string]string{"h1": "2/0", "h2": "1/0", "h3": "1/0"}, s.targets("again"))

	require.NoError(t, s.cluster.Drain(ctx, "h1", true, 0))
	require.NoError(t, s.b.Admin.HSet(ctx, s.cluster.Namespace().Key("host", "h3"), "state", "down").Err())
	s.round(s.deps())
	require.Equal(t, map[string]string{"h1": "0/0", "h2": "4/0", "h3": "-"}, s.targets("again"))
}

// between is a Redis in which a round of another overseer comes between reading and writing.
type between struct {
	*redisstore.Store
	other func()
}

func (b between) SetTargets(ctx context.Context, number int64, r core.Round) (int64, error) {
	b.other()
	return b.Store.SetTargets(ctx, number, r)
}

func TestTwoOverseersPlaceAtOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t, coretest.Real(t))
	s.only(func(p *core.Pool) { p.WarmTotal = 2 })
	s.hostWith("h1", time.Hour, 0)
	deps := s.deps()
	deps.Placements = between{s.cluster, func() {
		s.only(func(p *core.Pool) { p.WarmTotal = 5 })
		s.round(s.deps())
	}}
	require.Zero(t, s.round(deps)["hosts"], "the other one was faster")
	require.Equal(t, map[string]string{"h1": "5/0"}, s.targets("again"), "and what was decided of the past is not written")
}

// An overseer that stops in the middle of a round leaves nothing that the next one does not decide anew.
func TestAnOverseerThatStopsInTheMiddleOfARound(t *testing.T) {
	t.Parallel()
	s := newScene(t, coretest.Real(t))
	s.only(func(p *core.Pool) { p.WarmTotal = 2 })
	s.hostWith("h1", time.Hour, 0)
	s.hostWith("h2", time.Hour, 0)
	g, err := s.cluster.Ground(t.Context())
	require.NoError(t, err)
	half := core.Round{Targets: map[string]core.Targets{"h1": {"again": {Warm: 50, Most: 99}}}, Lasts: time.Hour}
	_, err = s.cluster.SetTargets(t.Context(), g.Number, half)
	require.NoError(t, err)
	s.round(s.deps())
	require.Equal(t, map[string]string{"h1": "1/0", "h2": "1/0"}, s.targets("again"))
}

func TestWarmVMsFollowTheUseOfAPool(t *testing.T) {
	t.Parallel()
	host := core.HostInfo{Name: "h1", State: core.HostUp, Ready: true, CPU: 8, Memory: 64 << 30, Serves: []string{"p"}, Takes: map[string]int64{"p": 2000}}
	p := core.DefaultPool("p")
	p.Warm, p.Max, p.WarmMost = 0, 100, 20
	g := core.Ground{Now: 1_000_000, Hosts: []core.HostInfo{host}, Pools: []core.Pool{p}, Use: map[string]core.Use{"p": {Claims: 300, Counted: 0, Rate: 0, Rated: 999_000, At: 999_000}}}
	warm := func() int { return overseer.Placed(g).Targets["h1"]["p"].Warm }
	require.Equal(t, 7, warm(), "one claim a second, and two seconds to make a VM")

	g.Hosts[0].Takes = nil
	require.Equal(t, 5, warm())
	g.Pools[0].WarmMost = 3
	require.Equal(t, 3, warm())
	g.Pools[0].WarmMost = 0
	require.Zero(t, warm(), "learning is off")

	// Asleep, also the last VM of the pool.
	g.Pools[0].Warm, g.Pools[0].IdleAfter = 2, time.Minute
	require.Equal(t, 2, warm())
	require.EqualValues(t, 1_000_000, overseer.Placed(g).Use["p"].At)
	g.Use["p"] = core.Use{Claims: 300, Counted: 300, At: 900_000, Rated: 999_000}
	require.Zero(t, warm())
	g.Hosts[0].VMsOf = map[string]map[core.VMState]int{"p": {core.VMClaimed: 1}}
	require.Equal(t, 2, warm(), "one is in use")
}

// What is due soon is expected before it comes, and read once a minute; a round does not fail for it.
func TestWarmVMsFollowWhatIsDue(t *testing.T) {
	t.Parallel()
	s := newScene(t, coretest.Real(t))
	s.only(func(p *core.Pool) { p.WarmMost = 50 })
	s.hostWith("h1", time.Hour, 0)
	deps, read := s.deps(), 0
	var failed error
	deps.Expected = func(context.Context) (map[string]float64, error) {
		read++
		return map[string]float64{"again": 10}, failed
	}
	o, err := overseer.New(overseer.Config{Beat: time.Minute, Suspect: time.Minute, Down: time.Hour}, deps)
	require.NoError(t, err)
	for range 2 {
		_, err = o.Once(t.Context())
		require.NoError(t, err)
	}
	require.Equal(t, map[string]string{"h1": "19/0"}, s.targets("again"), "ten in the second that making a VM takes")
	require.Equal(t, 1, read)
	failed = core.Errorf(core.CodeUnavailable, "", "the store is away")
	s.round(deps)
	s.only(func(p *core.Pool) { p.WarmMost = 0 })
	s.round(deps)
	require.Equal(t, 2, read, "nobody needs it")
}

func TestWhichWorkAHostGets(t *testing.T) {
	t.Parallel()
	p := core.DefaultPool("p")
	p.Warm, p.WarmTotal = 1, 3
	for name, c := range map[string]struct {
		change func(*core.HostInfo)
		warm   int
		known  bool
	}{
		"up":              {func(*core.HostInfo) {}, 3, true},
		"down":            {func(h *core.HostInfo) { h.State = core.HostDown }, 0, false},
		"not reconciled":  {func(h *core.HostInfo) { h.Ready = false }, 0, false},
		"just reconciled": {func(h *core.HostInfo) { h.Serves = nil }, 0, false}, // it says a moment later what it serves
		"drained":         {func(h *core.HostInfo) { h.Drain = true }, 0, true},
		"reported failed": {func(h *core.HostInfo) { h.Failed = &core.HostReport{} }, 0, true},
		"on probation":    {func(h *core.HostInfo) { h.Probation = &core.Probation{} }, 1, true},
		"late": {func(h *core.HostInfo) {
			h.State, h.VMsOf = core.HostSuspect, map[string]map[core.VMState]int{"p": {core.VMClean: 1, core.VMCreating: 1, core.VMDirty: 9}}
		}, 2, true},
		"broken": {func(h *core.HostInfo) { h.Broken = map[string]string{"p": "no image"} }, 1, true},
		"full":   {func(h *core.HostInfo) { h.MaxVMs = 2 }, 2, true},
	} {
		h := core.HostInfo{Name: "h1", State: core.HostUp, Ready: true, Serves: []string{"p"}}
		c.change(&h)
		r := overseer.Placed(core.Ground{Now: 1, Hosts: []core.HostInfo{h}, Pools: []core.Pool{p}})
		require.Equal(t, c.warm, r.Targets["h1"]["p"].Warm, name)
		require.Equal(t, c.known, r.Targets["h1"] != nil, name)
	}
}

// A round comes each second, and at once for work that waits, but not one after the other without a pause.
func TestRoundsComeWhenWorkWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &waitingWork{fixture: &fixture{}, bell: make(chan struct{}, 1)}
		_, deps := newDeps(w.fixture)
		deps.Placements = w
		o, err := overseer.New(overseer.Config{}, deps)
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- o.Run(ctx) }()
		rounds := func(during time.Duration) int {
			before := w.count("ground")
			require.NoError(t, clock.Sleep(t.Context(), clock.Real{}, during))
			synctest.Wait()
			return w.count("ground") - before
		}
		rounds(time.Second / 2)
		require.Equal(t, 10, rounds(11*time.Second), "each takes its pause and a second")
		w.bell <- struct{}{}
		require.Equal(t, 1, rounds(10*time.Millisecond))
		w.bell <- struct{}{}
		require.Zero(t, rounds(80*time.Millisecond))
		require.Equal(t, 1, rounds(30*time.Millisecond))
		stop()
		<-done
	})
}

type waitingWork struct {
	*fixture
	bell chan struct{}
}

func (w *waitingWork) WaitPlacement(ctx context.Context, poll time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-w.bell:
	case <-time.After(poll):
	}
	return nil
}
