package core

// RequestState is where a request is. Until its end, the state follows from its place in Redis; terminal states are
// in the result store.
type RequestState string

// The request states.
const (
	RequestQueued     RequestState = "queued"     // in its submitter's queue, assigned to a host, or pausing before its next try
	RequestParked     RequestState = "parked"     // no living host can run it now
	RequestClaimed    RequestState = "claimed"    // in a slot, its files are being staged
	RequestRunning    RequestState = "running"    // in a slot, its command is running
	RequestCancelling RequestState = "cancelling" // in a slot, and cancelled
	RequestCompleted  RequestState = "completed"  // ran to its end, whatever its exit code or score
	RequestFailed     RequestState = "failed"     // ended badly; blame and reason say why
	RequestCancelled  RequestState = "cancelled"  // cancelled by somebody
	RequestTimedOut   RequestState = "timed_out"  // exceeded its time limit, running or waiting
	RequestDead       RequestState = "dead"       // attempts used up by platform faults
)

// Terminal reports whether only a rerun leaves s.
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
	VMLost        VMState = "lost"        // its host is lost; the VM may still exist there
	VMGone        VMState = "gone"        // destroyed
)

// HostState is how alive a host is. Being drained is a separate flag.
type HostState string

// The host states.
const (
	HostUp      HostState = "up"
	HostSuspect HostState = "suspect" // late; it gets no new work
	HostDown    HostState = "down"    // fenced
)
