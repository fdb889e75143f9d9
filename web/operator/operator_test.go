package operator_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"drover/core"
	"drover/core/coretest"
)

func TestMain(m *testing.M) {
	// The sessions that tests have are kept in memory, which is swept forever.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/alexedwards/scs/v2/memstore.(*MemStore).startCleanup"))
}

// path fills a route's pattern in.
func path(pattern string) string {
	_, p, _ := strings.Cut(pattern, " ")
	return strings.NewReplacer("{host}", "h1", "{pool}", "p1", "{type}", "compile", "{id}", dead, "{name}", "nightly").Replace(p)
}

// Every route is tried by everybody: who may not look gets nothing, who may only look changes nothing.
func TestRolesAndRoutes(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Mini(t))
	w.kill(t, dead, "its host was lost")
	w.setType(t, core.JobType{})
	for _, route := range w.site.Routes() {
		require.NotEmpty(t, route.Action, route.Pattern)
		var sent url.Values
		if strings.HasPrefix(route.Pattern, "POST ") {
			sent = url.Values{}
		}
		for who, a := range users {
			got := w.ask(t, who, path(route.Pattern), sent).Code
			if core.Allow(a, route.Action, core.Object{}) == nil {
				require.NotEqual(t, http.StatusForbidden, got, "%s %s", who, route.Pattern)
				require.Less(t, got, http.StatusInternalServerError, "%s %s", who, route.Pattern)
			} else {
				require.Contains(t, []int{http.StatusForbidden, http.StatusNotFound}, got, "%s %s", who, route.Pattern)
			}
		}
		require.Equal(t, http.StatusSeeOther, w.ask(t, "", path(route.Pattern), sent).Code, "nobody %s", route.Pattern)
	}
}

// main is a page without what all pages have: signing out, the language.
func mainOf(t *testing.T, html string) string {
	t.Helper()
	_, rest, ok := strings.Cut(html, "<main")
	require.True(t, ok)
	inner, _, ok := strings.Cut(rest, "</main>")
	require.True(t, ok)
	return inner
}

func TestObserversSeeNoForms(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Mini(t))
	w.kill(t, dead, "its host was lost")
	w.setType(t, core.JobType{})
	for _, at := range []string{"/cluster", "/cluster/hosts/h1", "/cluster/pools", "/cluster/pools/p1", "/cluster/types", "/cluster/types/compile", "/cluster/queues", "/cluster/requests/" + dead, "/cluster/dead", "/cluster/parked", "/cluster/leases", "/cluster/instances", "/cluster/tasks", "/cluster/consistency", "/cluster/stats", "/cluster/events"} {
		require.NotContains(t, mainOf(t, w.shows(t, "otto", at)), `method="post"`, at)
		w.shows(t, "olga", at)
	}
	require.Contains(t, w.shows(t, "olga", "/cluster/hosts/h1"), `method="post"`)
	require.NotContains(t, w.shows(t, "otto", "/cluster"), "/cluster/schedules", "no link to what is refused")
	require.NotContains(t, w.shows(t, "olga", "/cluster"), "/cluster/audit")
}

// A heartbeat is the beat older than when the next one is due.
func TestClusterShowsHeartbeats(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Mini(t))
	came := time.UnixMilli(w.hostOf(t).Deadline).Add(-2 * time.Second).UTC().Format(`datetime="2006-01-02T15:04:05`)
	for _, at := range []string{"/cluster", "/cluster/hosts/h1"} {
		require.Contains(t, w.shows(t, "otto", at), came, at)
	}
}

func TestClusterShowsWhatNobodyRuns(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Mini(t))
	page := w.shows(t, "otto", "/cluster")
	require.Contains(t, page, "No taskrunner is running")
	require.Contains(t, page, "No overseer is running")
	require.NotContains(t, page, "No testrunner is running")
}

func TestHostIsDrained(t *testing.T) {
	t.Parallel()
	coretest.Each(t, func(t *testing.T, b *coretest.Backend) {
		w := newFixture(t, b)
		const at = "/cluster/hosts/h1"
		got := w.ask(t, "olga", at+"/drain", form("deadline", "soon"))
		require.Equal(t, http.StatusUnprocessableEntity, got.Code)
		require.Contains(t, got.Body.String(), `value="soon"`, "what was typed is still there")
		require.Equal(t, http.StatusUnprocessableEntity, w.ask(t, "olga", at+"/drain", form("deadline", "1ms")).Code)
		require.False(t, w.hostOf(t).Drain)
		w.does(t, "olga", at+"/drain", form("deadline", "10m"), at)
		require.True(t, w.hostOf(t).Drain)
		require.NotZero(t, w.hostOf(t).DrainUntil)
		require.Contains(t, w.shows(t, "otto", "/cluster"), "drained")
		w.does(t, "olga", at+"/undrain", form(), at)
		require.False(t, w.hostOf(t).Drain)
		require.Equal(t, http.StatusUnprocessableEntity, w.ask(t, "olga", at+"/evacuate", form()).Code)
		require.False(t, w.hostOf(t).Drain, "nobody was sure")
		w.does(t, "olga", at+"/evacuate", form("sure", "yes"), at)
		require.True(t, w.hostOf(t).Drain)
		require.Equal(t, http.StatusUnprocessableEntity, w.ask(t, "olga", at+"/forget", form("sure", "yes")).Code, "it is not down")
		require.Equal(t, http.StatusNotFound, w.ask(t, "olga", "/cluster/hosts/h9/drain", form()).Code)

		w.does(t, "olga", at+"/report", form("event", "failed", "reason", "<script>smoke</script>"), at)
		reports, err := w.Store.HostReports(t.Context(), "me", time.Second)
		require.NoError(t, err)
		require.Equal(t, []string{"h1", "olga", "<script>smoke</script>"}, []string{reports[0].Host, reports[0].By, reports[0].Reason})
		require.NoError(t, coretest.ErrOf(w.Store.Report(t.Context(), reports[0])))
		w.does(t, "olga", at+"/trust", form(), at)
		html := w.shows(t, "otto", at)
		require.NotContains(t, html, "<script>smoke")
		require.Contains(t, html, "&lt;script&gt;smoke")
		require.Equal(t, core.HostDown, w.hostOf(t).State)
	})
}

func TestDownHostIsForgotten(t *testing.T) {
	t.Parallel()
	coretest.Each(t, func(t *testing.T, b *coretest.Backend) {
		w := newFixture(t, b)
		ctx := t.Context()
		require.NoError(t, coretest.ErrOf(w.Store.Report(ctx, core.HostReport{Host: "h1", Event: core.HostFailed, By: "me"})))
		for owner, epoch := range map[string]int64{w.Runner: w.Epoch, w.Factory: w.Made} {
			next, err := w.Store.DeclareDead(ctx, owner, epoch)
			require.NoError(t, err)
			require.NoError(t, w.Store.Forget(ctx, owner, next))
		}
		require.Contains(t, w.shows(t, "olga", "/cluster/hosts/h1"), "/cluster/hosts/h1/forget")
		require.Equal(t, http.StatusUnprocessableEntity, w.ask(t, "olga", "/cluster/hosts/h1/forget", form()).Code)
		w.does(t, "olga", "/cluster/hosts/h1/forget", form("sure", "yes"), "/cluster")
		require.Empty(t, w.hostOf(t).Name)
	})
}

// A pool's page says what its hosts do not hold, once for hosts that say the same.
func TestPoolSaysWhatHoldsItsLimits(t *testing.T) {
	t.Parallel()
	coretest.Each(t, func(t *testing.T, b *coretest.Backend) {
		w := newFixture(t, b)
		open := core.LimitNote{Name: "messages by caches", Note: "a test can leave its input"}
		require.NoError(t, w.Store.Note(t.Context(), w.Factory, w.Made, w.Host, core.HostNotes{Serves: []string{"p1"}, Providers: []core.ProviderNote{
			{Name: "local", Limits: []core.LimitNote{open, {Name: "memory", HeldBy: "cgroup"}}},
			{Name: "lxc", Limits: []core.LimitNote{{Name: "of another provider"}}},
		}}))
		said := w.shows(t, "otto", "/cluster/pools/p1")
		require.Contains(t, said, open.Note)
		require.Contains(t, said, `<span class="err">nothing</span>`)
		require.Contains(t, said, "cgroup")
		require.NotContains(t, said, "of another provider")
	})
}

func TestPoolIsSet(t *testing.T) {
	t.Parallel()
	coretest.Each(t, func(t *testing.T, b *coretest.Backend) {
		w := newFixture(t, b)
		ctx := t.Context()
		settings := form("provider", "local", "image", "", "warm", "4", "max", "9", "network", "egress", "peer", "yes", "quiet", "yes", "unboxed", "yes", "timeout", "30s", "cpu", "0.5",
			"memory", "512MiB", "disk", "64MiB", "file_size", "8MiB", "pids", "70", "open_files", "300", "output", "2MiB", "max_wait", "2h", "broken_for", "20m",
			"max_waiting", "50", "running", "3", "stage_timeout", "40s", "on_host_loss", "fail", "keep_outputs", "168h", "warm_total", "12",
			"warm_most", "20", "idle_after", "30m", "spread", "3", "strategy", "best-fit", "order", "maxmin")
		w.does(t, "olga", "/cluster/pools/p1", settings, "/cluster/pools/p1")
		want := core.Pool{
			Name: "p1", Provider: "local", Warm: 4, Max: 9, Network: "egress", Peer: true, Quiet: true, Unboxed: true, MaxWait: 2 * time.Hour, BrokenFor: 20 * time.Minute, MaxWaiting: 50, Running: 3,
			StageTimeout: 40 * time.Second, OnHostLoss: "fail", KeepOutputs: 7 * day,
			WarmTotal: 12, WarmMost: 20, IdleAfter: 30 * time.Minute, Spread: 3, Strategy: core.BestFit, Order: core.MaxMin,
			Limits: core.Limits{Timeout: 30 * time.Second, Memory: 512 << 20, Disk: 64 << 20, FileSize: 8 << 20, Pids: 70, CPU: 500, OpenFiles: 300, Output: 2 << 20},
		}
		got, err := w.Store.GetPool(ctx, "p1")
		require.NoError(t, err)
		require.Equal(t, want, got)
		// What the form shows, sent back, changes nothing.
		for name, value := range map[string]string{"warm": "-1", "memory": "much", "timeout": "x", "provider": "magic", "cpu": "NaN", "image": "<b>", "strategy": "tight", "spread": "-1", "idle_after": "1s", "broken_for": "1ms"} {
			wrong := url.Values{}
			for k, v := range settings {
				wrong[k] = v
			}
			wrong.Set(name, value)
			answer := w.ask(t, "olga", "/cluster/pools/p1", wrong)
			require.Equal(t, http.StatusUnprocessableEntity, answer.Code, name)
			require.NotContains(t, answer.Body.String(), "<b>")
		}
		w.does(t, "olga", "/cluster/pools/p1/pause", form("paused", "yes", "next", "//evil.example"), "/cluster/pools")
		got, err = w.Store.GetPool(ctx, "p1")
		require.NoError(t, err)
		require.True(t, got.Paused)
		w.does(t, "olga", "/cluster/pools/p1/pause", form("paused", "no"), "/cluster/pools")
		got, err = w.Store.GetPool(ctx, "p1")
		require.NoError(t, err)
		require.Equal(t, want, got)
		w.does(t, "olga", "/cluster/pools", form("name", "p2"), "/cluster/pools/p2")
		got, err = w.Store.GetPool(ctx, "p2")
		require.NoError(t, err)
		require.Equal(t, core.DefaultPool("p2"), got)
		require.Equal(t, http.StatusUnprocessableEntity, w.ask(t, "olga", "/cluster/pools", form("name", "p2")).Code)
		require.Equal(t, http.StatusUnprocessableEntity, w.ask(t, "olga", "/cluster/pools", form("name", "A B")).Code)
	})
}

// The page of a pool, and the list, say since when it is broken on all its hosts, and when its requests fail.
func TestABrokenPoolIsShown(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Mini(t))
	_, err := w.Store.SetOutage(t.Context(), "p1", core.Outage{Host: "h1", Why: "no image <b>"})
	require.NoError(t, err)
	const is, fails, last = "None of its hosts can make its VMs.", "its waiting requests fail:", "Last error of host h1: no image &lt;b&gt;"
	shows := func(want ...string) {
		t.Helper()
		again := w.anew(t)
		body := again.shows(t, "otto", "/cluster/pools/p1")
		for _, text := range want {
			require.Contains(t, body, text)
		}
		for _, path := range []string{"/cluster/pools", "/cluster"} {
			require.Contains(t, again.shows(t, "otto", path), is)
		}
	}
	set := func(d time.Duration) {
		t.Helper()
		p := core.DefaultPool("p1")
		p.BrokenFor = d
		require.NoError(t, w.in.SetPool(t.Context(), p))
	}
	shows(is, last, "Its requests wait.")
	set(time.Hour)
	shows(is, last, fails, "Pause the pool to let them wait.")
	require.Contains(t, w.anew(t).shows(t, "otto", "/cluster/pools"), fails)
	key := w.Store.Namespace().Key("pool", "p1")
	require.NoError(t, w.b.Admin.HSet(t.Context(), key, "outage", "1000|h1|no image <b>").Err())
	shows(is, last, "Its waiting requests fail.")
	_, err = w.Store.SetOutage(t.Context(), "p1", core.Outage{})
	require.NoError(t, err)
	require.NotContains(t, w.anew(t).shows(t, "otto", "/cluster/pools/p1"), is)
}

func TestDeadRequests(t *testing.T) {
	t.Parallel()
	coretest.Each(t, func(t *testing.T, b *coretest.Backend) {
		w := newFixture(t, b)
		w.kill(t, dead, "<script>lost</script>")
		html := w.shows(t, "otto", "/cluster/dead")
		require.Contains(t, html, "&lt;script&gt;lost")
		require.NotContains(t, html, "<script>lost")
		html = w.shows(t, "otto", "/cluster/requests/"+dead)
		for _, step := range []string{"Submitted", "In the queue", "Claimed together with a VM", "Its result is recorded"} {
			require.Contains(t, html, step)
		}
		require.Equal(t, http.StatusNotFound, w.ask(t, "otto", "/cluster/requests/"+waiting, nil).Code)
		w.does(t, "olga", "/cluster/requests/"+dead+"/retry", form("next", "/cluster/dead"), "/cluster/dead")
		require.NotContains(t, w.shows(t, "otto", "/cluster/dead"), dead)
		place, err := w.Store.Locate(t.Context(), dead+"-2")
		require.NoError(t, err)
		require.Equal(t, core.RequestQueued, place.State)
		require.Contains(t, w.shows(t, "otto", "/cluster/queues"), "1 request waits")
		w.does(t, "olga", "/cluster/requests/"+dead+"/cancel", form(), "/cluster/requests/"+dead)
		place, err = w.Store.Locate(t.Context(), dead+"-2")
		require.NoError(t, err)
		require.Empty(t, place.State)
		w.kill(t, waiting, "lost")
		w.does(t, "olga", "/cluster/requests/"+waiting+"/drop", form(), "/cluster/dead")
		left, err := w.Store.ListDead(t.Context(), 9)
		require.NoError(t, err)
		require.Empty(t, left)
	})
}

func TestParkedRequests(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Mini(t))
	ctx := t.Context()
	w.submit(t, waiting, "ann")
	w.AddVMs(t, 1)
	w.seq++
	c := w.Exchange(t, w.seq, 1).Claims[0]
	held, err := w.Store.Held(ctx, w.Runner, 0)
	require.NoError(t, err)
	parked := core.Settlement{Key: c.Key, Token: c.Token, Outcome: core.OutcomeRetry, To: core.Parked}
	require.NoError(t, w.Store.Revoke(ctx, w.Runner, held[0], parked, "its host is drained"))
	require.Contains(t, w.shows(t, "olga", "/cluster/parked"), waiting)
	w.does(t, "olga", "/cluster/requests/"+waiting+"/cancel", form("next", "/cluster/parked"), "/cluster/parked")
	require.Contains(t, w.shows(t, "olga", "/cluster/parked"), "None is parked.")
	row, err := w.store.Get(ctx, waiting)
	require.NoError(t, err)
	require.Equal(t, core.RequestCancelled, row.State)
}

func TestTasksAndSchedules(t *testing.T) {
	t.Parallel()
	coretest.Each(t, func(t *testing.T, b *coretest.Backend) {
		w := newFixture(t, b)
		ctx := t.Context()
		w.does(t, "olga", "/cluster/schedules", form("name", "nightly", "cron", "0 3 * * *", "kind", "purge", "keep", "48h"), "/cluster/schedules")
		all, err := w.store.ListSchedules(ctx)
		require.NoError(t, err)
		require.Len(t, all, 1)
		args, err := json.Marshal(core.PurgeArgs{Keep: 2 * day})
		require.NoError(t, err)
		require.JSONEq(t, string(args), string(all[0].Args))
		for name, wrong := range map[string]url.Values{
			"cron": form("name", "x", "cron", "<b>never</b>", "kind", "purge"), "kind": form("name", "x", "cron", "@daily", "kind", "delete_class"),
			"name": form("name", "X Y", "cron", "@daily", "kind", "purge"), "keep": form("name", "x", "cron", "@daily", "kind", "purge", "keep", "long"),
			"of": form("name", "x", "cron", "@daily", "kind", "gradebook", "of", "cs9"),
		} {
			got := w.ask(t, "root", "/cluster/schedules", wrong)
			require.Equal(t, http.StatusUnprocessableEntity, got.Code, name)
			require.NotContains(t, got.Body.String(), "<b>never")
		}
		require.Contains(t, w.shows(t, "olga", "/cluster/schedules"), "0 3 * * *")
		w.does(t, "olga", "/cluster/schedules/nightly/run", form(), "/cluster/schedules")
		tasks, err := w.store.ListTasks(ctx, core.TaskFilter{})
		require.NoError(t, err)
		require.Len(t, tasks, 1)
		html := w.shows(t, "otto", "/cluster/tasks?kind=purge&state=queued")
		require.Contains(t, html, tasks[0].ID)
		require.NotContains(t, w.shows(t, "otto", "/cluster/tasks?kind=archive"), tasks[0].ID)
		at := "/cluster/tasks/" + tasks[0].ID
		require.Equal(t, http.StatusForbidden, w.ask(t, "otto", at+"/cancel", form()).Code)
		w.does(t, "olga", at+"/cancel", form(), "/cluster/tasks")
		one, err := w.store.GetTask(ctx, tasks[0].ID)
		require.NoError(t, err)
		require.Equal(t, core.TaskCancelled, one.State)
		w.does(t, "olga", at+"/retry", form(), "/cluster/tasks")
		one, err = w.store.GetTask(ctx, tasks[0].ID)
		require.NoError(t, err)
		require.Equal(t, core.TaskQueued, one.State)
		w.does(t, "olga", "/cluster/schedules/nightly/remove", form(), "/cluster/schedules")
		all, err = w.store.ListSchedules(ctx)
		require.NoError(t, err)
		require.Empty(t, all)
	})
}

// Where a task is, and how far, is what Redis says.
func TestRunningTaskIsSeen(t *testing.T) {
	t.Parallel()
	coretest.Each(t, func(t *testing.T, b *coretest.Backend) {
		w := newFixture(t, b)
		ctx := t.Context()
		_, err := w.deps.Classes.SetSchedule(ctx, users["root"], core.Schedule{Name: "nightly", Cron: "@daily", Kind: core.KindPurge})
		require.NoError(t, err)
		task, err := w.deps.Classes.RunSchedule(ctx, users["root"], "nightly")
		require.NoError(t, err)
		owner := core.OwnerName(core.RoleTaskrunner, "h1", 0)
		epoch := w.Register(t, owner).Epoch
		got, err := w.Store.ExchangeTasks(ctx, core.TaskExchange{Owner: owner, Epoch: epoch, Seq: 1, Want: 1, TokenBase: 1, Beat: time.Minute})
		require.NoError(t, err)
		require.Len(t, got.Claims, 1)
		p := core.TaskProgress{Done: 3, Total: 7, Text: "<b>old work</b>"}
		require.NoError(t, w.Store.ProgressTask(ctx, owner, epoch, got.Claims[0].Task.Key(), got.Claims[0].Token, p, time.Minute))
		html := w.shows(t, "otto", "/cluster/tasks?state=running")
		for _, shown := range []string{task.ID, "running", "3 / 7", "&lt;b&gt;old work", "in the hands of " + owner} {
			require.Contains(t, html, shown)
		}
		require.NotContains(t, html, "/cancel")
		require.NotContains(t, w.shows(t, "otto", "/cluster/tasks?state=queued"), task.ID)
		require.Contains(t, w.shows(t, "olga", "/cluster/tasks"), task.ID+"/cancel")
		w.does(t, "olga", "/cluster/tasks/"+task.ID+"/cancel", form(), "/cluster/tasks")
		html = w.shows(t, "olga", "/cluster/tasks?state=cancelling")
		require.Contains(t, html, task.ID)
		require.NotContains(t, html, task.ID+"/cancel", "it is being stopped")
	})
}

func TestImages(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Mini(t))
	ctx := t.Context()
	require.Contains(t, w.shows(t, "otto", "/cluster/images"), "There are no images")
	image := func(name string, n int) core.Image {
		i := core.Image{Name: name, Digest: fmt.Sprintf("sha256:%064x", n), Size: 1, Files: 1, Bytes: 1, Source: "<b>x</b>", Created: int64(n)}
		require.NoError(t, w.store.PutImage(ctx, i))
		return i
	}
	image("python", 1)
	used, _ := image("python", 2), image("python", 3)
	for i := range 60 {
		image(fmt.Sprintf("z-%02d", i), i+10)
	}
	p := core.DefaultPool("pinned")
	p.Provider, p.Image = "lxc", used.Ref()
	require.NoError(t, w.Store.SetPool(ctx, p))
	w = w.anew(t)
	html := w.shows(t, "otto", "/cluster/images")
	require.Contains(t, html, "/cluster/pools/pinned")
	require.Contains(t, html, "&lt;b&gt;x")
	require.Equal(t, 50, strings.Count(html, `<th scope="row"`))
	require.NotContains(t, html, fmt.Sprintf("sha256:%064x", 1), "it is old, and no pool uses it")
	require.Contains(t, html, `href="/cluster/images?from=50"`)
	require.Equal(t, 12, strings.Count(w.shows(t, "otto", "/cluster/images?from=50"), `<th scope="row"`))
	require.Contains(t, w.shows(t, "otto", "/cluster/images?all=yes"), fmt.Sprintf("sha256:%064x", 1))
	for _, odd := range []string{"-1", "999999999999999999999", "x", "70"} {
		w.shows(t, "otto", "/cluster/images?from="+odd)
	}
}

func TestTheAuditLogAndEvents(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Mini(t))
	ctx := t.Context()
	require.Contains(t, w.shows(t, "otto", "/cluster/consistency"), "Every request and every VM is in exactly one place.")
	other := newFixture(t, coretest.Mini(t))
	require.NoError(t, other.b.Admin.HSet(ctx, other.Store.Namespace().Key("vms", "h1"), "vm-<b>x", "p1|1").Err())
	html := other.shows(t, "otto", "/cluster/consistency")
	require.Contains(t, html, "vm-&lt;b&gt;x")
	require.NotContains(t, html, "vm-<b>x")
	w.does(t, "olga", "/cluster/hosts/h1/drain", form(), "/cluster/hosts/h1")
	require.Contains(t, w.shows(t, "root", "/cluster/audit"), "drains host h1")
	require.Contains(t, w.shows(t, "root", "/cluster/audit?actor=olga&subject=h1"), "drains host h1")
	for _, other := range []string{"actor=otto", "class=cs101", "subject=h2"} {
		require.NotContains(t, w.shows(t, "root", "/cluster/audit?"+other), "drains host h1", other)
	}
	require.Contains(t, w.shows(t, "otto", "/cluster/events"), "drain")
}

// A large cluster makes no large page.
func TestPagesOfALargeClusterAreBounded(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Mini(t))
	ctx := t.Context()
	const hosts, pools = 200, 20
	key := w.Store.Namespace().Key
	pipe := w.b.Admin.Pipeline()
	for p := range pools {
		require.NoError(t, w.Store.SetPool(ctx, core.DefaultPool(fmt.Sprintf("pool-with-a-long-name-%d", p))))
	}
	for h := range hosts {
		name := fmt.Sprintf("host-with-a-long-name-%03d", h)
		pipe.ZAdd(ctx, key("hosts"), z(name))
		pipe.HSet(ctx, key("host", name), "state", "up", "cpu", 8, "memory", 1<<34)
		for p := range pools {
			pool := fmt.Sprintf("pool-with-a-long-name-%d", p)
			for v := range 3 {
				pipe.HSet(ctx, key("vms", name), fmt.Sprintf("vm-%d-%d-%d", h, p, v), pool+"|1")
			}
		}
	}
	_, err := pipe.Exec(ctx)
	require.NoError(t, err)
	const most = 80_000 // bytes, of a first page of 100 kB with style and script
	seen := 0
	for at := "/cluster"; at != ""; {
		html := w.shows(t, "otto", at)
		require.Less(t, len(html), most, at)
		seen += strings.Count(html, `<th scope="row" class="name"><a href="/cluster/hosts/`)
		_, next, _ := strings.Cut(html, `rel="next" href="`)
		at, _, _ = strings.Cut(next, `"`)
	}
	require.Equal(t, hosts+1, seen, "the pages together have all")
	for _, at := range []string{"/cluster/pools", "/cluster/hosts/host-with-a-long-name-000", "/cluster/queues", "/cluster/events"} {
		require.Less(t, len(w.shows(t, "olga", at)), most, at)
	}
}

// The pages of a request, a VM and a host show their changes of state, in pages, newest first, with gaps.
func TestStateChanges(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Mini(t))
	w.kill(t, dead, "its host was lost")
	var all []core.StateChange
	for i := range int64(60) {
		all = append(all, core.StateChange{Kind: core.EntityVM, Thing: "vm-9", At: 1000 + i, State: fmt.Sprintf("state-%02d", i), How: "odd"})
	}
	all = append(all,
		core.StateChange{Kind: core.EntityGap, Thing: core.GapThing, At: 1058, N: 1, Until: 1059, Why: "Redis was wiped"},
		core.StateChange{Kind: core.EntityHost, Thing: "h1", At: 1, State: "up", How: "up"},
		core.StateChange{Kind: core.EntityRequest, Thing: dead + "-1", At: 1, State: "claimed", How: "exchange", With: "vm-9", Why: "<b>"},
		core.StateChange{Kind: core.EntityVM, Thing: "vm-8", At: 1, State: "claimed", How: "exchange", With: dead + "-1"},
		core.StateChange{Kind: core.EntityVM, Thing: "vm-8", At: 2, State: "dirty", How: "retire", With: "a-b/c"},
	)
	require.NoError(t, w.store.AddStateChanges(t.Context(), all))
	first := w.shows(t, "otto", "/cluster/vms/vm-9")
	require.Contains(t, first, "state-59")
	require.Contains(t, first, "Redis was wiped")
	require.NotContains(t, first, "state-10")
	next := regexp.MustCompile(`rel="next" href="([^"#]*)`).FindStringSubmatch(first)
	require.Len(t, next, 2)
	last := w.shows(t, "otto", "/cluster/vms/vm-9"+next[1])
	require.Contains(t, last, "state-10")
	require.Contains(t, last, "state-00")
	require.NotContains(t, last, "state-59")
	require.Contains(t, w.shows(t, "otto", "/cluster/hosts/h1"), `<span class="badge">up</span></td>`)
	text := w.shows(t, "otto", "/cluster/requests/"+dead)
	require.Contains(t, text, `<a href="/cluster/vms/vm-9">`)
	require.Contains(t, text, "&lt;b&gt;")
	text = w.shows(t, "otto", "/cluster/vms/vm-8")
	require.Contains(t, text, `<a href="/cluster/requests/`+dead+`">`+dead+`-1</a>`)
	require.Contains(t, text, ">a-b/c</td>", "it is no request's key")
	require.Contains(t, w.shows(t, "otto", "/cluster/vms/nothing"), "Nothing is known of it")
	require.Equal(t, 422, w.ask(t, "otto", "/cluster/vms/vm-9?before=soon", nil).Code)
	require.Equal(t, 403, w.ask(t, "tess", "/cluster/vms/vm-9", nil).Code)
}
