package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Users are the host's users from First on, Count of them.
type Users struct{ First, Count int }

// Users returns those that VMs have, of every provider and run folder, whose cgroups
// have a name that others takes. It is what tells vmfactories of one host which are
// free: they know nothing else of one another.
func (h Host) Users(others func(name string) bool) []Users {
	folders := h.Folders()
	if len(folders) == 0 {
		return nil // nobody has cgroups here
	}
	entries, _ := os.ReadDir(folders[0]) // one that cannot be read has no VMs
	own, _ := os.ReadFile("/proc/self/uid_map")
	var all []Users
	for _, e := range entries {
		if !e.IsDir() || !others(e.Name()) {
			continue
		}
		pids := Processes(filepath.Join(folders[0], e.Name()))
		if len(pids) == 0 {
			continue // it is gone, or not there yet
		}
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pids[0]) + "/uid_map")
		if err != nil || string(text) == string(own) { // gone, or not in a VM, as what watches one
			continue
		}
		for line := range strings.Lines(string(text)) {
			var inside int
			var u Users
			if n, _ := fmt.Sscan(line, &inside, &u.First, &u.Count); n == 3 {
				all = append(all, u)
			}
		}
	}
	return all
}
