package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Users are Count of the host's users, beginning with First.
type Users struct{ First, Count int }

// Users returns the users of VMs, of every provider and run folder, whose cgroups have a name for which others
// returns true. The vmfactories of one host know of each other's users only by this.
func (h Host) Users(others func(name string) bool) []Users {
	folders := h.Folders()
	if len(folders) == 0 {
		return nil // nobody has cgroups here
	}
	entries, _ := os.ReadDir(folders[0]) // an unreadable one has no VMs
	own, _ := os.ReadFile("/proc/self/uid_map")
	var all []Users
	for _, e := range entries {
		if !e.IsDir() || !others(e.Name()) {
			continue
		}
		pids := Processes(filepath.Join(folders[0], e.Name()))
		if len(pids) == 0 {
			continue // it is gone, or has no users yet
		}
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pids[0]) + "/uid_map")
		if err != nil || string(text) == string(own) { // gone, or not in a VM, such as a monitor
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
