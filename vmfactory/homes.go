package vmfactory

import (
	"slices"
	"sync"

	"drover/core"
)

// homes records which provider has each VM, and with what settings it was made. If a VM is not recorded, every
// provider is asked.
type homes struct {
	mu sync.Mutex
	of map[string]home
}

// home is a VM's provider and settings.
type home struct {
	provider, pool string
	kind           core.VMKind
}

func (h *homes) set(vm string, at home) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.of == nil {
		h.of = make(map[string]home)
	}
	h.of[vm] = at
}

// get returns the VM's provider; "" if it is not known.
func (h *homes) get(vm string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.of[vm].provider
}

// outdated lists the VMs of a pool that were made with other settings than its present ones.
func (h *homes) outdated(p core.Pool) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var vms []string
	for vm, at := range h.of {
		if at.pool == p.Name && at.kind != p.Kind() {
			vms = append(vms, vm)
		}
	}
	slices.Sort(vms)
	return vms
}

// beyond is what the VMs take more than if those of the named pools had the size that is given, and how many are of
// other pools, such as one that was removed and whose VMs are still being destroyed. Those that were made with earlier
// settings may be larger.
func (h *homes) beyond(current map[string]core.Size) (vms int, more core.Size) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, at := range h.of {
		its := at.kind.Size()
		now, is := current[at.pool]
		if !is {
			vms++
		}
		more.CPU += max(0, its.CPU-now.CPU)
		more.Memory += max(0, its.Memory-now.Memory)
		more.Disk += max(0, its.Disk-now.Disk)
	}
	return vms, more
}

func (h *homes) forget(vm string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.of, vm)
}
