package operator_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cluster/lease"
	"drover/core/coretest"
	"drover/core/coretest/tier"
	"drover/web/browsertest"
	"drover/web/leasetest"
)

// tomorrow is a day on which leases of tests are.
func tomorrow() time.Time { return time.Now().UTC().Truncate(day).Add(day) }

// typed is the form of a lease of tomorrow.
func typedLease(pairs ...string) url.Values {
	at := tomorrow()
	v := form("name", "exam", "class", "cs101", "start", at.Add(14*time.Hour).Format("2006-01-02T15:04"), "end", at.Add(16*time.Hour).Format("2006-01-02T15:04"),
		"r0-pool", "p1", "r0-units", "10", "submitters", "rosa\r\nann")
	for i := 0; i < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	return v
}

// reserve makes a lease as olga.
func (w *fixture) reserve(t *testing.T, d lease.Draft) core.Lease {
	t.Helper()
	l, err := w.leases.Create(t.Context(), users["olga"], d)
	require.NoError(t, err)
	return l
}

func (w *fixture) theLease(t *testing.T) core.Lease {
	t.Helper()
	all, err := w.leases.List(t.Context(), users["olga"], core.LeaseFilter{})
	require.NoError(t, err)
	require.Len(t, all, 1)
	return all[0]
}

func TestLeaseByItsPages(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Mini(t))
	const at = "/cluster/leases"
	require.Contains(t, w.shows(t, "olga", at), "There are no leases here.")
	got := w.ask(t, "olga", at+"/preview", typedLease())
	require.Equal(t, http.StatusOK, got.Code)
	require.Contains(t, got.Body.String(), "h1 (8), h2 (2)")
	require.Contains(t, got.Body.String(), `value="exam"`, "what was typed stays")
	all, err := w.leases.List(t.Context(), users["olga"], core.LeaseFilter{})
	require.NoError(t, err)
	require.Empty(t, all, "a preview makes none")

	w.does(t, "olga", at, typedLease("grace", "5m", "before_end", "30m", "r1-pool", "p1", "r1-min", "1", "r1-more", "c"), at+"/01m00000000000000000000001")
	l := w.theLease(t)
	start := tomorrow().Add(14 * time.Hour).UnixMilli()
	require.Equal(t, []int64{start, start + 2*time.Hour.Milliseconds()}, []int64{l.Start, l.End}, "in UTC")
	require.Equal(t, []string{"rosa", "ann"}, l.Submitters)
	require.Equal(t, []time.Duration{5 * time.Minute, 30 * time.Minute}, []time.Duration{l.Grace, l.BeforeEnd})
	require.Equal(t, []string{"p1", "c"}, l.Reservations[1].Pools)
	require.Equal(t, 1, l.Reservations[1].MinHosts)

	page := w.shows(t, "olga", at+"/"+l.ID)
	for _, has := range []string{"10 units of p1", "1 whole host for p1, c", "class cs101, rosa, ann", "before the end", "created"} {
		require.Contains(t, page, has)
	}
	later := "from=" + tomorrow().Format("2006-01-02") + "&span=day"
	require.Contains(t, w.shows(t, "otto", at+"?"+later), `aria-label="exam · 8 units, pending, `)
	require.Contains(t, w.shows(t, "otto", at+"?of=p1&"+later), "Free of p1")

	was := l
	w.does(t, "olga", at+"/"+l.ID, typedLease("name", "the exam", "grace", "5m", "before_end", "30m", "r1-pool", "p1", "r1-min", "1", "r1-more", "c"), at+"/"+l.ID)
	was.Name = "the exam"
	require.Equal(t, was, w.theLease(t), "nothing else changed")
	got = w.ask(t, "olga", at+"/"+l.ID+"/delete", form())
	require.Equal(t, http.StatusUnprocessableEntity, got.Code, "it asks first")
	w.does(t, "olga", at+"/"+l.ID+"/delete", form("sure", "yes"), at)
	require.Equal(t, http.StatusNotFound, w.ask(t, "olga", at+"/"+l.ID, nil).Code)
}

// What is wrong, or full, is said on the form, with what was typed.
func TestLeaseWithFaults(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Mini(t))
	const at = "/cluster/leases"
	for text, wrong := range map[string]url.Values{
		"try a later start":           typedLease("r0-units", "99"),
		"is no date with a time":      typedLease("end", "<i>soon"),
		"is no length of time":        typedLease("grace", "<i>long"),
		"is no number":                typedLease("r0-units", "<i>3"),
		"leave one of the numbers":    typedLease("r0-min", "2"),
		"a lease reserves something":  typedLease("r0-units", ""),
		"a lease ends after it start": typedLease("end", typedLease().Get("start")),
	} {
		for _, path := range []string{at, at + "/preview"} {
			got := w.ask(t, "olga", path, wrong)
			require.Equal(t, http.StatusUnprocessableEntity, got.Code, text)
			html := got.Body.String()
			require.Contains(t, html, text)
			require.Contains(t, html, `role="alert"`, text)
			require.Contains(t, html, `value="exam"`, text)
			require.NotContains(t, html, "<i>", text)
		}
	}
	l := w.reserve(t, lease.Draft{Name: "a", End: tomorrow().UnixMilli(), Reservations: []lease.Want{{Pools: []string{"p1"}, Units: 2}}})
	l.State = core.LeaseActive
	w.leases.Put(l)
	got := w.ask(t, "olga", at+"/"+l.ID, typedLease())
	require.Equal(t, http.StatusUnprocessableEntity, got.Code)
	require.Contains(t, got.Body.String(), "its start cannot be changed")
	require.Contains(t, got.Body.String(), `value="exam"`)
	require.Equal(t, l, w.theLease(t))
	l.State = core.LeaseStarting
	w.leases.Put(l)
	got = w.ask(t, "olga", at+"/"+l.ID+"/delete", form("sure", "yes"))
	require.Contains(t, got.Body.String(), "try again in a moment")
	require.Equal(t, http.StatusUnprocessableEntity, w.ask(t, "olga", at+"?from=never", nil).Code)
}

// Who teaches a class sees its leases, and changes none.
func TestLeasesOfOthers(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Mini(t))
	l := w.reserve(t, lease.Draft{Name: "exam", Class: "cs101", End: tomorrow().UnixMilli(), Reservations: []lease.Want{{Pools: []string{"p1"}, Units: 2}}})
	at := "/cluster/leases/" + l.ID
	for _, who := range []string{"tess", "otto"} {
		html := mainOf(t, w.shows(t, who, at))
		require.NotContains(t, html, `method="post"`, who)
		require.Equal(t, http.StatusForbidden, w.ask(t, who, at, form("name", "x")).Code, who)
		require.Equal(t, http.StatusForbidden, w.ask(t, who, at+"/delete", form("sure", "yes")).Code, who)
		require.Equal(t, http.StatusForbidden, w.ask(t, who, "/cluster/leases", typedLease()).Code, who)
	}
	require.Contains(t, w.shows(t, "tess", at), `href="/classes/cs101/leases"`)
	require.NotContains(t, w.shows(t, "tess", at), "/cluster/hosts/", "no link to what is refused")
	require.Equal(t, http.StatusNotFound, w.ask(t, "ann", at, nil).Code)
	require.Equal(t, http.StatusForbidden, w.ask(t, "tess", "/cluster/leases", nil).Code)
}

func TestPagesWithoutLeases(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Mini(t))
	w.deps.Leases = nil
	w = w.anew(t)
	require.Equal(t, http.StatusServiceUnavailable, w.ask(t, "olga", "/cluster/leases", nil).Code)
	require.Equal(t, http.StatusServiceUnavailable, w.ask(t, "olga", "/cluster/leases/x", nil).Code)
	require.Equal(t, http.StatusServiceUnavailable, w.ask(t, "olga", "/cluster/leases", typedLease()).Code)
}

// degraded puts leases of all looks into the calendar, one of which lost a host, and returns that one's id.
func (w *fixture) degraded(t *testing.T) string {
	t.Helper()
	at := tomorrow().Add(-day)
	hours := func(n int) int64 { return at.Add(time.Duration(n) * time.Hour).UnixMilli() }
	units := func(n int) []lease.Want { return []lease.Want{{Pools: []string{"p1"}, Units: n}} }
	w.leases.Hosts = append(w.leases.Hosts, leasetest.Host{Name: "a-host-with-a-rather-long-name.example.org", Units: 8, Out: "it is down: its last heartbeat came 3m ago"})
	w.leases.Due = []lease.Due{{At: hours(30), Class: "cs101", Title: "cs101: Homework 3: trees", Link: "/classes/cs101/assignments/hw3"}, {At: hours(31), Class: "cs202", Title: "cs202: Essay"}}
	over := w.reserve(t, lease.Draft{Name: "yesterday's exam", Start: hours(-20), End: hours(-10), Reservations: units(3)})
	over.State = core.LeaseTerminated
	w.leases.Put(over)
	active := w.reserve(t, lease.Draft{Name: "programming contest with a rather long name that nobody can read in full", Class: "cs101", Start: hours(-3), End: hours(30), BeforeEnd: time.Hour, Grace: time.Minute, Reservations: units(4), Submitters: []string{"rosa"}})
	active.State = core.LeaseActive
	w.leases.Put(active)
	w.reserve(t, lease.Draft{Name: "exam", Class: "cs101", Start: hours(26), End: hours(40), Reservations: append(units(10), lease.Want{Pools: []string{"p1"}, Units: 2, Affinity: core.AffinityTrue, Requires: "zone=a"})})
	w.reserve(t, lease.Draft{Name: "training", Start: hours(50), End: hours(80), Reservations: []lease.Want{{Pools: []string{"p1", "gpu"}, MinHosts: 1, MaxHosts: 2}}})
	bad := w.reserve(t, lease.Draft{Name: "thesis", Start: hours(-1), End: hours(60), Reservations: units(5)})
	bad.State = core.LeaseActive
	r := &bad.Reservations[0]
	r.State, r.MissingResources, r.ResourcesChanged = core.ReservationActive, true, true
	r.Allocations = append([]core.Allocation{{Host: "gone", Units: 1, State: core.AllocationLost, Since: hours(-1), Until: hours(0), Why: "host gone is down, and no other has room"}}, r.Allocations...)
	r.Allocations[1].Units--
	bad.Log = append(bad.Log, core.LeaseNote{Number: 2, At: hours(0), Event: core.EventLeaseDegraded, Text: "1 unit of p1 lost host gone"})
	w.leases.Put(bad)
	return bad.ID
}

// A flag is explained in a sentence, with what led to it.
func TestDegradedLeaseExplainsItself(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Mini(t))
	id := w.degraded(t)
	html := w.shows(t, "otto", "/cluster/leases/"+id)
	for _, has := range []string{"only 4 of 5 have a host", "a part moved, or came back", "host gone is down, and no other has room", "1 unit of p1 lost host gone", "degraded"} {
		require.Contains(t, html, has)
	}
	html = w.shows(t, "otto", "/cluster/leases")
	require.Contains(t, html, "(has 4)")
	require.Contains(t, html, "out: it is down")
	require.Contains(t, html, "Homework 3: trees")
}

// A person drags a time over the calendar, says what for, looks, and has the lease.
func TestLeaseIsDraggedInABrowser(t *testing.T) {
	tier.OnlyInAll(t, tier.Browser)
	t.Parallel()
	w := newFixture(t, coretest.Mini(t))
	tab := browsertest.Start(t).Tab(t)
	tab.Screen(1200, 900, false)
	tab.Goto(w.served(t, "olga") + "/cluster/leases?span=week&from=" + tomorrow().Format("2006-01-02"))
	tab.Await("Drag over the calendar")
	tab.Drag("tbody tr:nth-child(2) svg.lane", 2.0/7+0.001, 3.0/7-0.001)
	require.Equal(t, 1, int(tab.Number(`document.activeElement.name === "name" ? 1 : 0`)))
	tab.Fill("#f-name", "exam")
	tab.Fill("#f-r0-units", "12")
	tab.Press("Preview")
	tab.Await("It would get:")
	tab.Await("h1 (8), h2 (4)")
	tab.Press("Create")
	tab.Await("Lease exam was created.")
	l := w.theLease(t)
	require.Equal(t, tomorrow().Add(2*day).UnixMilli(), l.Start)
	require.Equal(t, tomorrow().Add(3*day).UnixMilli(), l.End)
}

// The page of a lease's pool says what it is of.
func TestALeasesPoolIsNamed(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Mini(t))
	l := core.Lease{ID: "01kb5x", Name: "<b>exam", Reservations: []core.Reservation{{Pools: []string{"p1"}, Units: 1}}}
	own := lease.LeasedPool(&l, 0, core.DefaultPool("p1"), lease.Opened)
	require.NoError(t, w.Store.SetLeased(t.Context(), core.LeasedPoolSetting{Pool: own, Open: true}))
	for _, at := range []string{"/cluster/pools", "/cluster/pools/" + own.Name} {
		require.Contains(t, w.shows(t, "otto", at), `reserves VMs of pool p1 for lease <a href="/cluster/leases/01kb5x">&lt;b&gt;exam</a>`, at)
	}
	require.NotContains(t, w.shows(t, "otto", "/cluster/pools/p1"), "for lease")
}
