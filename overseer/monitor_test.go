package overseer_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
	"drover/core/service/clock"
	"drover/overseer"
)

// once oversees with the monitors, at a moment so far from now.
func (s *scene) once(monitors []string, ahead time.Duration) overseer.Report {
	s.t.Helper()
	deps := s.deps()
	deps.Clock = clock.NewManual(time.Now().Add(ahead))
	o, err := overseer.New(overseer.Config{Beat: beat, Suspect: suspect, Down: down, Monitors: monitors}, deps)
	require.NoError(s.t, err)
	report, err := o.Once(context.Background())
	require.NoError(s.t, err)
	return report
}

func (s *scene) report(host string, event core.HostEvent) {
	s.t.Helper()
	require.NoError(s.t, s.cluster.AddHostReport(context.Background(), core.HostReport{Host: host, Event: event, By: "watchdog", Reason: "no ping"}))
}

// A watchdog's word takes a host out, though its owners live (B1, B3, B4), and lets it back.
func TestAHostThatIsReportedFailed(t *testing.T) {
	t.Parallel()
	s := newScene(t, coretest.Real(t))
	s.host("h1", time.Hour)
	s.host("h2", time.Hour)
	id := s.submit("again", 1)[0]
	s.claim("h1", "again", 1, time.Hour)
	s.report("h1", core.HostFailed)
	s.report("nobody", core.HostFailed)
	s.once([]string{"heartbeat", "provider"}, 0)
	require.Equal(t, core.HostUp, s.hosts()["h1"].State, "nobody listens to reports")

	counts := countsOf(s.once(nil, 0), "watch report")
	require.Equal(t, overseer.Counts{"hosts_failed": 1}, counts)
	h1 := s.hosts()["h1"]
	require.Equal(t, core.HostDown, h1.State)
	require.Equal(t, "watchdog", h1.Failed.By)
	require.Equal(t, "no ping", h1.Failed.Reason)
	require.Equal(t, "h2", s.place(id).Assigned, "evacuated in the same run")
	s.host("h1", time.Hour)
	require.Equal(t, core.HostDown, s.hosts()["h1"].State, "it registers again and is not believed")
	s.submit("again", 1)
	s.claim("h1", "again", 0, time.Hour)
	coretest.RequireSound(t, s.cluster)

	s.report("h1", core.HostRecovered)
	s.once(nil, 0)
	require.Nil(t, s.hosts()["h1"].Failed)
	s.host("h1", time.Hour)
	require.Equal(t, core.HostUp, s.hosts()["h1"].State)
	s.claim("h1", "again", 1, time.Hour)
	require.Empty(t, countsOf(s.once(nil, 0), "watch report"), "each report is acted on once")
	coretest.RequireSound(t, s.cluster)
}

// An overseer that runs once acts on all that waits, in its order; a watchdog may write what it likes.
func TestManyReportsAtOnce(t *testing.T) {
	t.Parallel()
	b := coretest.Real(t)
	s := newScene(t, b)
	s.host("h1", time.Hour)
	s.host("h2", time.Hour)
	for i := range 151 {
		s.report("h1", []core.HostEvent{core.HostFailed, core.HostRecovered}[i%2])
	}
	for _, values := range [][]any{
		{"host", "h2", "event", "exploded", "by", "me"},
		{"nothing", "at all"},
		{"host", "not a:name", "event", "failed"},
		{"host", "h2", "event", "failed", "reason", "no ping", "by", "my-watchdog"},
	} {
		require.NoError(t, b.Admin.XAdd(t.Context(), &redis.XAddArgs{Stream: b.Namespace + ":reports", Values: values}).Err())
	}
	counts := countsOf(s.once(nil, 0), "watch report")
	require.Equal(t, overseer.Counts{"hosts_failed": 77, "hosts_recovered": 75}, counts)
	require.NotNil(t, s.hosts()["h1"].Failed)
	require.Equal(t, "my-watchdog", s.hosts()["h2"].Failed.By)
	require.Empty(t, countsOf(s.once(nil, 0), "watch report"))
	coretest.RequireSound(t, s.cluster)
}

// An overseer that was killed over a report leaves it to the next one.
func TestAReportThatWasNotActedOnComesAgain(t *testing.T) {
	t.Parallel()
	b := coretest.Mini(t)
	s := newScene(t, b)
	s.host("h1", time.Hour)
	s.report("h1", core.HostFailed)
	got, err := s.cluster.HostReports(context.Background(), "overseer", 0)
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Empty(t, countsOf(s.once(nil, 0), "watch report"))
	b.Mini.SetTime(time.Now().Add(2 * time.Minute))
	require.Equal(t, overseer.Counts{"hosts_failed": 1}, countsOf(s.once(nil, 0), "watch report"))
}

// A host none of whose providers makes VMs has failed after a minute, until one does
// again; not where most hosts are like that, and not by another's word.
func TestAHostWithoutProviders(t *testing.T) {
	t.Parallel()
	s := newScene(t, coretest.Real(t))
	for _, host := range []string{"h1", "h2", "h3"} {
		s.host(host, time.Hour)
	}
	since := time.Now().UnixMilli()
	note := func(host string, missing ...string) {
		t.Helper()
		factory := core.OwnerName(core.RoleVMFactory, host, 0)
		var notes core.HostNotes
		for i, why := range missing {
			notes.Providers = append(notes.Providers, core.ProviderNote{Name: []string{"local", "lxc"}[i], Missing: why, Since: since})
		}
		require.NoError(t, s.cluster.Note(context.Background(), factory, s.epoch[factory], host, notes))
	}
	down := func() (names []string) {
		for _, host := range []string{"h1", "h2", "h3"} {
			if s.hosts()[host].Failed != nil {
				names = append(names, host)
			}
		}
		return names
	}
	note("h1", "no cgroups", "no liblxc")
	note("h2", "no cgroups", "")
	s.once(nil, 50*time.Second)
	require.Empty(t, down(), "it may be mended in a minute")
	s.once([]string{"heartbeat"}, 2*time.Minute)
	require.Empty(t, down(), "nobody looks")
	s.once(nil, 2*time.Minute)
	require.Equal(t, []string{"h1"}, down())
	require.Equal(t, "provider", s.hosts()["h1"].Failed.By)
	require.Equal(t, "lxc: no liblxc", s.hosts()["h1"].Failed.Reason)

	note("h2", "no cgroups", "no liblxc")
	s.once(nil, 2*time.Minute)
	require.Equal(t, []string{"h1"}, down(), "most hosts are like that: it is not they")
	note("h2", "", "no liblxc")
	s.host("h1", time.Hour)
	note("h1", "", "")
	s.report("h2", core.HostFailed)
	s.once(nil, 2*time.Minute)
	require.Equal(t, []string{"h2"}, down(), "only who said it takes it back")

	since += time.Hour.Milliseconds()
	note("h3", "no cgroups", "no liblxc")
	s.once(nil, 0)
	require.Equal(t, []string{"h2", "h3"}, down(), "the clock was set back since")
	coretest.RequireSound(t, s.cluster)
}

// Without heartbeats nobody is judged by them.
func TestHeartbeatsCanBeLeftOut(t *testing.T) {
	t.Parallel()
	s := newScene(t, coretest.Real(t))
	s.host("h1", time.Hour)
	s.host("h2", time.Hour)
	require.NoError(t, s.b.Admin.ZAddXX(context.Background(), s.b.Namespace+":hosts", redis.Z{Score: 1, Member: "h1"}).Err())
	for range 3 {
		s.once([]string{}, 0)
		require.Equal(t, core.HostUp, s.hosts()["h1"].State)
	}
	s.until(s.deps(), func() bool { return s.hosts()["h1"].State == core.HostDown })
}
