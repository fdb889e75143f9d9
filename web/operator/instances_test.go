package operator_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
)

func TestMachines(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Mini(t))
	const at = "/cluster/instances"
	require.Contains(t, w.shows(t, "otto", at), "There are no host groups.")
	_, err := w.store.PutHostGroup(t.Context(), core.HostGroup{Name: "spot", Provider: core.CloudProviders()[0], Min: 1, Max: 4, Labels: "zone=a"})
	require.NoError(t, err)
	i := core.Instance{ID: "spot-000001", Group: "spot", State: core.InstanceValid, Created: 5, Since: 5, Why: "pool <p1> waits"}
	i.Revision, err = w.store.PutInstance(t.Context(), i)
	require.NoError(t, err)
	html := w.shows(t, "otto", at)
	for _, has := range []string{"1 to 4", "zone=a", "spot-000001", "decided", "pool &lt;p1&gt; waits"} {
		require.Contains(t, html, has)
	}
	require.NotContains(t, html, "<form method=\"post\" action=\"/cluster/instances", "who only looks has no button")

	require.Equal(t, http.StatusForbidden, w.ask(t, "otto", "/cluster/host-groups/spot/pause", form("paused", "yes")).Code)
	w.does(t, "olga", "/cluster/host-groups/spot/pause", form("paused", "yes"), at)
	groups, err := w.store.HostGroups(t.Context())
	require.NoError(t, err)
	require.True(t, groups[0].Paused)
	w.does(t, "olga", "/cluster/host-groups/spot/pause", form("paused", "no"), at)
	require.Equal(t, http.StatusNotFound, w.ask(t, "olga", "/cluster/host-groups/none/pause", form("paused", "no")).Code)

	require.Equal(t, http.StatusForbidden, w.ask(t, "otto", at+"/spot-000001/terminate", form()).Code)
	w.does(t, "olga", at+"/spot-000001/terminate", form(), at)
	i, err = w.store.GetInstance(t.Context(), i.ID)
	require.NoError(t, err)
	require.Equal(t, core.InstanceTerminated, i.State, "nobody was asked for it yet")
	require.Equal(t, http.StatusConflict, w.ask(t, "olga", at+"/spot-000001/terminate", form()).Code)
	require.Equal(t, http.StatusNotFound, w.ask(t, "olga", at+"/none/terminate", form()).Code)
}
