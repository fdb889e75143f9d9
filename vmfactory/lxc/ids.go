package lxc

import "drover/core"

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

// takePlace finds users of the host that no other VM of the run folder has.
func (p *Provider) takePlace(id string) (int, error) {
	n := p.cfg.IDs / idsEach
	place, ok := p.places.Take(id, n, p.tag)
	if !ok {
		return 0, core.Errorf(core.CodeFull, id, "all %d ranges of users that VMs may have on this host are taken", n)
	}
	return place, nil
}
