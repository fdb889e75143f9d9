package staff_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cluster/lease"
)

// lease makes one of a class for tomorrow, and returns its id.
func (w *fixture) lease(name, class string) string {
	w.t.Helper()
	l, err := w.leases.Create(w.t.Context(), w.as("root"), lease.Draft{
		Name: name, Class: class, Start: start + day, End: start + day + day/2, Reservations: []lease.Want{{Pools: []string{pool}, Units: 2}},
	})
	require.NoError(w.t, err)
	return l.ID
}

// Who teaches a class sees its leases, and no others.
func TestLeasesOfAClass(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	id, other := w.lease("the exam", "cs101"), w.lease("secret contest", "cs202")
	const at = "/classes/cs101/leases"
	for _, who := range []string{"tess", "tina"} {
		html := w.shows(who, at)
		require.Contains(t, html, `href="/cluster/leases/`+id+`"`, who)
		require.Contains(t, html, "2 units of p1", who)
		require.NotContains(t, html, `class="calendar"`, "the calendar is of those who see the cluster")
		require.NotContains(t, html, "secret", who)
		require.NotContains(t, html, other, who)
		require.NotContains(t, html, "data-calendar", "it makes no leases")
	}
	require.Contains(t, w.shows("tess", "/classes/cs101/roster"), `href="`+at+`"`)
	html := w.shows("olga", at)
	require.NotContains(t, html, "/classes/cs101/roster", "no link to what is refused")
	require.Contains(t, html, "secret contest", "the calendar of operators has all")
	require.Equal(t, http.StatusForbidden, w.get("ann", at).Code)
	require.Equal(t, http.StatusNotFound, w.get("theo", at).Code)
	require.Equal(t, http.StatusUnprocessableEntity, w.get("tess", at+"?from=soon").Code)
}

// Pages of leases are as long as 50 of them.
func TestManyLeasesOfAClass(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	first := w.lease("the first", "cs101")
	for range 50 {
		l, err := w.leases.Get(t.Context(), w.as("root"), w.lease("another", "cs101"))
		require.NoError(t, err)
		l.State = core.LeaseTerminated
		w.leases.Put(l)
	}
	html := w.shows("tess", "/classes/cs101/leases?from=2001-01-01")
	require.NotContains(t, html, "the first")
	_, next, ok := strings.Cut(html, `rel="next" href="`)
	require.True(t, ok)
	next, _, _ = strings.Cut(next, `"`)
	require.Contains(t, w.shows("tess", "/classes/cs101/leases"+next+"&from=2001-01-01"), first)
}
