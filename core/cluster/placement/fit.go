package placement

import (
	"cmp"
	"maps"
	"slices"

	"drover/core"
)

// TooLarge returns the figure of which a VM takes more than any of the hosts has for VMs, and how much the best of them
// has: "memory", "disk", "processors". It returns "" if one of the hosts could hold the VM, or there are none. If each
// host lacks something else, it is what the first host by name lacks.
func TooLarge(vm core.Size, capacities map[string]core.Size) (lacks string, best int64) {
	of := func(s core.Size, what string) int64 {
		return map[string]int64{"memory": s.Memory, "disk": s.Disk, "processors": s.CPU}[what]
	}
	for _, host := range slices.Sorted(maps.Keys(capacities)) {
		what := capacities[host].Lacks(vm)
		if what == "" {
			return "", 0
		}
		if lacks == "" {
			lacks = what
		}
		if lacks == what {
			best = max(best, of(capacities[host], what))
		}
	}
	return lacks, best
}

// compare orders sizes by memory, of which there is least, then by processors and disk.
func compare(a, b core.Size) int {
	return cmp.Or(cmp.Compare(a.Memory, b.Memory), cmp.Compare(a.CPU, b.CPU), cmp.Compare(a.Disk, b.Disk))
}
