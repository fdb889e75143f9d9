package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cluster/operate"
	"drover/web/api"
)

func TestCluster(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	w.call("olga", "POST", "/cluster/hosts/h1/drain", nil).is(http.StatusNoContent)
	w.call("olga", "POST", "/cluster/hosts/h1/drain", map[string]any{"deadline_ns": 1}).problem(http.StatusUnprocessableEntity, core.CodeInvalid)
	var v operate.Overview
	w.call("otto", "GET", "/cluster", nil).is(http.StatusOK).into(&v)
	require.True(t, v.Hosts[0].Drain)
	w.call("olga", "POST", "/cluster/hosts/h1/undrain", nil).is(http.StatusNoContent)
	var host operate.HostView
	w.call("otto", "GET", "/cluster/hosts/h1", nil).is(http.StatusOK).into(&host)
	require.False(t, host.Drain)
	require.Len(t, host.OwnersOf, 2)
	require.Nil(t, host.Load)
	require.Empty(t, host.Measured)
	sent := core.HostMeasure{Free: core.Size{CPU: 500, Memory: 7}, Pressure: &core.Pressure{IO: 3.5}}
	_, err := w.cluster.Store.Measured(ctx, w.cluster.Factory, w.cluster.Made, "h1", sent)
	require.NoError(t, err)
	w.call("olga", "POST", "/cluster/hosts/h1/undrain", nil).is(http.StatusNoContent) // what was read before is out of date
	w.call("otto", "GET", "/cluster/hosts/h1", nil).is(http.StatusOK).into(&host)
	w.call("otto", "GET", "/cluster", nil).is(http.StatusOK).into(&v)
	for _, m := range []*core.HostMeasure{host.Load, v.Hosts[0].Load} {
		require.NotNil(t, m)
		require.Equal(t, sent.Free, m.Free)
		require.Equal(t, sent.Pressure, m.Pressure)
		require.Equal(t, core.MeasureWithin.Milliseconds(), m.Within)
	}
	w.call("otto", "GET", "/cluster/hosts/h9", nil).problem(http.StatusNotFound, core.CodeNotFound)
	w.call("olga", "POST", "/cluster/hosts/h1/report", map[string]any{"event": "recovered"}).is(http.StatusAccepted)
	w.call("olga", "DELETE", "/cluster/hosts/h1", nil).problem(http.StatusConflict, core.CodeConflict)

	var p core.Pool
	w.call("olga", "PATCH", "/cluster/pools/p1", map[string]any{"paused": true}).is(http.StatusOK).into(&p)
	require.True(t, p.Paused)
	require.Equal(t, core.DefaultPool("p1").Warm, p.Warm, "what is not named stays")
	now, err := w.cluster.Store.GetPool(ctx, "p1")
	require.NoError(t, err)
	require.Equal(t, p, now)
	w.call("olga", "PATCH", "/cluster/pools/p1", map[string]any{"name": "p2"}).problem(http.StatusUnprocessableEntity, core.CodeInvalid)
	w.call("olga", "PATCH", "/cluster/pools/p1", map[string]any{"warm": -1}).problem(http.StatusUnprocessableEntity, core.CodeInvalid)
	var events api.Page[core.Event]
	w.call("otto", "GET", "/cluster/history", nil).is(http.StatusOK).into(&events)
	require.NotEmpty(t, events.Items)
	w.call("otto", "GET", "/cluster/history?after=x", nil).problem(http.StatusUnprocessableEntity, core.CodeInvalid)
}
