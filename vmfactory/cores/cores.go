// Package cores finds the processor cores of a host and gives VMs of quiet pools cores of their own.
//
// A core is what shares nothing with another one: of the threads of one core, programs of two VMs would slow each other
// down. A VM gets one thread of each of its cores, so its own two programs do not either. The first core is given to no
// VM: it is left for everything else on the host.
package cores

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Least is how many cores a host must have to give any away: with two, all VMs would share one.
const Least = 3

// Host is the cores of a host. The zero value has none.
type Host struct {
	mu    sync.Mutex
	first []int // the processor, by its number, that stands for each core
}

// Find reads the cores from a folder such as /sys, of those that this process may run on.
func Find(sys string) *Host {
	var may unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		return &Host{}
	}
	return find(sys, may.IsSet)
}

// Of returns a host whose cores these processors stand for.
func Of(processors ...int) *Host { return &Host{first: processors} }

func find(sys string, may func(int) bool) *Host {
	h := &Host{}
	var seen []string
	const most = 1024 // processors of a CPUSet
	for cpu := range most {
		if !may(cpu) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(sys, "devices/system/cpu", "cpu"+strconv.Itoa(cpu), "topology/thread_siblings_list"))
		if err != nil {
			return &Host{} // which threads share a core is not known
		}
		if threads := strings.TrimSpace(string(text)); !slices.Contains(seen, threads) {
			seen, h.first = append(seen, threads), append(h.first, cpu)
		}
	}
	return h
}

// Number returns how many cores there are; 0 if that is not known.
func (h *Host) Number() int { return len(h.first) }

// Spare reports whether VMs can have cores of their own here.
func (h *Host) Spare() bool { return len(h.first) >= Least }

// Take chooses n cores for a VM, those that the fewest VMs have, and keeps them by keep before anybody else chooses.
// Taken returns the processors of all VMs. A host that has no cores to spare gives none.
func (h *Host) Take(n int, taken func() ([]int, error), keep func(processors []int) error) error {
	if !h.Spare() {
		return keep(nil)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	used, err := taken()
	if err != nil {
		return err
	}
	uses := map[int]int{}
	for _, cpu := range used {
		uses[cpu]++
	}
	free := slices.Clone(h.first[1:])
	slices.SortStableFunc(free, func(a, b int) int { return uses[a] - uses[b] })
	free = free[:min(max(n, 1), len(free))]
	slices.Sort(free)
	return keep(free)
}
