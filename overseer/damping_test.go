package overseer_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
	"drover/core/service/clock"
	"drover/overseer"
)

// fail lets a host claim n requests and fail them, and waits for nothing.
func (s *scene) fail(host string, n int) {
	s.t.Helper()
	s.end(host, s.claim(host, "again", n, time.Hour), core.OutcomeRetry)
	s.b.Hasten(s.t, s.cluster)
}

// A host that fails work far more often than the others is put on probation, gets
// one request at a time, and is let back by canaries that go well.
func TestABlackHoleIsTakenOut(t *testing.T) {
	t.Parallel()
	s := newScene(t, coretest.Real(t))
	s.host("h1", time.Hour)
	s.host("h2", time.Hour)
	s.submit("again", 20)
	s.end("h2", s.claim("h2", "again", 8, time.Hour), core.OutcomeDone)
	s.fail("h1", 4)
	s.once(nil, 0)
	require.Nil(t, s.hosts()["h1"].Probation, "four faults say nothing yet")
	s.fail("h1", 1)
	counts := countsOf(s.once(nil, 0), "damp")
	require.Equal(t, overseer.Counts{"probations": 1}, counts)
	p := s.hosts()["h1"].Probation
	require.Contains(t, p.Reason, "5 of the last 5 requests that ended there had a fault of the platform, and 0 of 8 elsewhere")
	require.Equal(t, 3, p.Needed)
	require.InDelta(t, time.Now().Add(30*time.Second).UnixMilli(), p.Until, 25_000)
	require.Nil(t, s.hosts()["h2"].Probation)
	s.claim("h1", "again", 0, time.Hour)
	require.Empty(t, countsOf(s.once(nil, 0), "damp"), "once is enough, for any overseer")
	coretest.RequireSound(t, s.cluster)

	require.NoError(t, s.cluster.Probation(context.Background(), "h1", "", 0, 0))
	require.Empty(t, countsOf(s.once(nil, 0), "damp"), "it is trusted: what was before does not count")
	s.fail("h1", 1)
	require.Empty(t, countsOf(s.once(nil, 0), "damp"))
	coretest.RequireSound(t, s.cluster)
}

// A host that failed often is not out for hours.
func TestProbationsAreBounded(t *testing.T) {
	t.Parallel()
	s := newScene(t, coretest.Mini(t))
	s.host("h1", time.Hour)
	s.host("h2", time.Hour)
	for range 6 {
		require.NoError(t, s.cluster.Probation(t.Context(), "h1", "it failed", time.Second, 3))
		require.NoError(t, s.cluster.Probation(t.Context(), "h1", "", 0, 0))
	}
	s.submit("again", 5)
	s.fail("h1", 5)
	require.Equal(t, overseer.Counts{"probations": 1}, countsOf(s.once(nil, 0), "damp"))
	require.InDelta(t, time.Now().Add(10*time.Minute).UnixMilli(), s.hosts()["h1"].Probation.Until, 5*60_000)
}

// A host that goes down and comes back again and again is put on probation.
func TestAFlappingHostIsDamped(t *testing.T) {
	t.Parallel()
	s := newScene(t, coretest.Real(t))
	for downs := 1; downs <= 3; downs++ {
		s.host("h1", time.Hour)
		s.host("h2", time.Hour)
		require.Nil(t, s.hosts()["h1"].Probation)
		s.die("h1")
		s.until(s.deps(), func() bool { return s.hosts()["h1"].State == core.HostDown })
	}
	s.until(s.deps(), func() bool { return s.hosts()["h1"].Probation != nil })
	require.Equal(t, "it went down 3 times within 10m0s", s.hosts()["h1"].Probation.Reason)
	s.host("h1", time.Hour)
	require.NotNil(t, s.hosts()["h1"].Probation, "it comes back to that")
	require.Nil(t, s.hosts()["h2"].Probation)
	coretest.RequireSound(t, s.cluster)
}

// history is a stream of events that a test writes.
type history []core.Event

func (h history) Events(_ context.Context, after string) ([]core.Event, error) {
	for i, e := range h {
		if e.ID == after {
			return h[i+1 : min(i+3, len(h))], nil
		}
	}
	return h[:min(2, len(h))], nil
}

// suspects runs the damping over a history and returns who is put on probation.
func suspects(t *testing.T, hosts []core.HostInfo, events ...core.Event) []string {
	t.Helper()
	now := time.UnixMilli(1e12)
	w := &jury{hosts: hosts}
	for i := range events {
		events[i].ID = fmt.Sprint(i + 1)
		if events[i].At == 0 {
			events[i].At = now.UnixMilli()
		}
	}
	fixture := &fixture{}
	_, deps := newDeps(fixture)
	deps.Hosts, deps.History, deps.Clock = w, history(events), clock.NewManual(now)
	o, err := overseer.New(overseer.Config{}, deps)
	require.NoError(t, err)
	_, err = o.Once(context.Background())
	require.NoError(t, err)
	return w.tried
}

// jury is hosts, and who of them was put on probation.
type jury struct {
	fixture
	hosts []core.HostInfo
	tried []string
}

func (j *jury) ListHosts(context.Context) ([]core.HostInfo, error) { return j.hosts, nil }

func (j *jury) Judge(context.Context, time.Duration, time.Duration) ([]string, error) {
	return nil, nil
}

func (j *jury) Probation(_ context.Context, host, _ string, delay time.Duration, _ int) error {
	j.tried = append(j.tried, fmt.Sprint(host, " ", delay))
	return nil
}

func TestWhoIsSuspicious(t *testing.T) {
	t.Parallel()
	up := func(name string) core.HostInfo { return core.HostInfo{Name: name, State: core.HostUp, Ready: true} }
	both := []core.HostInfo{up("h1"), up("h2")}
	ends := func(host string, moved string) core.Event {
		return core.Event{Op: "exchange", By: "testrunner@" + host + "#0", Moved: moved}
	}
	downs := func(n int, at int64) (all []core.Event) {
		for range n {
			all = append(all, core.Event{Op: "host down", By: "-", Moved: "h1", At: at})
		}
		return all
	}
	five := "a-1=retry b-1=retry c-1=retry d-1=retry e-1=retry"
	often := up("h1")
	often.Probations = 3
	still := up("h1")
	still.Probation = &core.Probation{}
	for name, c := range map[string]struct {
		hosts  []core.HostInfo
		events []core.Event
		want   []string
	}{
		"nothing happened":                       {both, nil, nil},
		"faults, and nobody else ended anything": {both, []core.Event{ends("h1", five)}, []string{"h1 30s"}},
		"too few faults":                         {both, []core.Event{ends("h1", "a-1=retry b-1=retry c-1=retry d-1=retry")}, nil},
		"a small share":                          {both, []core.Event{ends("h1", five+" f-1 g-1 h-1 i-1 j-1 k-1 l-1 m-1 n-1 o-1 p-1 q-1 r-1 s-1 t-1 u-1 v-1 w-1 x-1 y-1 z-1")}, nil},
		"just the share":                         {both, []core.Event{ends("h1", five+" f-1 g-1 h-1 i-1 j-1 k-1 l-1 m-1 n-1 o-1 p-1 q-1 r-1 s-1 t-1 u-1 v-1 w-1 x-1 y-1")}, []string{"h1 30s"}},
		"the others have faults too":             {both, []core.Event{ends("h1", five), ends("h2", "a-1=retry b-1 c-1 d-1")}, nil},
		"the others have few":                    {both, []core.Event{ends("h1", five), ends("h2", "a-1=retry b-1 c-1 d-1 e-1")}, []string{"h1 30s"}},
		"there is no other host":                 {both[:1], []core.Event{ends("h1", five)}, nil},
		"releases are no faults":                 {both, []core.Event{ends("h1", "a-1=release b-1=release c-1=release d-1=release e-1=release")}, nil},
		"hung slots are faults":                  {both, []core.Event{{Op: "revoke", By: "testrunner@h1#3", Moved: five}}, []string{"h1 30s"}},
		"deaths are the owner's":                 {both, []core.Event{{Op: "settle", By: "testrunner@h1#0", Moved: five}}, nil},
		"VMs are no requests":                    {both, []core.Event{{Op: "exchange", By: "vmfactory@h1#0", Moved: five}}, nil},
		"it is so for the fourth time":           {[]core.HostInfo{often, up("h2")}, []core.Event{ends("h1", five)}, []string{"h1 4m0s"}},
		"it is on probation":                     {[]core.HostInfo{still, up("h2")}, []core.Event{ends("h1", five)}, nil},
		"it was trusted since":                   {both, []core.Event{ends("h1", five), {Op: "host trusted", By: "-", Moved: "h1"}}, nil},
		"long ago":                               {both, []core.Event{{Op: "exchange", By: "testrunner@h1#0", Moved: five, At: 1e12 - 601_000}}, nil},
		"down twice":                             {both, downs(2, 0), nil},
		"down three times":                       {both, downs(3, 0), []string{"h1 30s"}},
		"down three times, long ago":             {both, downs(3, 1e12-601_000), nil},
		"down before the clock was set back":     {both, downs(3, 1e12+3_600_000), nil},
		"down before and since then":             {both, append(downs(2, 1e12+3_600_000), downs(2, 0)...), nil},
		"down often since then":                  {both, append(downs(1, 1e12+3_600_000), downs(3, 0)...), []string{"h1 30s"}},
		"a word that is none":                    {both, []core.Event{{Op: "exchange", By: "who?", Moved: five}}, nil},
	} {
		require.Equal(t, c.want, suspects(t, c.hosts, c.events...), name)
	}
}
