package operator_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
	"drover/core/coretest/tier"
	"drover/web"
	"drover/web/browsertest"
	"drover/web/caller"
)

// served is the site as browsers have it, for one user, with all that holds them.
func (w *fixture) served(t *testing.T, who string) string {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	at, err := url.Parse("http://" + s.Listener.Addr().String())
	require.NoError(t, err)
	none := http.NotFoundHandler()
	signedIn := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.ServeHTTP(rw, r.WithContext(caller.With(r.Context(), &caller.Caller{Actor: users[who], Name: who})))
	})
	s.Config.Handler, err = web.Handler(web.Config{URL: at, Log: w.deps.Log.(*logrus.Logger)}, web.Handlers{API: none, Judge0: none, Tango: none, Jobe: none, Events: none, Pages: signedIn})
	require.NoError(t, err)
	s.Start()
	t.Cleanup(s.Close)
	return at.String()
}

// sample is a cluster in which something of everything is to be seen.
func (w *fixture) sample(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	for i, name := range []string{"python", "c-and-a-rather-long-name-for-a-pool", "heavy"} {
		p := core.DefaultPool(name)
		p.Warm, p.Paused = i+1, i == 2
		require.NoError(t, w.in.SetPool(ctx, p))
	}
	w.setType(t, core.JobType{Command: []string{"make", "-j2", "all of it"}, Limits: core.Limits{Memory: 64 << 20}, Submitters: []string{"rosa"}, Env: []string{"CC=gcc"}})
	w.setType(t, core.JobType{Name: "simulate", Pool: "python"})
	w.AddVMs(t, 5)
	w.kill(t, dead, "its host was lost four times; the last was h1")
	for i := range 3 {
		w.submit(t, fmt.Sprintf("01kb5zzzzzzzzzzzzzzzzzzz%02d", i), fmt.Sprintf("student-%d", i%2))
	}
	w.seq++
	c := w.Exchange(t, w.seq, 1).Claims[0]
	require.NoError(t, w.Store.Progress(ctx, w.Runner, w.Epoch, c.Key, c.Token, "running", 0))
	for h := range 4 {
		other := coretest.NewCluster(t, w.Store, fmt.Sprintf("node-%d", h), "python")
		vms := other.AddVMs(t, 3+h)
		require.NoError(t, w.Store.Create(ctx, other.Factory, other.Made, other.Host, "heavy", []string{vms[0] + "-x"}))
		_, err := w.Store.Retire(ctx, other.Factory, other.Made, other.Host, vms[:1])
		require.NoError(t, err)
	}
	require.NoError(t, w.Store.Drain(ctx, "node-1", true, 0))
	require.NoError(t, coretest.ErrOf(w.Store.Report(ctx, core.HostReport{Host: "node-2", Event: core.HostFailed, By: "watchdog", Reason: "smoke"})))
	require.NoError(t, w.Store.Probation(ctx, "node-3", "five requests in a row had a fault of the platform", 0, 5))
	require.NoError(t, w.store.PutImage(ctx, core.Image{Name: "python", Digest: fmt.Sprintf("sha256:%064x", 7), Size: 40 << 20, Files: 900, Bytes: 90 << 20, Source: "docker.io/library/python:3.14", Created: time.Now().UnixMilli()}))
	broken := core.DefaultPool("python")
	broken.BrokenFor = time.Hour
	require.NoError(t, w.in.SetPool(ctx, broken))
	_, err := w.Store.SetOutage(ctx, "python", core.Outage{Host: "node-0", Why: "pool python: the image python is not there"})
	require.NoError(t, err)
	_, err = w.deps.Classes.SetSchedule(ctx, users["root"], core.Schedule{Name: "purge", Cron: "0 4 * * *", Kind: core.KindPurge})
	require.NoError(t, err)
	_, err = w.deps.Classes.RunSchedule(ctx, users["root"], "purge")
	require.NoError(t, err)
}

// Every page fits a phone, in the light and in the dark, and can be used by all.
func TestPagesInABrowser(t *testing.T) {
	tier.OnlyInAll(t, tier.Browser)
	t.Parallel()
	w := newFixture(t, coretest.Mini(t))
	w.sample(t)
	w.counted(t)
	w.measured(t, "h1", true)
	w.measured(t, "node-2", false)
	require.NoError(t, w.store.AddStateChanges(t.Context(), []core.StateChange{
		{Kind: core.EntityVM, Thing: "vm-1", At: 1000, State: "creating", How: "create", By: "vmfactory@h1#0"},
		{Kind: core.EntityGap, Thing: core.GapThing, At: 1001, Until: 2000, How: "gap", Why: "Redis was wiped or set back, or dropped events before they were copied"},
		{Kind: core.EntityHost, Thing: "node-2", At: time.Now().Add(-9 * time.Hour).UnixMilli(), State: "down", How: "down"},
		{Kind: core.EntityHost, Thing: "node-2", At: time.Now().Add(-8 * time.Hour).UnixMilli(), State: "up", How: "up"},
		{Kind: core.EntityHost, Thing: "node-2", At: time.Now().Add(-3 * time.Hour).UnixMilli(), How: "drain"},
		{Kind: core.EntityHost, Thing: "node-2", At: time.Now().Add(-2 * time.Hour).UnixMilli(), How: "undrain"},
		{Kind: core.EntityVM, Thing: "vm-1", At: 2000, State: "claimed", How: "exchange", By: "testrunner@h1#0", With: dead + "-1"},
		{Kind: core.EntityRequest, Thing: dead + "-1", At: 2000, State: "claimed", How: "exchange", By: "testrunner@h1#0", With: "vm-1", Why: "a rather long reason why this came to pass"},
	}))
	degraded := w.degraded(t)
	site := w.served(t, "root")
	tab := browsertest.Start(t).Tab(t)
	for _, at := range []string{
		"/cluster", "/cluster/hosts", "/cluster/hosts/h1", "/cluster/hosts/node-2", "/cluster/hosts/node-3", "/cluster/vms/vm-1", "/cluster/pools", "/cluster/pools/python", "/cluster/types", "/cluster/types/compile", "/cluster/types/simulate", "/cluster/images", "/cluster/queues", "/cluster/requests/" + dead,
		"/cluster/dead", "/cluster/parked", "/cluster/leases", "/cluster/leases?span=day&of=p1", "/cluster/leases?span=4weeks", "/cluster/leases/" + degraded, "/cluster/instances", "/cluster/tasks", "/cluster/schedules", "/cluster/consistency", "/cluster/audit", "/cluster/stats", "/cluster/events",
	} {
		for _, screen := range []struct {
			name  string
			width int64
			dark  bool
		}{{"light", 1200, false}, {"phone", 360, true}} {
			tab.Screen(screen.width, 800, screen.dark)
			tab.Goto(site + at)
			if dir := os.Getenv("DROVER_PICTURES"); dir != "" {
				tab.Screenshot(filepath.Join(dir, strings.ReplaceAll(strings.Trim(at, "/"), "/", "-")+"-"+screen.name+".png"))
			}
			require.LessOrEqual(t, tab.Overflow(), 0, "%s, %s", at, screen.name)
			require.Empty(t, tab.Axe(), "%s, %s", at, screen.name)
		}
	}
}

// A person drains a host, is asked first, and sees it drained.
func TestHostIsDrainedInABrowser(t *testing.T) {
	tier.OnlyInAll(t, tier.Browser)
	t.Parallel()
	w := newFixture(t, coretest.Mini(t))
	tab := browsertest.Start(t).Tab(t)
	tab.Goto(w.served(t, "olga") + "/cluster")
	tab.Press("h1")
	tab.AwaitPath("/cluster/hosts/h1")
	tab.Press("Drain")
	tab.Await("Let host h1 take no new work?")
	tab.Click("dialog button[value=yes]")
	tab.Await("Undrain")
	require.True(t, w.hostOf(t).Drain)
}
