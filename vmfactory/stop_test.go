package vmfactory_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
	"drover/vmfactory/fake"
)

func TestStoppingWaitsForWhatIsInHand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 4, 8))
		r.prov.Break(fake.Prepare, fake.Fault{Slow: 5 * time.Second})
		p := r.start()
		settle(time.Second)
		begun := time.Now()
		p.end()
		require.InDelta(t, 4, time.Since(begun).Seconds(), 0.5)
		require.Len(t, r.cluster.cleanVMs("a"), 4)
		r.whole()
	})
}

func TestStoppingDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	for _, fault := range []fake.Fault{{Hang: true}, {Deaf: true}} {
		t.Run(fmt.Sprint(fault), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, pool("a", 4, 8))
				r.cfg.StopTimeout, r.cfg.CreateTimeout = 10*time.Second, time.Hour
				r.prov.Break(fake.Prepare, fault)
				p := r.start()
				settle(time.Second)
				begun := time.Now()
				p.end()
				require.InDelta(t, 10.5, time.Since(begun).Seconds(), 1)
				require.Len(t, r.cluster.dirty, 4, "what was not finished is dirty")
				require.Zero(t, r.cluster.held())
				require.True(t, r.cluster.fenced[factory], "it deregisters")
				require.Zero(t, coretest.SumMetric(t, p.metrics, "drover_vm_creation_failures_total"), "the stop is not the pool's fault")

				r.prov.Mend(fake.Prepare)
				r.prov.Free()
				synctest.Wait()
				p = r.start()
				settle(time.Minute)
				require.Len(t, r.cluster.cleanVMs("a"), 4)
				p.end()
				r.whole()
			})
		})
	}
}

func TestStoppingLeavesDestructionsToTheNext(t *testing.T) {
	t.Parallel()
	for _, fault := range []fake.Fault{{Hang: true}, {Err: core.Errorf(core.CodeUnavailable, "", "device busy")}} {
		t.Run(fmt.Sprint(fault), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, pool("a", 1, 8))
				r.cfg.StopTimeout, r.cfg.DestroyPause = 10*time.Second, time.Hour
				p := r.start()
				settle(time.Second)
				r.prov.Break(fake.Destroy, fault)
				vm := r.cluster.claim("a")
				r.cluster.finish(vm)
				settle(time.Second)
				p.end()
				require.Equal(t, []string{vm}, r.cluster.dirty)
				require.Zero(t, r.cluster.held())
				require.True(t, r.cluster.fenced[factory], "it deregisters")
				r.prov.Mend(fake.Destroy)
				p = r.start()
				settle(time.Second)
				p.end()
				require.NotContains(t, r.prov.VMs(), vm)
				r.whole()
			})
		})
	}
}
