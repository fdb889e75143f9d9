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
)

// A pool is set before any component was started, when not even the data folder is there.
func TestPoolIsSetBeforeAnyComponent(t *testing.T) {
	t.Parallel()
	h := newTestCluster(t)
	h.env = append(h.env, "DROVER_DATA="+filepath.Join(h.cfg.Data, "not", "there"))
	_, errs, code := h.run("pool", "set", "--memory", "1GiB", "default")
	require.Zero(t, code, errs)
	factory := h.start("vmfactory")
	await(t, "the vmfactory works", func() bool { return strings.Contains(factory.said(), "registered") })
	out, _, _ := h.run("pool", "show", "default")
	require.Contains(t, out, "1GiB", "a pool that is there stays as it is")

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
		h := newTestCluster(t, test.settings...)
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
		h := newTestCluster(t, "DROVER_PROVIDER="+provider)
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
