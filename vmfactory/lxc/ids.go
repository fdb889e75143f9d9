package lxc

import (
	"strings"

	"drover/core/agent/wire"
)

// Users inside a VM.
const (
	agentID = 0           // of the agent
	jobID   = wire.JobUID // of user code, both user and group
	boxID   = wire.BoxUID // of the box, in which a harness runs untrusted programs
)

// Each container has its own range of the host's users and groups.
const (
	idsEach = 1 << 16
	lastID  = 1<<32 - 2 // a user id has 32 bits, and the last one stands for no user
)

// Containers take users from the upper part of a range that neither people nor other programs' containers use (see
// systemd's list of user ranges); the lower part is provider local's.
const (
	DefaultFirstID = 2_013_265_920
	DefaultIDs     = 2_048*idsEach - 131_072
)

// firstID returns the host's user that is root in the VM at a place.
func (p *Provider) firstID(place int) int { return p.cfg.FirstID + place*idsEach }

// takePlace returns a place whose users no other VM has.
func (p *Provider) takePlace(id string) (int, error) {
	return p.traces.Places.Take(id, p.cfg.IDs/idsEach, p.tag, p.others())
}

// others returns the places whose users belong to VMs of other run folders or providers.
func (p *Provider) others() map[int]bool {
	held := map[int]bool{}
	own := payload(p.tag, "")
	for _, u := range p.census.Users(func(name string) bool { return strings.HasPrefix(name, drover) && !strings.HasPrefix(name, own) }) {
		last := min(u.First+u.Count-1, p.cfg.FirstID+p.cfg.IDs-1)
		for place := floor(max(u.First, p.cfg.FirstID) - p.cfg.FirstID); place <= floor(last-p.cfg.FirstID); place++ {
			held[place] = true
		}
	}
	return held
}

// floor returns the place of the user with this offset from the first.
func floor(id int) int {
	if id < 0 {
		return -1
	}
	return id / idsEach
}
