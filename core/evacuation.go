package core

import (
	"context"
	"time"
)

// Parked is the destination of a Settlement for a request that no living host can run now.
const Parked = "-"

// EvacuationState is how far the move of a request off a host has come.
type EvacuationState string

// The states of an evacuation.
const (
	EvacuationScheduled EvacuationState = "scheduled" // assigned to a host, which has not taken it yet
	EvacuationParked    EvacuationState = "parked"    // no living host could run it; the first host that can takes it
	EvacuationAccepted  EvacuationState = "accepted"  // in a slot of its new host
	EvacuationFinished  EvacuationState = "finished"  // it ended there
	EvacuationFailed    EvacuationState = "failed"    // it did not end there; it waits like any other request, or was withdrawn
)

// Evacuation is the move of one request off a host that was lost or drained, or on which the request met a fault.
type Evacuation struct {
	Key       string          `json:"key"`
	State     EvacuationState `json:"state"`
	From      string          `json:"from"`
	To        string          `json:"to,omitempty"` // "" while it is parked
	Scheduled int64           `json:"scheduled_ms"` // this time and the next two by the server's clock, ms since 1970
	Accepted  int64           `json:"accepted_ms,omitempty"`
	Ended     int64           `json:"ended_ms,omitempty"`
	Why       string          `json:"why,omitempty"`
}

// Room is a host's remaining capacity for work that is placed there: its capacity, less what all its VMs and the
// requests assigned to it take.
type Room struct {
	Host string
	Size
	Pools map[string]PoolRoom // those that it serves
}

// Holds returns how many VMs of the size the room takes, at most most.
func (r Room) Holds(vm Size, most int) int {
	n := int64(max(0, most))
	for _, f := range [][2]int64{{vm.CPU, r.CPU}, {vm.Memory, r.Memory}, {vm.Disk, r.Disk}} {
		if f[0] > 0 {
			n = min(n, max(0, f[1]/f[0]))
		}
	}
	return int(n)
}

// PoolRoom is a host's remaining capacity for one pool.
type PoolRoom struct {
	Idle int // clean VMs to which no request is assigned
	More int // VMs that the pool's max allows beyond the existing ones
}

// Evacuations moves the work of hosts that are lost or drained. Owners.Settle and
// Owners.Revoke assign and park requests; a host's claims take first what is assigned to
// it, then what is parked, then from the queues.
type Evacuations interface {
	// Rooms lists the remaining capacity of hosts that may be given work: those that are up, reconciled, not drained,
	// not reported failed and not on probation, each with its pools that are neither broken there nor paused. The
	// number is the version of this state. A Settle that assigns requests must name it, so that two processes that
	// place at once do not use the same room twice.
	Rooms(ctx context.Context) ([]Room, int64, error)
	// Evacuations lists moves: those in progress, then those that ended last, newest first.
	Evacuations(ctx context.Context) ([]Evacuation, error)
	// Unassign returns requests to their queues that have been assigned to a host for longer than olderThan and not
	// taken. Returns how many.
	Unassign(ctx context.Context, host string, olderThan time.Duration) (int, error)
}

// HostEvent is what a watchdog reports of a host.
type HostEvent string

// The events.
const (
	HostFailed    HostEvent = "failed"
	HostRecovered HostEvent = "recovered"
)

// HostReport is a watchdog's report on a host.
type HostReport struct {
	ID     string    `json:"id,omitempty"` // of its entry in the stream; a report older than the last one acted on changes nothing
	Host   string    `json:"host"`
	Event  HostEvent `json:"event,omitempty"`
	By     string    `json:"by"`
	Reason string    `json:"reason,omitempty"`
	At     int64     `json:"at_ms"` // the server's clock
}

// Reports carries watchdogs' reports on hosts to overseers.
type Reports interface {
	// AddHostReport stores a report; one of the overseers will act on it.
	AddHostReport(ctx context.Context, r HostReport) error
	// HostReports returns reports that no overseer has acted on yet, waiting up to wait for one. Each goes to one
	// consumer. If a consumer does not confirm a report within a minute, another consumer gets it.
	HostReports(ctx context.Context, consumer string, wait time.Duration) ([]HostReport, error)
	// HostReportDone confirms that reports were acted on.
	HostReportDone(ctx context.Context, ids ...string) error
}

// Probation is the state of a host that is trusted with one request at a time, a canary, until enough in a row went
// well.
type Probation struct {
	Reason string `json:"reason"`
	Until  int64  `json:"until_ms"` // until then the host gets nothing; the server's clock
	Good   int    `json:"good"`     // canaries in a row that went well
	Needed int    `json:"needed"`   // how many of these end the probation
	Times  int    `json:"times"`    // how often the host has been on probation, this time included
	Canary string `json:"canary,omitempty"`
}
