package intake

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"drover/core"
	"drover/core/cluster/placement"
)

// capacities caches what the hosts have for VMs.
type capacities struct {
	reading sync.Mutex // held by the one caller that reads them again
	last    atomic.Pointer[hostSizes]
}

// hostSizes are capacities as they were read once.
type hostSizes struct {
	at time.Time
	of map[string]core.Size
}

// capacityAge is for how long capacities are cached: hosts come and change seldom.
const capacityAge = 5 * time.Second

// hosts returns what each registered host has for VMs; none if that is not known. A Redis that does not answer delays
// one caller only.
func (in *Intake) hosts(ctx context.Context) map[string]core.Size {
	c, now := &in.capacities, in.now()
	last := c.last.Load()
	if last == nil {
		last = &hostSizes{}
	}
	if age := now.Sub(last.at); age >= 0 && age < capacityAge || !c.reading.TryLock() {
		return last.of
	}
	defer c.reading.Unlock()
	next := &hostSizes{at: now, of: last.of}
	if of, err := in.Pools.Capacities(ctx); err == nil {
		next.of = of
	}
	c.last.Store(next)
	return next.of
}

// checkSize returns INVALID for a pool of which no registered host could ever hold a VM. If Redis does not answer, or no
// host is registered yet, the request may wait.
func (in *Intake) checkSize(ctx context.Context, p core.Pool) error {
	lacks, best := placement.TooLarge(p.Size(), in.hosts(ctx))
	if lacks == "" {
		return nil
	}
	return core.Errorf(core.CodeInvalid, p.Name, "no host can ever hold a VM of pool %s: %s", p.Name, sizes(lacks, p.Size(), best))
}

// sizes compares what a VM takes with the most that a host has.
func sizes(what string, vm core.Size, best int64) string {
	switch what {
	case "memory":
		return fmt.Sprintf("it takes %s of memory, and hosts have at most %s for VMs", core.SizeText(vm.Memory), core.SizeText(best))
	case "disk":
		return fmt.Sprintf("it takes %s of disk, and hosts have at most %s for VMs", core.SizeText(vm.Disk), core.SizeText(best))
	}
	return fmt.Sprintf("it takes %g processors, and hosts have at most %g for VMs", float64(vm.CPU)/1000, float64(best)/1000)
}
