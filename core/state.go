package core

// RequestState is where a request is. Before its end the state is its place in
// Redis; the terminal ones stand in the result store.
type RequestState string

// The request states.
const (
	RequestQueued     RequestState = "queued"     // in its submitter's queue, assigned to a host, or pausing before its next try
	RequestParked     RequestState = "parked"     // nothing alive can run it now
	RequestClaimed    RequestState = "claimed"    // in a slot, being staged
	RequestRunning    RequestState = "running"    // in a slot, its command runs
	RequestCancelling RequestState = "cancelling" // in a slot, somebody asked to stop it
	RequestCompleted  RequestState = "completed"  // ran to its end, whatever its exit code or score
	RequestFailed     RequestState = "failed"     // ended badly; blame and reason say why
	RequestCancelled  RequestState = "cancelled"  // ended on somebody's wish
	RequestTimedOut   RequestState = "timed_out"  // over its time limit, running or waiting
	RequestDead       RequestState = "dead"       // attempts used up by platform faults
)

// Terminal reports whether no transition but a rerun leaves s.
func (s RequestState) Terminal() bool {
	switch s {
	case RequestCompleted, RequestFailed, RequestCancelled, RequestTimedOut, RequestDead:
		return true
	case RequestQueued, RequestParked, RequestClaimed, RequestRunning, RequestCancelling:
		return false
	}
	return false
}

// VMState is where a VM is.
type VMState string

// The VM states.
const (
	VMCreating    VMState = "creating"    // in its vmfactory's slot
	VMClean       VMState = "clean"       // ready and unused, on its host's clean list
	VMClaimed     VMState = "claimed"     // in an owner's slot with its request
	VMDirty       VMState = "dirty"       // used or broken, on its host's dirty list
	VMDestroying  VMState = "destroying"  // in its vmfactory's slot
	VMQuarantined VMState = "quarantined" // could not be destroyed; waits for a person
	VMLost        VMState = "lost"        // its host is lost; reality is on the host
	VMGone        VMState = "gone"        // destroyed
)

// HostState is how alive a host is. Drain is a flag beside it.
type HostState string

// The host states.
const (
	HostUp      HostState = "up"
	HostSuspect HostState = "suspect" // late; gets no new work
	HostDown    HostState = "down"    // fenced
)
