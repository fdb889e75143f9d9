package core

import "slices"

// RoleOverseer is the role of the processes that heal a cluster. An overseer owns nothing, so it is no owner; its
// heartbeat is recorded as Overseen.
const RoleOverseer Role = "overseer"

// Overseen is the last heartbeat of an overseer, either a daemon or one that was run once.
type Overseen struct {
	At   int64 // ms since 1970; 0: there was none
	Late bool  // the next one is overdue
}

// Missing lists the roles that a cluster needs and that no living process has, in a fixed order.
func Missing(owners []OwnerInfo, overseen Overseen) []Role {
	missing := []Role{}
	for _, role := range []Role{RoleVMFactory, RoleTestrunner, RoleTaskrunner} {
		if !slices.ContainsFunc(owners, func(o OwnerInfo) bool { return o.Role == role && !o.Late }) {
			missing = append(missing, role)
		}
	}
	if overseen.Late {
		missing = append(missing, RoleOverseer)
	}
	return missing
}
