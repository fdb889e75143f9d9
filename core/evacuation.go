package core

import (
	"context"
	"time"
)

// Parked is where a Settlement sends a request that nothing living can run now.
const Parked = "-"

// EvacuationState is how far the move of one request off a host is.
type EvacuationState string

// The states of an evacuation.
const (
	EvacuationScheduled EvacuationState = "scheduled" // assigned to a host, which has not taken it yet
	EvacuationParked    EvacuationState = "parked"    // nothing living could run it; the first that can takes it
	EvacuationAccepted  EvacuationState = "accepted"  // in a slot on the host it went to
	EvacuationFinished  EvacuationState = "finished"  // it ended there
	EvacuationFailed    EvacuationState = "failed"    // it did not end there; it waits as any other, or was withdrawn
)

// Evacuation is the move of one request off a host that was lost, is drained, or
// had a fault with it.
type Evacuation struct {
	Key       string          `json:"key"`
	State     EvacuationState `json:"state"`
	From      string          `json:"from"`
	To        string          `json:"to,omitempty"` // "" while it is parked
	Scheduled int64           `json:"scheduled_ms"` // this and the next two by the server's clock
	Accepted  int64           `json:"accepted_ms,omitempty"`
	Ended     int64           `json:"ended_ms,omitempty"`
	Why       string          `json:"why,omitempty"`
}

// Room is what a host has left for work that is placed there: what it has, less
// what all its VMs and what is assigned to it take. A figure that the host never
// told is as good as endless.
type Room struct {
	Host   string
	CPU    int64 // thousandths of a processor
	Memory int64 // bytes
	Disk   int64 // bytes
	Pools  map[string]PoolRoom
}

// PoolRoom is what a host has left of one pool.
type PoolRoom struct {
	Idle int // clean VMs that nothing is assigned to
	More int // VMs that the pool's max allows beyond those there are
}

// Evacuations moves the work of hosts that are lost or drained. Owners.Settle and
// Owners.Revoke assign and park requests; a host's claims take first what is assigned to
// it, then what is parked, then from the queues.
type Evacuations interface {
	// Rooms lists what the hosts have left that may be given work: those that are
	// up, not drained, not reported failed, not on probation and reconciled, each
	// with its pools that are neither broken there nor paused. The number names
	// this state of things: a Settle that assigns must name it, so that two who place
	// at once do not give away one room twice.
	Rooms(ctx context.Context) ([]Room, int64, error)
	// Evacuations lists moves, those under way first, then the last that ended,
	// newest first.
	Evacuations(ctx context.Context) ([]Evacuation, error)
	// Unassign puts back into its queue what has been assigned to a host for longer than
	// the time and not taken. Returns how many.
	Unassign(ctx context.Context, host string, olderThan time.Duration) (int, error)
}

// HostEvent is what a watchdog says of a host.
type HostEvent string

// The events.
const (
	HostFailed    HostEvent = "failed"
	HostRecovered HostEvent = "recovered"
)

// HostReport is a watchdog's word on a host.
type HostReport struct {
	ID     string    `json:"id,omitempty"` // of its entry in the stream: one that is older than what was acted on changes nothing
	Host   string    `json:"host"`
	Event  HostEvent `json:"event,omitempty"`
	By     string    `json:"by"`
	Reason string    `json:"reason,omitempty"`
	At     int64     `json:"at_ms"` // the server's clock
}

// Reports carries what watchdogs say of hosts to whoever acts on it.
type Reports interface {
	// AddHostReport files a report; some overseer will act on it.
	AddHostReport(ctx context.Context, r HostReport) error
	// HostReports returns reports that nobody has acted on, waiting up to wait for
	// one. Each goes to one consumer; what a consumer leaves undone for a minute
	// goes to another.
	HostReports(ctx context.Context, consumer string, wait time.Duration) ([]HostReport, error)
	// HostReportDone says that reports were acted on.
	HostReportDone(ctx context.Context, ids ...string) error
}

// Probation is a host's that is trusted with one request at a time, a canary,
// until enough in a row went well.
type Probation struct {
	Reason string `json:"reason"`
	Until  int64  `json:"until_ms"` // before, it gets nothing; the server's clock
	Good   int    `json:"good"`     // canaries in a row that went well
	Needed int    `json:"needed"`   // so many end it
	Times  int    `json:"times"`    // so often it has been on probation, this one included
	Canary string `json:"canary,omitempty"`
}
