package lxc

import (
	"strings"

	"drover/core/agent/wire"
)

// Users inside a VM.
const (
	agentID = 0           // of the agent
	jobID   = wire.JobUID // of user code, user and group
	boxID   = wire.BoxUID // of the box, where a harness runs what it does not trust
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
	return p.traces.Places.Take(id, p.cfg.IDs/idsEach, p.tag, p.others())
}

// others are the places whose users VMs of other run folders have, or of other providers.
func (p *Provider) others() map[int]bool {
	held := map[int]bool{}
	own := payload(p.tag, "")
	for _, u := range p.cgroups.Users(func(name string) bool { return strings.HasPrefix(name, drover) && !strings.HasPrefix(name, own) }) {
		last := min(u.First+u.Count-1, p.cfg.FirstID+p.cfg.IDs-1)
		for place := floor(max(u.First, p.cfg.FirstID) - p.cfg.FirstID); place <= floor(last-p.cfg.FirstID); place++ {
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
