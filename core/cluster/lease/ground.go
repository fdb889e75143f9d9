package lease

import (
	"time"

	"drover/core"
)

// Host is what reservations depend on of a host.
type Host struct {
	Name   string
	Size   core.Size         // what it has for all its VMs
	MaxVMs int               // 0: no limit but its size
	Serves []string          // pools whose VMs it makes
	Broken []string          // pools of these whose VMs cannot be made there now
	Labels map[string]string // what requirements ask for
	Out    string            // why it holds no reservations now; "": it does
}

// Ground is what leases are decided by.
type Ground struct {
	Now      int64 // ms since 1970
	Hosts    []Host
	Pools    []core.Pool
	Leases   []core.Lease  // all open ones
	Cleaning time.Duration // time between two leases of the same room
}
