package main

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"drover/cmd/drover/wiring"
	"drover/core"
	"drover/core/cluster/lease"
	"drover/core/coretest/tier"
)

// A pool is set before any component was started, when not even the data folder is there.
func TestPoolIsSetBeforeAnyComponent(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t)
	h.env = append(h.env, "DROVER_DATA="+filepath.Join(h.cfg.Data, "not", "there"))
	_, errs, code := h.run("pool", "set", "--memory", "1GiB", "default")
	require.Zero(t, code, errs)
	factory := h.start("vmfactory")
	await(t, "the vmfactory works", func() bool { return strings.Contains(factory.said(), "registered") })
	out, _, _ := h.run("pool", "show", "default")
	require.Contains(t, out, "1 GiB", "a pool that is there stays as it is")

	// Now the cluster knows its store: another folder is a mistake.
	h.env = append(h.env, "DROVER_DATA="+filepath.Join(h.cfg.Data, "other"))
	_, errs, code = h.run("pool", "set", "second")
	require.NotZero(t, code)
	require.Contains(t, errs, filepath.Join(h.cfg.Data, "other"))
	require.NoDirExists(t, filepath.Join(h.cfg.Data, "other"))
	h.env = h.env[:len(h.env)-1]
	factory.stop()
	_, errs, code = h.run("vmfactory", "--destroy-vms")
	require.Zero(t, code, errs)
}

// The first vmfactory makes the pool that most need, where it can be made.
func TestTheFirstVMFactoryMakesAPool(t *testing.T) {
	t.Parallel()
	quiet := logrus.New()
	quiet.SetOutput(io.Discard)
	for _, test := range []struct {
		settings []string
		made     bool
	}{
		{[]string{"DROVER_PROVIDER=local"}, true},
		{[]string{"DROVER_PROVIDER=lxc"}, false},
		{[]string{"DROVER_POOLS=grading"}, false},
		{[]string{"DROVER_POOLS=default,grading"}, true},
	} {
		h := newStillCluster(t, test.settings...)
		require.NoError(t, h.cluster.FirstPool(context.Background(), quiet))
		pools, err := h.cluster.Store.Pools(context.Background())
		require.NoError(t, err)
		require.Equal(t, test.made, len(pools) == 1, test.settings)
		h.pool()
		require.NoError(t, h.cluster.FirstPool(context.Background(), quiet))
		p, err := h.cluster.Redis.GetPool(context.Background(), "default")
		require.NoError(t, err)
		require.Equal(t, 4, p.Warm, "a pool that is there stays as it is")
	}
}

// A cluster of one process makes no pool either whose VMs it could not make, and says what to do.
func TestUpMakesNoPoolThatItsProviderCannotMake(t *testing.T) {
	t.Parallel()
	for provider, made := range map[string]bool{"local": true, "lxc": false, "lxc,local": true} {
		h := newStillCluster(t, "DROVER_PROVIDER="+provider)
		e := &wiring.EmbeddedCluster{Cluster: h.cluster}
		for range 2 { // a start, and another one
			require.NoError(t, e.Refill(t.Context()))
			pools, err := h.cluster.Store.Pools(t.Context())
			require.NoError(t, err)
			require.Equal(t, made, len(pools) == 1, "%s: %v", provider, pools)
			var said strings.Builder
			require.NoError(t, e.Announce(t.Context(), &said))
			require.Equal(t, !made, strings.Contains(said.String(), "drover pool set default --provider lxc --image NAME"), said.String())
		}
	}
}

// A lease's pool says what it is: nobody knows its id by heart.
func TestALeasesPoolIsNamed(t *testing.T) {
	t.Parallel()
	h := newStillCluster(t)
	h.pool()
	base, err := h.cluster.Redis.GetPool(context.Background(), "default")
	require.NoError(t, err)
	l := core.Lease{ID: "01kb5x", Name: "exam", Reservations: []core.Reservation{{Pools: []string{"default"}, Units: 1}}}
	own := lease.LeasedPool(&l, 0, base, lease.Opened)
	require.NoError(t, h.cluster.Redis.SetLeased(context.Background(), core.LeasedPoolSetting{Pool: own, Open: true}))
	require.Regexp(t, own.Name+` .*default for lease exam, 01kb5x`, h.said("pool", "list"))
	shown := h.said("pool", "show", own.Name)
	require.Regexp(t, `reserves VMs of pool +default`, shown)
	require.Regexp(t, `for lease +exam, 01kb5x`, shown)
	require.NotContains(t, h.said("pool", "show", "default"), "lease")
	pool := parsed[core.Pool](t, h.said("pool", "show", "--json", own.Name))
	require.Equal(t, []string{"default", "01kb5x", "exam"}, []string{pool.Of, pool.Lease, pool.LeaseName})
	for _, p := range parsed[[]core.Pool](t, h.said("pool", "list", "--json")) {
		require.Equal(t, p.Name == own.Name, p.LeaseName == "exam", p.Name)
	}
}
