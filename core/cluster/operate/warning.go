package operate

import (
	"slices"

	"drover/core"
)

// WarningKind is why work of the whole cluster or of a pool does not go on.
type WarningKind string

// What an operator has to see at once.
const (
	WarnMissing WarningKind = "missing" // no living process has the Role
	WarnAway    WarningKind = "away"    // requests of the Pool wait, and all hosts that make its VMs are Away
	WarnUnmade  WarningKind = "unmade"  // requests of the Pool wait, and no host makes its VMs
	WarnBroken  WarningKind = "broken"  // none of the Pool's hosts can make a VM of it: an Outage
	WarnPaused  WarningKind = "paused"  // the Pool is paused; requests may wait
)

// Warning is one reason why work waits, or why nothing is healed. The surface that shows it adds the remedy.
type Warning struct {
	Kind    WarningKind  `json:"kind"`
	Role    core.Role    `json:"role,omitempty"`
	Pool    string       `json:"pool,omitempty"`
	Waiting int          `json:"waiting,omitempty"` // requests of the pool
	Away    []Away       `json:"away,omitempty"`    // at most MaxAway
	More    int          `json:"more,omitempty"`    // hosts that are away beyond those
	Outage  *core.Outage `json:"outage,omitempty"`
	FailsAt int64        `json:"fails_at_ms,omitempty"` // when the pool's waiting requests fail if the outage lasts; 0: never
}

// Away is a host that takes no work.
type Away struct {
	Host  string         `json:"host"`
	State core.HostState `json:"state"`
	Drain bool           `json:"drain,omitempty"`
}

// MaxAway bounds the hosts that a warning names.
const MaxAway = 3

// warn lists the reasons why work waits: what is missing first, then by pool.
func (v *Overview) warn() {
	v.Warnings = []Warning{}
	for _, role := range v.Missing {
		v.Warnings = append(v.Warnings, Warning{Kind: WarnMissing, Role: role})
	}
	// A host that has just started reports in a moment what it makes.
	ready := slices.ContainsFunc(v.Hosts, func(h core.HostInfo) bool { return h.Ready && len(h.Serves) > 0 })
	for i := range v.Totals {
		t := &v.Totals[i]
		w := Warning{Pool: t.Pool, Waiting: t.Waiting}
		able, away := core.Pool{Name: t.Pool}.HostsFor(v.Hosts)
		switch {
		case t.Outage != nil:
			w.Kind, w.Outage, w.FailsAt = WarnBroken, t.Outage, t.FailsAt
		case t.Paused:
			w.Kind = WarnPaused
		case t.Waiting == 0:
			continue
		case len(able) > 0 || !ready:
			continue
		case len(away) > 0:
			w.Kind, w.More = WarnAway, max(0, len(away)-MaxAway)
			for _, h := range away[:len(away)-w.More] {
				w.Away = append(w.Away, Away{h.Name, h.State, h.Drain})
			}
		default:
			w.Kind = WarnUnmade
		}
		v.Warnings = append(v.Warnings, w)
	}
}
