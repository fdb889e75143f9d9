package lxc

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"drover/core"
	"drover/vmfactory/cgroup"
)

// Users inside a VM.
const (
	agentID = 0    // of the agent
	jobID   = 1000 // of user code, user and group
)

// Each container has a range of the host's users and groups that no other has.
const (
	idsEach = 1 << 16
	lastID  = 1<<32 - 2 // a user id has 32 bits, and the last is nobody's
)

// Containers take users from the upper part of what neither people nor other
// programs' containers use (see systemd's list of user ranges); the lower part
// is provider local's.
const (
	DefaultFirstID = 2_013_265_920
	DefaultIDs     = 2_048*idsEach - 131_072
)

// firstID is the host's user that is root in the VM at a place.
func (p *Provider) firstID(place int) int { return p.cfg.FirstID + place*idsEach }

// takePlace finds users of the host that no other VM has.
func (p *Provider) takePlace(id string) (int, error) {
	n := p.cfg.IDs / idsEach
	others := p.others()
	place, ok := p.places.Take(id, n, p.tag, func(place int) bool { return others[place] })
	if !ok {
		return 0, core.Errorf(core.CodeFull, id, "all %d ranges of users that VMs may have on this host are taken", n)
	}
	return place, nil
}

// others are the places whose users VMs of other run folders have.
func (p *Provider) others() map[int]bool {
	held := map[int]bool{}
	folders := p.cgroups.Folders()
	if len(folders) == 0 {
		return held // nothing can be made here
	}
	at := folders[0]
	entries, _ := os.ReadDir(at) // one that cannot be read has no containers
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), payloadPrefix) || strings.HasPrefix(e.Name(), payload(p.tag, "")) {
			continue
		}
		pids := cgroup.Processes(filepath.Join(at, e.Name()))
		if len(pids) == 0 {
			continue // it is gone
		}
		first, count, err := users(pids[0])
		if err != nil {
			continue // so is its process
		}
		for place := floor(first - p.cfg.FirstID); place <= floor(first+count-1-p.cfg.FirstID); place++ {
			held[place] = true
		}
	}
	return held
}

// floor is the place of a user, by how many there are before him.
func floor(id int) int {
	if id < 0 {
		return -1
	}
	return id / idsEach
}

// users are those of the host that a process's namespace has, as far as they are
// in one piece; count is 0 if it has none.
func users(pid int) (first, count int, err error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/uid_map")
	if err != nil {
		return 0, 0, err
	}
	var inside int
	_, err = fmt.Sscan(string(text), &inside, &first, &count)
	return first, count, err
}
