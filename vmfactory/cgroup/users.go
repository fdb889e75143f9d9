package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"drover/vmfactory/process"
)

// Users are Count of the host's users, beginning with First.
type Users struct{ First, Count int }

// Census knows the users of a host's VMs. It looks at each VM once: its users stay the same, and its cgroup's name is
// its own. All methods are safe for concurrent use.
type Census struct {
	Host Host

	mu    sync.Mutex
	known map[string][]Users // name of a cgroup → users of its VM
}

// Users returns the users of VMs, of every provider and run folder, whose cgroups have a name for which others
// returns true. The vmfactories of one host know of each other's users only by this.
func (c *Census) Users(others func(name string) bool) []Users {
	folders := c.Host.Folders()
	if len(folders) == 0 {
		return nil // nobody has cgroups here
	}
	entries, _ := os.ReadDir(folders[0]) // an unreadable one has no VMs
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []Users
	now := map[string][]Users{}
	for _, e := range entries {
		if !e.IsDir() || !others(e.Name()) {
			continue
		}
		its, ok := c.known[e.Name()]
		if !ok {
			its = usersOf(filepath.Join(folders[0], e.Name()))
		}
		if len(its) > 0 {
			now[e.Name()] = its
		}
		all = append(all, its...)
	}
	c.known = now
	return all
}

// usersOf returns the users of the VM whose cgroup that is; none if it is gone, or has none yet.
func usersOf(folder string) []Users {
	pids := Processes(folder)
	if len(pids) == 0 {
		return nil
	}
	own, _ := process.ReadFile("/proc/self/uid_map")
	text, err := process.ReadFile("/proc/" + strconv.Itoa(pids[0]) + "/uid_map")
	if err != nil || string(text) == string(own) { // gone, or not in a VM, such as a monitor
		return nil
	}
	var all []Users
	for line := range strings.Lines(string(text)) {
		var inside int
		var u Users
		if n, _ := fmt.Sscan(line, &inside, &u.First, &u.Count); n == 3 {
			all = append(all, u)
		}
	}
	return all
}
