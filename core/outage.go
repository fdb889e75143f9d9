package core

import "time"

// Outage is the time since which none of the hosts that are to make VMs of a pool can make one.
type Outage struct {
	Since int64  `json:"since_ms"` // by the server's clock
	Host  string `json:"host"`     // the first of these hosts by name
	Why   string `json:"why"`      // why its last try failed

	Lasted time.Duration `json:"-"` // until now, as RedisClock tells it
}

// Bounds of a pool's BrokenFor.
const (
	MinBrokenFor = time.Second
	MaxBrokenFor = 365 * 24 * time.Hour
)

// Fails reports whether the pool's waiting requests are to fail because of its outage.
func (p Pool) Fails(o Outage) bool { return p.BrokenFor > 0 && !p.Paused && o.Lasted >= p.BrokenFor }

// FailsAt is when the pool's waiting requests fail if its outage lasts, ms since 1970; 0: never.
func (p Pool) FailsAt(o Outage) int64 {
	if p.BrokenFor == 0 || p.Paused {
		return 0
	}
	return o.Since + p.BrokenFor.Milliseconds()
}
