package vmfactory_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"drover/vmfactory/fake"
)

// A slow provider never makes the factory look dead.
func TestTheHeartbeatDependsOnNothingButRedis(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 8, 8))
		for _, s := range []fake.Step{fake.Ready, fake.List, fake.Create, fake.Destroy, fake.Check} {
			r.prov.Break(s, fake.Fault{Deaf: true})
		}
		p := r.start()
		settle(time.Minute)
		require.GreaterOrEqual(t, r.cluster.count("beat"), 60)
		r.prov.Free()
		p.end()
		synctest.Wait()
	})
}

func TestRedisAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 2, 8))
		r.cluster.faults(func(string) (error, error) { return errDown, nil })
		p := r.start()
		settle(time.Minute)
		require.Zero(t, r.prov.Created())
		r.cluster.faults(nil)
		settle(10 * time.Second)
		before := r.prov.VMs()
		require.Len(t, before, 2)

		calls := r.cluster.count("load")
		r.cluster.faults(func(string) (error, error) { return errDown, nil })
		settle(10 * time.Minute)
		require.Equal(t, before, r.prov.VMs(), "VMs stay")
		require.Less(t, r.cluster.count("load")-calls, 300, "it does not spin")
		r.cluster.faults(nil)
		r.cluster.finish(r.cluster.claim("a"))
		settle(10 * time.Second)
		require.Len(t, r.cluster.cleanVMs("a"), 2)

		r.cluster.faults(func(string) (error, error) { return errDown, nil })
		p.end() // it can be stopped all the same
		r.cluster.faults(nil)
		r.whole()
	})
}

// Every call's reply is lost once: what the call did must be found again.
func TestLostReplies(t *testing.T) {
	t.Parallel()
	for _, op := range []string{
		"register", "beat", "held", "settle", "load", "create", "ready", "destroy", "gone", "retire", "reconcile", "list", "clean", "wait",
	} {
		for nth := 1; nth <= 3; nth++ {
			t.Run(fmt.Sprint(op, " ", nth), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { loseReply(t, op, nth) })
			})
		}
	}
}

func loseReply(t *testing.T, op string, nth int) {
	r := newRig(t, pool("a", 3, 6))
	n := 0
	r.cluster.faults(func(o string) (error, error) {
		if o != op {
			return nil, nil
		}
		if n++; n == nth {
			return nil, errDown
		}
		return nil, nil
	})
	p := r.start()
	for range 4 {
		settle(5 * time.Second)
		if vm := r.cluster.claim("a"); vm != "" {
			r.cluster.finish(vm)
		}
		r.cluster.look(func(h *cluster) { h.waiting["a"] = 6 - h.waiting["a"] })
	}
	settle(2 * time.Minute)
	require.Len(t, r.cluster.cleanVMs("a"), 3)
	r.whole()
	p.end()
	r.whole()
}
