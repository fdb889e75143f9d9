package core

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Role is what an owner does.
type Role string

// The roles that hold work.
const (
	RoleTestrunner Role = "testrunner"
	RoleVMFactory  Role = "vmfactory"
	RoleTaskrunner Role = "taskrunner"
)

// OwnerName makes the stable name of an owner, "<role>@<host>#<n>". A restarted process finds its predecessor's work
// under it.
func OwnerName(role Role, host string, n int) string {
	return fmt.Sprintf("%s@%s#%d", role, host, n)
}

// ParseOwner splits an owner's name into role and host.
func ParseOwner(name string) (role Role, host string, err error) {
	r, rest, ok := strings.Cut(name, "@")
	host, _, ok2 := strings.Cut(rest, "#")
	if !ok || !ok2 || !ValidName(host) {
		return "", "", Errorf(CodeInvalid, name, "%q is not an owner's name of the form <role>@<host>#<n>", name)
	}
	return Role(r), host, nil
}

// Registration is what an owner reports when it starts.
type Registration struct {
	Owner       string
	Host        string
	Machine     string // id of the machine, which tells two machines with one host name apart
	PID         int
	Version     string        // of the program
	Beat        time.Duration // time until its next heartbeat is due
	CPU         int           // of the host
	MemoryBytes int64         // of the host
	DiskBytes   int64         // of the host, for its VMs; 0: not known
	Former      int64         // the epoch of this very process that Redis does not accept any more; 0: it begins
	Clears      bool          // it only ends what is on its host, which stays down if it is; Register returns NOTFOUND if Redis knows no such host
	Process     string        // identifies the process uniquely, for all time; "": not known, and no process may declare it dead
}

// Registered is the answer to a Registration: the owner's epoch, and the slots of its predecessor.
type Registered struct {
	Epoch       int64
	Left        []Held
	Incarnation string // of Redis
}

// Held is one slot: a piece of work that an owner holds.
type Held struct {
	Key       string // request key, VM id (vmfactory) or task id (taskrunner)
	VM        string // of a request
	Token     string
	Phase     string        // claimed, running; creating, destroying
	Since     int64         // when the phase began or was last reported, ms, the server's clock
	Limit     time.Duration // time after Since by which the phase ends or is reported again; 0: the phase's default
	Attempts  int           // platform faults so far
	Deaths    []Death       // deaths that the request or task met, oldest first
	Cancelled string        // who cancelled it; "" if nobody did
	Pool      string
	Change    int    // of the request, as Spec.Change
	Slot      string // as Redis has it, for Revoke
}

// Death is a death that a request or task met: of an owner that held it, or of its VM.
type Death struct {
	Of     string // the owner's name, or the VM's
	Counts bool   // no other work was held there, or none that had met a death before: this work may be the cause

	Unclean bool // of a VM: it survived, but what the work left in it could not be removed
}

// VM reports whether a VM died.
func (d Death) VM() bool { return !strings.Contains(d.Of, "@") }

// Beat is the answer to a heartbeat.
type Beat struct {
	Slots     int               // slots that Redis has for the owner
	Cancelled map[string]string // cancelled keys in its slots → who cancelled them
	Draining  bool              // its host takes no new work
	Ready     bool              // its host's vmfactory has reconciled with this incarnation of Redis

	Incarnation string // of Redis
}

// OwnerInfo is one owner as operators see it.
type OwnerInfo struct {
	Name     string `json:"name"`
	Role     Role   `json:"role"`
	Host     string `json:"host"`
	PID      int    `json:"pid"`
	Version  string `json:"version"`
	Epoch    int64  `json:"epoch"`
	Since    int64  `json:"since_ms"`
	Deadline int64  `json:"deadline_ms"` // when its next heartbeat is due; 0 once fenced
	Late     bool   `json:"late"`
	Slots    int    `json:"slots"`
}

// Whole is the size that the owner's host reports.
func (r *Registration) Whole() Size {
	return Size{CPU: int64(r.CPU) * 1000, Memory: r.MemoryBytes, Disk: r.DiskBytes}
}

// HostInfo is one host as operators see it.
type HostInfo struct {
	Name     string         `json:"name"`
	State    HostState      `json:"state"`
	Drain    bool           `json:"drain"`
	Epoch    int64          `json:"epoch"`
	Deadline int64          `json:"deadline_ms"`
	CPU      int            `json:"cpu"`
	Memory   int64          `json:"memory_bytes"`
	Disk     int64          `json:"disk_bytes,omitempty"`
	Ready    bool           `json:"ready"`    // its vmfactory has reconciled with this incarnation of Redis
	Settings HostSettings   `json:"settings"` // what operators say of it
	Serves   []string       `json:"serves"`   // pools whose VMs it makes, in order
	MaxVMs   int            `json:"max_vms"`  // most VMs of all pools; 0: no limit
	VMs      map[string]int `json:"vms"`      // state → count
	Owners   []string       `json:"owners"`

	Load *HostMeasure `json:"load,omitempty"` // what its vmfactory measured; nil: nothing yet, or too long ago

	VMsOf     map[string]map[VMState]int `json:"vms_of"`             // pool → state → count
	Targets   Targets                    `json:"targets,omitempty"`  // VMs that it should have, as overseers decided last; nil: they did not
	Takes     map[string]int64           `json:"takes_ms,omitempty"` // pool → how long making one of its VMs took of late
	Providers []ProviderNote             `json:"providers,omitempty"`
	Broken    map[string]string          `json:"broken,omitempty"`   // pool → why its VMs cannot be made there
	Fetching  map[string]string          `json:"fetching,omitempty"` // pool → what is being fetched for it; until then none of its VMs can be made there

	BrokenSince map[string]int64 `json:"-"` // pool of Broken → since when, ms

	DrainUntil  int64         `json:"drain_until_ms,omitempty"` // until then its claimed work may continue; 0: without limit
	DrainWithin time.Duration `json:"-"`                        // how long that was when the drain began
	Wished      bool          `json:"-"`                        // the result store's wishes for the host are known to this incarnation of Redis

	Failed     *HostReport `json:"failed,omitempty"`     // the report that it failed; nil: there is none
	Probation  *Probation  `json:"probation,omitempty"`  // nil: not on probation
	Probations int         `json:"probations,omitempty"` // how often it has been on probation
}

// Whole is the size that the host reported.
func (h *HostInfo) Whole() Size {
	return Size{CPU: int64(h.CPU) * 1000, Memory: h.Memory, Disk: h.Disk}
}

// Capacity is what the host has for VMs, including those that exist.
func (h *HostInfo) Capacity() Size { return h.Settings.Capacity(h.Whole()) }

// Owners keeps track of living owners and empties the slots of dead ones.
type Owners interface {
	// Register starts a new epoch of an owner and fences the one before.
	// Returns BUSY if another machine holds the host's name, VERSION if Redis is of another schema, FENCED if the former
	// epoch that it names was ended, rather than forgotten with the rest of Redis' memory.
	Register(ctx context.Context, r Registration) (Registered, error)
	// Beat records an owner's heartbeat. Returns FENCED if its epoch is over.
	Beat(ctx context.Context, owner string, epoch int64, next time.Duration) (Beat, error)
	// Held lists an owner's slots with what settling them needs. Returns FENCED if the epoch is over; 0 stands for
	// the current epoch. A process that settles for another must name the epoch in which it settles: otherwise it
	// would decide about the work of a living successor.
	Held(ctx context.Context, owner string, epoch int64) ([]Held, error)
	// Settle empties slots of a fenced or restarted owner. Items whose token is not the slot's any more are skipped.
	// Work that met a death is not assigned to a host: it runs apart from other such work. If any item is assigned to
	// a host, placed is the number that Rooms returned, or the last Settle of this round. Returns CONFLICT, with that
	// chunk of items unmoved, if another process has placed work since, or if a chosen host may not be given any:
	// call Rooms again.
	Settle(ctx context.Context, owner string, epoch int64, items []Settlement, placed int64) (Settled, error)
	// Revoke ends one slot of an owner, living or not, whose record still equals h: its work is stuck, or must go
	// elsewhere. A retry counts as a fault, but not as a death; the VM becomes dirty and the owner is notified. An
	// empty slot is a success. Returns CONFLICT if the record differs, or if the host assigned to may not be given
	// work.
	Revoke(ctx context.Context, owner string, h Held, s Settlement, why string) error
	// Deregister ends an owner that holds nothing. Returns CONFLICT if it holds something.
	Deregister(ctx context.Context, owner string, epoch int64) error
	// Late lists owners whose heartbeat is late by the given time or more, and fenced owners that still hold slots.
	// Lateness counts from the latest of the owner's last heartbeat, Redis' own start, the moment when most owners
	// became late at once, and the first heartbeat after a silence of all: in those cases the fault is Redis', not
	// the owners'.
	Late(ctx context.Context, by time.Duration) ([]string, error)
	// Fence ends the epoch of an owner that is late by the given time and returns the epoch under which its slots are
	// settled. Fencing a fenced owner returns the same epoch. Returns CONFLICT if its heartbeat arrived in the
	// meantime.
	Fence(ctx context.Context, owner string, by time.Duration) (int64, error)
	// DeclareDead ends the given epoch of an owner whose process is known to be gone, late or not. It returns the
	// epoch under which its slots are settled, or 0 if they were settled and the owner is forgotten. The work that it
	// held at the end of its epoch met a death. Declaring a fenced owner dead returns the same epoch. Returns
	// CONFLICT if a newer process has the name, NOTFOUND.
	DeclareDead(ctx context.Context, owner string, epoch int64) (int64, error)
	// Forget removes a fenced owner that holds nothing.
	Forget(ctx context.Context, owner string, epoch int64) error
	// ListOwners lists all owners by name.
	ListOwners(ctx context.Context) ([]OwnerInfo, error)
}

// Outcome is how a claim ends.
type Outcome string

// The outcomes.
const (
	OutcomeDone    Outcome = "done"    // its terminal result is in the store; for a VM, the operation is complete
	OutcomeRelease Outcome = "release" // given back: queued at the front, no attempt used
	OutcomeRetry   Outcome = "retry"   // platform fault: queued again, after a pause unless its owner died; one attempt used
	OutcomeLater   Outcome = "later"   // a task that waits for others: queued again after a pause, no attempt used
	OutcomeBroken  Outcome = "broken"  // like retry, and its VM died under the request: that counts against it
	OutcomeUnclean Outcome = "unclean" // like broken: what the work left in its VM could not be removed
	OutcomeDead    Outcome = "dead"    // its terminal result "dead" is in the store
)

// Fault reports whether the work is to run again because of a platform fault.
func (o Outcome) Fault() bool {
	return o == OutcomeRetry || o == OutcomeBroken || o == OutcomeUnclean
}

// Settlement ends one slot of an owner that cannot do so itself.
type Settlement struct {
	Key     string
	Token   string
	Outcome Outcome
	To      string // of a release or retry: "" is the request's queue, Parked, or the host to assign it to
}

// Settled is the result of a Settle.
type Settled struct {
	Moved  int   // slots that were emptied
	Placed int64 // the number that the next Settle of this round must name
}
