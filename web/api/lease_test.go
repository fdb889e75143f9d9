package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cluster/lease"
	"drover/web/services"
)

// leaseOf is a lease of the class cs101, also for ann.
func leaseOf(units int) object {
	return object{
		"name": "exam", "class": "cs101", "submitters": []string{"ann"}, "start_ms": start + day, "end_ms": start + day + 2*hour,
		"reservations": []object{{"pools": []string{pool}, "units": units}},
	}
}

func leaseBody(string) any { return leaseOf(1) }

// aLease is one of cs101, also for ann.
func aLease(w *fixture, _ int) string {
	l, err := w.leases.Create(w.t.Context(), w.as("root").Actor, lease.Draft{
		Name: "exam", Class: "cs101", Submitters: []string{"ann"}, Start: start + day, End: start + day + 2*hour,
		Reservations: []lease.Want{{Pools: []string{pool}, Units: 1}},
	})
	require.NoError(w.t, err)
	return l.ID
}

func TestLeaseFromItsPreviewToItsEnd(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var seen, made, now core.Lease
	w.call("olga", "POST", "/leases/preview", leaseOf(10)).is(http.StatusOK).into(&seen)
	require.Equal(t, 10, seen.Reservations[0].Held())
	none := w.call("olga", "GET", "/leases", nil).is(http.StatusOK)
	require.JSONEq(t, `{"items": [], "next": ""}`, none.Body.String(), "a preview makes none")
	at := w.call("olga", "POST", "/leases", leaseOf(10)).is(http.StatusCreated).into(&made).Header().Get("Location")
	require.Equal(t, "/api/v1/leases/"+made.ID, at)

	w.call("tess", "GET", "/leases/"+made.ID, nil).is(http.StatusOK).into(&now)
	require.Equal(t, made, now)
	w.call("olga", "PATCH", "/leases/"+made.ID, object{"name": "the exam", "grace_ns": 60_000_000_000}).is(http.StatusOK).into(&now)
	require.Equal(t, "the exam", now.Name)
	require.Equal(t, made.End, now.End, "what is not given stays")
	require.Len(t, now.Reservations, 1)

	now.State = core.LeaseActive
	w.leases.Put(now)
	p := w.call("olga", "PATCH", "/leases/"+made.ID, object{"start_ms": start}).problem(http.StatusConflict, core.CodeConflict)
	require.Contains(t, p.Detail, "has started")
	w.call("olga", "DELETE", "/leases/"+made.ID, nil).is(http.StatusNoContent)
	w.call("olga", "GET", "/leases/"+made.ID, nil).is(http.StatusOK).into(&now)
	require.Equal(t, core.LeaseDeleting, now.State)
}

// What is full is no reason to repeat a call.
func TestLeaseThatDoesNotFitIsAConflict(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for path, method := range map[string]string{"/leases": "POST", "/leases/preview": "POST", "/leases/" + aLease(w, 0): "PATCH"} {
		got := w.call("olga", method, path, leaseOf(100))
		p := got.problem(http.StatusConflict, core.CodeFull)
		require.Contains(t, p.Detail, "later start", path)
		require.Empty(t, got.Header().Get("Retry-After"), path)
	}
}

func TestLeasesAreListed(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ids := []string{aLease(w, 0), aLease(w, 0), aLease(w, 0)}
	l, err := w.leases.Get(t.Context(), w.as("root").Actor, ids[1])
	require.NoError(t, err)
	l.State, l.Class, l.Submitters = core.LeaseActive, "cs202", nil
	w.leases.Put(l)
	listed := func(who, query string) []string {
		var page struct{ Items []core.Lease }
		w.call(who, "GET", "/leases"+query, nil).is(http.StatusOK).into(&page)
		found := []string{}
		for _, l := range page.Items {
			found = append(found, l.ID)
		}
		return found
	}
	require.Equal(t, []string{ids[2], ids[1], ids[0]}, listed("otto", ""))
	require.Equal(t, []string{ids[1]}, listed("otto", "?class=cs202"))
	require.Equal(t, []string{ids[1]}, listed("otto", "?state=active,error"))
	require.Empty(t, listed("otto", "?to_ms=1"))
	require.Equal(t, []string{ids[2], ids[0]}, listed("tess", ""), "what she may see")
	require.Empty(t, listed("nick", ""))
	first := w.call("otto", "GET", "/leases?limit=2", nil).is(http.StatusOK)
	require.Contains(t, first.Header().Get("Link"), "cursor="+ids[1])
	require.Equal(t, []string{ids[0]}, listed("otto", "?limit=2&cursor="+ids[1]))
	w.call("otto", "GET", "/leases?state=odd", nil).problem(http.StatusUnprocessableEntity, core.CodeInvalid)
}

func TestCalendarOfTheAPI(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	id := aLease(w, 0)
	w.leases.Due = []lease.Due{{At: start + 2*day, Class: "cs101", Title: "hw1"}}
	var v lease.View
	w.call("otto", "GET", "/calendar?pool="+pool, nil).is(http.StatusOK).into(&v)
	require.Equal(t, 7*day, v.To-v.From)
	require.Equal(t, []lease.Block{{Lease: id, Name: "exam", From: start + day, To: start + day + 2*hour, Units: 1}}, v.Hosts[0].Blocks)
	require.Equal(t, []int{24, 23, 24}, []int{v.Free[0].Units, v.Free[1].Units, v.Free[2].Units})
	require.Len(t, v.Due, 1)
	require.Len(t, v.Leases, 1)
	w.call("tess", "GET", "/calendar", nil).problem(http.StatusForbidden, core.CodeForbidden)
	w.call("otto", "GET", "/calendar?from_ms=2&to_ms=1", nil).problem(http.StatusUnprocessableEntity, core.CodeInvalid)
}

func TestSiteWithoutLeases(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(p *services.Deps) { p.Leases = nil })
	for path, method := range map[string]string{"/leases": "GET", "/leases/x": "GET", "/calendar": "GET", "/leases/y": "DELETE"} {
		p := w.call("root", method, path, nil).problem(http.StatusServiceUnavailable, core.CodeUnavailable)
		require.NotContains(t, p.Detail, "fault")
	}
}
