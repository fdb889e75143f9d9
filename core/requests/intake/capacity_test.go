package intake_test

import (
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"

	"github.com/stretchr/testify/require"
)

// A request that no registered host could ever hold is refused at once, with what it lacks.
func TestARequestThatNoHostCanHold(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	ctx := t.Context()
	register := func(host string, memory int64) {
		t.Helper()
		_, err := w.cluster.Store.Register(ctx, core.Registration{
			Owner: core.OwnerName(core.RoleVMFactory, host, 0), Host: host, Machine: "m-" + host, Beat: time.Minute, CPU: 2, MemoryBytes: memory, DiskBytes: 1 << 30,
		})
		require.NoError(t, err)
		w.pass(time.Minute)
	}
	refusal := func() string {
		t.Helper()
		_, _, err := w.in.Submit(ctx, spec())
		if err == nil {
			return ""
		}
		require.True(t, core.Is(err, core.CodeInvalid), err)
		return err.Error()
	}
	set := func(change func(p *core.Pool)) {
		t.Helper()
		p := core.DefaultPool(pool)
		change(&p)
		require.NoError(t, w.in.SetPool(ctx, p))
	}
	require.Empty(t, refusal(), "its host reported no size")
	register("h1", 1<<30)
	require.Empty(t, refusal())
	set(func(p *core.Pool) { p.Limits.Memory = 2 << 30 })
	require.Contains(t, refusal(), "no host can ever hold a VM of pool p1: it takes 2 GiB of memory, and hosts have at most 922 MiB for VMs")
	register("h2", 4<<30)
	require.Empty(t, refusal(), "one is enough")
	require.NoError(t, w.cluster.Store.Drain(ctx, "h2", true, 0))
	w.pass(time.Minute)
	require.Empty(t, refusal(), "it waits until the host is back")
	set(func(p *core.Pool) { p.Limits.CPU = 9000 })
	require.Contains(t, refusal(), "it takes 9 processors, and hosts have at most 8 for VMs")
	require.NoError(t, w.cluster.Store.SetHost(ctx, "h2", core.HostSettings{Overcommit: core.Overcommit{CPU: 5}}))
	w.pass(time.Minute)
	require.Empty(t, refusal())
}
