package attack

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"drover/vmfactory/cgroup"
)

// cgroupsNote says in the table what its columns with cgroups are tried on.
const cgroupsNote = "*lxc* and *local, as root* are tried on the version of cgroups that has the machine's controllers. A controller is of one version at a time: where version 1 has " +
	"memory, pids and cpu, the `cgroup.controllers` of version 2 lacks them, and nothing can be tried on version 2 until the machine is started otherwise (`systemd.unified_cgroup_hierarchy=1`, `cgroup_no_v1=all`). " +
	"Each run of the attacks logs which version it was and why."

// cgroups says which version of cgroups the attacks meet on this machine, and why not the other.
func cgroups(root string) string {
	var lacking []string
	for _, place := range []string{root, filepath.Join(root, "unified")} {
		text, err := os.ReadFile(filepath.Join(place, "cgroup.controllers"))
		if err != nil {
			continue
		}
		offers := strings.Fields(string(text))
		missing := slices.DeleteFunc(cgroup.Controllers(), func(name string) bool { return slices.Contains(offers, name) })
		if len(missing) == 0 {
			return "cgroups of version 2"
		}
		lacking = append(lacking, fmt.Sprintf("%s offers only %q, without %s", place, offers, strings.Join(missing, ", ")))
	}
	for _, name := range cgroup.Controllers() {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			return "not all of the cgroups that are needed"
		}
	}
	if len(lacking) == 0 {
		lacking = []string{"version 2 is not mounted"}
	}
	return "cgroups of version 1, and not 2: " + strings.Join(lacking, "; ")
}
