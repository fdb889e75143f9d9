package core

import "slices"

// RoleOverseer is what heals a cluster. An overseer owns nothing, so it is no owner: it gives
// signs of its life, see Overseen.
const RoleOverseer Role = "overseer"

// Overseen is the last sign of an overseer, a daemon's or that of one that ran once.
type Overseen struct {
	At   int64 // ms since 1970; 0: there was none
	Late bool  // the next one is overdue
}

// Missing lists the roles that a cluster needs and that nobody does now, in a fixed order.
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
