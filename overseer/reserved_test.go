package overseer_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cluster/placement"
	"drover/core/coretest"
	"drover/overseer"
)

// What leases reserve has its VMs, whatever waits; on a host that is reserved whole nobody else gets any.
func TestRoundsKeepWhatLeasesReserve(t *testing.T) {
	t.Parallel()
	s := newScene(t, coretest.Real(t))
	s.only(nil)
	leased := core.DefaultPool("lease-x-a")
	leased.Of, leased.Lease, leased.Max, leased.Warm = "again", "x", 100, 0
	require.NoError(t, s.cluster.SetLeased(context.Background(), core.LeasedPoolSetting{Pool: leased, Submitters: []string{"ann"}}))
	for i := range 3 {
		name := fmt.Sprintf("h%d", i)
		s.hostWith(name, time.Hour, 0)
		factory := core.OwnerName(core.RoleVMFactory, name, 0)
		require.NoError(t, s.cluster.Note(context.Background(), factory, s.epoch[factory], name, core.HostNotes{Serves: []string{"again", "lease-x-a", "once"}, MaxVMs: 3}))
	}
	s.submit("again", 20)
	o, err := overseer.New(overseer.Config{Beat: time.Minute, Suspect: time.Minute, Down: time.Hour}, s.deps())
	require.NoError(t, err)
	round := func() {
		t.Helper()
		_, err := o.Place(context.Background())
		require.NoError(t, err)
	}
	round()
	require.Equal(t, map[string]string{"h0": "0/3", "h1": "0/3", "h2": "0/3"}, s.targets("again"))
	o.Reserve(placement.Reserved{
		Pools: map[string]map[string]int{"h1": {"lease-x-a": 2}, "h2": {"lease-x-a": 1}},
		Only:  map[string][]string{"h2": {"lease-x-a"}},
	})
	round()
	require.Equal(t, map[string]string{"h0": "0/3", "h1": "0/1", "h2": "0/0"}, s.targets("again"))
	require.Equal(t, map[string]string{"h0": "0/0", "h1": "2/2", "h2": "1/1"}, s.targets("lease-x-a"))
	o.Reserve(placement.Reserved{})
	round()
	require.Equal(t, map[string]string{"h0": "0/3", "h1": "0/3", "h2": "0/3"}, s.targets("again"))
}
