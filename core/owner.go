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

// OwnerName makes the stable name of an owner, "<role>@<host>#<n>": a restarted
// process finds under it what its predecessor left.
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

// Registration is what an owner says of itself when it starts.
type Registration struct {
	Owner       string
	Host        string
	Machine     string // an id of the machine, so that two machines with one host name are told apart
	PID         int
	Version     string        // of the program
	Beat        time.Duration // its next heartbeat is due within
	CPU         int           // of the host
	MemoryBytes int64         // of the host
	DiskBytes   int64         // of the host, for its VMs; 0 is not known
	Process     string        // which process it is, as no other ever was or will be; "" is not known: then nobody takes it for dead
}

// Registered is what an owner gets: its epoch, and what its predecessor held.
type Registered struct {
	Epoch int64
	Left  []Held
}

// Held is one slot: a piece of work in an owner's hands.
type Held struct {
	Key       string // request key, VM id (vmfactory) or task id (taskrunner)
	VM        string // of a request
	Token     string
	Phase     string        // claimed, running; creating, destroying
	Since     int64         // when the phase began or was last heard of, ms, the server's clock
	Limit     time.Duration // after Since, by which the phase ends or is heard of again; 0: the phase's own
	Attempts  int           // platform faults so far
	Age       time.Duration // how long ago Since was; less where the server was silent or its clock was set since, and never more
	Deaths    []Death       // that the request or task met, oldest first
	Cancelled string        // who asked to stop it; "" if nobody
	Pool      string
	Slot      string // as Redis has it, for Revoke
}

// Death is one that a request or task met: that of an owner which had it in hand, or of its VM.
type Death struct {
	Of     string // the owner's name, or the VM's
	Counts bool   // it was alone there, or the only one that had met a death before: it may be what kills

	Unclean bool // of a VM: it lives, but what the work left in it could not be removed
}

// VM says whether it was a VM that died.
func (d Death) VM() bool { return !strings.Contains(d.Of, "@") }

// Beat is what an owner hears when it sends a heartbeat.
type Beat struct {
	Slots     int               // how many slots Redis has for it
	Cancelled map[string]string // keys in its slots that somebody cancelled → who
	Draining  bool              // its host takes no new work
	Ready     bool              // its host's vmfactory has reconciled with this incarnation of Redis
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
	Deadline int64  `json:"deadline_ms"` // of its next heartbeat; 0 once fenced
	Late     bool   `json:"late"`
	Slots    int    `json:"slots"`
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
	Ready    bool           `json:"ready"` // its vmfactory has reconciled with this incarnation of Redis
	VMs      map[string]int `json:"vms"`   // state → count
	Owners   []string       `json:"owners"`

	VMsOf     map[string]map[VMState]int `json:"vms_of"` // pool → state → count
	Providers []ProviderNote             `json:"providers,omitempty"`
	Broken    map[string]string          `json:"broken,omitempty"`   // pool → why its VMs cannot be made there
	Fetching  map[string]string          `json:"fetching,omitempty"` // pool → what is on its way there, before which none can

	DrainUntil  int64         `json:"drain_until_ms,omitempty"` // until then what it has in hand may take; 0: as long as it takes
	DrainWithin time.Duration `json:"-"`                        // what it was given then; a drain that has longer to go is over: the server's clock was set back
	Wished      bool          `json:"-"`                        // this incarnation of Redis has heard what the result store has of it

	Failed     *HostReport `json:"failed,omitempty"`     // who says that it failed; nil: nobody
	Probation  *Probation  `json:"probation,omitempty"`  // nil: it is trusted
	Probations int         `json:"probations,omitempty"` // so often it has been on probation
}

// Owners keeps who is alive and empties the slots of who is not.
type Owners interface {
	// Register starts a new epoch of an owner and fences the one before.
	// Returns BUSY if another machine holds the host's name, VERSION if Redis is of another schema.
	Register(ctx context.Context, r Registration) (Registered, error)
	// Beat records an owner's heartbeat. Returns FENCED if its epoch is over.
	Beat(ctx context.Context, owner string, epoch int64, next time.Duration) (Beat, error)
	// Held lists an owner's slots with what settling them needs. Returns FENCED if the
	// epoch is over; 0 is whichever it is in. Who settles for another asks in the epoch
	// that it settles in: else it decides about the living work of a successor.
	Held(ctx context.Context, owner string, epoch int64) ([]Held, error)
	// Settle empties slots of a fenced or restarted owner. Items with a token
	// that is not in the slot any more are skipped. What met a death is not assigned:
	// it runs apart from others that did. If any item is assigned to a host, placed
	// is the number that Rooms returned, or the last Settle of the round. Returns
	// CONFLICT, with that chunk of items unmoved, if another has placed work since,
	// or a host assigned to is not to be given any: ask for the Rooms again.
	Settle(ctx context.Context, owner string, epoch int64, items []Settlement, placed int64) (Settled, error)
	// Revoke ends one slot of an owner, living or not, that reads as the Held says:
	// its work is stuck, or must go elsewhere. It is a fault if it is a retry, but
	// not a death; the VM becomes dirty and the owner is told to look. A slot that
	// is empty by now is as good. Returns CONFLICT if it reads otherwise, or the
	// host assigned to is not to be given work.
	Revoke(ctx context.Context, owner string, h Held, s Settlement, why string) error
	// Deregister ends an owner that holds nothing. Returns CONFLICT if it holds something.
	Deregister(ctx context.Context, owner string, epoch int64) error
	// Late lists owners whose heartbeat is late by the given time or more, and
	// those fenced but not yet emptied. Lateness counts from the latest of the last
	// heartbeat, Redis' own start, the moment when most became late at once, and the
	// first heartbeat after a silence of all: then it is Redis, not they.
	Late(ctx context.Context, by time.Duration) ([]string, error)
	// Fence ends the epoch of an owner that is late by the given time and returns
	// the epoch under which its slots are settled. Fencing a fenced owner returns
	// the same epoch. Returns CONFLICT if its heartbeat arrived meanwhile.
	Fence(ctx context.Context, owner string, by time.Duration) (int64, error)
	// DeclareDead ends the given epoch of an owner whose process is known to be gone, late
	// or not, and returns the epoch under which its slots are settled, 0 if they
	// were and it was forgotten. What it had in hand when that epoch ended met a
	// death. Declaring a fenced owner dead returns the same epoch. Returns CONFLICT if a
	// newer process has the name, NOTFOUND.
	DeclareDead(ctx context.Context, owner string, epoch int64) (int64, error)
	// Forget removes a fenced owner that holds nothing any more.
	Forget(ctx context.Context, owner string, epoch int64) error
	// ListOwners lists all owners by name.
	ListOwners(ctx context.Context) ([]OwnerInfo, error)
}

// Outcome is how a claim ends.
type Outcome string

// The outcomes.
const (
	OutcomeDone    Outcome = "done"    // its terminal result is in the store; or the VM operation is complete
	OutcomeRelease Outcome = "release" // given back: queued again at the front, no attempt used
	OutcomeRetry   Outcome = "retry"   // platform fault, one attempt used: queued again, after a pause unless its owner died
	OutcomeLater   Outcome = "later"   // a task that waits for others: it goes on after a pause, no attempt used
	OutcomeBroken  Outcome = "broken"  // as a retry, and its VM died under the request: that counts against it
	OutcomeUnclean Outcome = "unclean" // as broken: what the work left in its VM could not be removed
	OutcomeDead    Outcome = "dead"    // its terminal result "dead" is in the store
)

// Fault reports whether the work is to run again because something failed under it.
func (o Outcome) Fault() bool {
	return o == OutcomeRetry || o == OutcomeBroken || o == OutcomeUnclean
}

// Settlement ends one slot of an owner that is not there to do it.
type Settlement struct {
	Key     string
	Token   string
	Outcome Outcome
	To      string // of a release or retry: "" its queue, Parked, or the host it is assigned to
}

// Settled is what a Settle did.
type Settled struct {
	Moved  int   // slots that it emptied
	Placed int64 // the number that the next Settle of the round names
}
