package core

import (
	"context"
	"slices"
	"time"
)

// The entities of leases, whose states only the result store has.
const (
	EntityLease       Entity = "lease"
	EntityReservation Entity = "reservation"
	EntityAllocation  Entity = "allocation"
	EntityLeaseEvent  Entity = "lease event"
)

// LeaseState is the state of a lease, see LeaseTransitions. Creating and updating one is a single write, so there is no
// state in which a crash could leave it.
type LeaseState string

// The states of a lease.
const (
	LeasePending     LeaseState = "pending"     // its time has not come
	LeaseStarting    LeaseState = "starting"    // its start event is being executed
	LeaseActive      LeaseState = "active"      // its holders use what it reserves
	LeaseTerminating LeaseState = "terminating" // its end event is being executed
	LeaseTerminated  LeaseState = "terminated"  // it is over
	LeaseDeleting    LeaseState = "deleting"    // somebody deletes it while it has VMs; it is gone once it has none
	LeaseError       LeaseState = "error"       // an event failed for good; only deleting it is left
)

// ReservationState is the state of one reservation of a lease.
type ReservationState string

// The states of a reservation.
const (
	ReservationPending ReservationState = "pending"
	ReservationActive  ReservationState = "active"
	ReservationDeleted ReservationState = "deleted" // its lease is over
	ReservationError   ReservationState = "error"
)

// AllocationState is the state of an allocation.
type AllocationState string

// The states of an allocation.
const (
	AllocationHeld  AllocationState = "held"
	AllocationMoved AllocationState = "moved" // its units were allocated on other hosts
	AllocationLost  AllocationState = "lost"  // no other host had room for its units
	AllocationFreed AllocationState = "freed" // the lease is over, or needs fewer units
)

// LeaseEventState is the state of an event.
type LeaseEventState string

// The states of an event.
const (
	EventUndone     LeaseEventState = "undone"
	EventInProgress LeaseEventState = "in_progress"
	EventDone       LeaseEventState = "done"
	EventError      LeaseEventState = "error"
)

// LeaseEventKind is what an event does.
type LeaseEventKind string

// The kinds of events, in the order in which those that are due at the same time are executed, so that a lease frees
// what the next one takes.
const (
	EventBeforeEnd LeaseEventKind = "before_end"
	EventEnd       LeaseEventKind = "end"
	EventStart     LeaseEventKind = "start"
)

// LeaseTransitions is the part of the table of legal moves that is about leases. By names methods of ResultStore.
// Removing a lease is no move, see LeaseState.Deletable.
func LeaseTransitions() []Transition {
	put := []string{"PutLease"}
	return []Transition{
		{EntityLease, "", string(LeasePending), put, "created, with all its allocations"},
		{EntityLease, string(LeasePending), string(LeaseStarting), put, "its start event is due"},
		{EntityLease, string(LeaseStarting), string(LeaseActive), put, "its holders use what it reserves"},
		{EntityLease, string(LeaseStarting), string(LeaseError), put, "it could not be started in time; nothing of it is left"},
		{EntityLease, string(LeaseActive), string(LeaseTerminating), put, "its end event is due"},
		{EntityLease, string(LeaseTerminating), string(LeaseTerminated), put, "nothing of it is left on hosts"},
		{EntityLease, string(LeaseActive), string(LeaseDeleting), put, "somebody deletes it"},

		{EntityReservation, "", string(ReservationPending), put, "created with its lease, or added to one"},
		{EntityReservation, "", string(ReservationActive), put, "added to a lease that is active"},
		{EntityReservation, string(ReservationPending), string(ReservationActive), put, "its lease started"},
		{EntityReservation, string(ReservationPending), string(ReservationError), put, "its lease could not be started"},
		{EntityReservation, string(ReservationPending), string(ReservationDeleted), put, "removed from its lease"},
		{EntityReservation, string(ReservationActive), string(ReservationDeleted), put, "its lease is over"},

		{EntityAllocation, "", string(AllocationHeld), put, "units were allocated on a host"},
		{EntityAllocation, string(AllocationHeld), string(AllocationMoved), put, "its host failed, or has no room any more; others have it"},
		{EntityAllocation, string(AllocationHeld), string(AllocationLost), put, "its host failed, or has no room any more, and no other has"},
		{EntityAllocation, string(AllocationHeld), string(AllocationFreed), put, "its lease is over, or needs fewer units"},

		{EntityLeaseEvent, "", string(EventUndone), put, "created with its lease"},
		{EntityLeaseEvent, string(EventUndone), string(EventInProgress), put, "it is due"},
		{EntityLeaseEvent, string(EventInProgress), string(EventDone), put, "executed"},
		{EntityLeaseEvent, string(EventInProgress), string(EventError), put, "it could not be executed in time"},
	}
}

// MayBecome reports whether the table has a transition from s to the other state.
func (s LeaseState) MayBecome(to LeaseState) bool {
	return slices.ContainsFunc(LeaseTransitions(), func(t Transition) bool {
		return t.Entity == EntityLease && t.From == string(s) && t.To == string(to)
	})
}

// Deletable reports whether a lease of this state has nothing on hosts, so that it can be removed.
func (s LeaseState) Deletable() bool {
	return s == LeasePending || s == LeaseDeleting || s == LeaseTerminated || s == LeaseError
}

// Open reports whether a lease of this state holds or will hold room of hosts.
func (s LeaseState) Open() bool { return s != LeaseTerminated && s != LeaseError }

// Lease reserves units of pools, or whole hosts, for a time. While it is active, each of its pools has a pool of its own
// in Redis (see LeasedPool), to which its holders' requests go.
type Lease struct {
	ID           string        `json:"id"`
	Name         string        `json:"name"`                 // for people; can be changed at any time
	Class        string        `json:"class,omitempty"`      // whose submissions use it
	Submitters   []string      `json:"submitters,omitempty"` // whose requests use it
	By           string        `json:"by"`                   // who created it
	Start        int64         `json:"start_ms"`             // ms since 1970, by the server's clock, as all moments here
	End          int64         `json:"end_ms"`
	BeforeEnd    time.Duration `json:"before_end_ns,omitempty"` // so long before its end its before_end event is due; 0: it has none
	Grace        time.Duration `json:"grace_ns,omitempty"`      // so long after its end its running requests may go on; then they are requeued
	State        LeaseState    `json:"state"`
	Reservations []Reservation `json:"reservations"`
	Events       []LeaseEvent  `json:"events"`
	Notify       []string      `json:"notify,omitempty"` // webhooks notified of what happens to it
	Log          []LeaseNote   `json:"log,omitempty"`    // what happened to it, oldest first; the last MaxLeaseNotes
	Created      int64         `json:"created_ms"`
	Ended        int64         `json:"ended_ms,omitempty"` // when it was terminated or failed
}

// Affinity is on which hosts the units of a reservation may be.
type Affinity string

// The affinities.
const (
	AffinityNone  Affinity = ""      // any
	AffinityTrue  Affinity = "true"  // all on one host; they move together
	AffinityFalse Affinity = "false" // each on another host
)

// Reservation is what a lease reserves: units of a pool, or whole hosts.
type Reservation struct {
	Pools    []string `json:"pools"`              // units: the pool whose size one unit has. Hosts: the pools whose VMs run there
	Units    int      `json:"units,omitempty"`    // VMs of the pool; 0: whole hosts
	Affinity Affinity `json:"affinity,omitempty"` // of units
	MinHosts int      `json:"min_hosts,omitempty"`
	MaxHosts int      `json:"max_hosts,omitempty"`
	Requires string   `json:"requires,omitempty"` // of hosts, see ParseRequirements

	State            ReservationState `json:"state"`
	Allocations      []Allocation     `json:"allocations,omitempty"`       // held ones, and the last MaxPastAllocations others
	MissingResources bool             `json:"missing_resources,omitempty"` // it has fewer units or hosts than it needs
	ResourcesChanged bool             `json:"resources_changed,omitempty"` // units moved, or came back, while it was active, and their VMs are not there yet
}

// WholeHosts reports whether it reserves hosts rather than units.
func (r *Reservation) WholeHosts() bool { return r.Units == 0 }

// Needs is how many units it needs, or how many hosts at least.
func (r *Reservation) Needs() int {
	if r.WholeHosts() {
		return r.MinHosts
	}
	return r.Units
}

// Held is how many units, or hosts, are allocated to it.
func (r *Reservation) Held() int {
	n := 0
	for i := range r.Allocations {
		if r.Allocations[i].State == AllocationHeld {
			n += r.Allocations[i].Units
		}
	}
	return n
}

// Allocation is units of a reservation on one host, or one whole host.
type Allocation struct {
	Host  string          `json:"host"`
	Units int             `json:"units"` // 1 for a whole host
	State AllocationState `json:"state"`
	Since int64           `json:"since_ms"`           // ms since 1970
	Until int64           `json:"until_ms,omitempty"` // when it was moved, lost or freed
	Why   string          `json:"why,omitempty"`
}

// LeaseEvent is something that happens to a lease once, at its time.
type LeaseEvent struct {
	Kind  LeaseEventKind  `json:"kind"`
	At    int64           `json:"at_ms"` // when it is due, ms since 1970
	State LeaseEventState `json:"state"`
	Begun int64           `json:"begun_ms,omitempty"` // when it was begun
	Done  int64           `json:"done_ms,omitempty"`  // when it was done or failed
	Why   string          `json:"why,omitempty"`      // of an error
}

// LeaseNote is one thing that happened to a lease. Number grows by one with each.
type LeaseNote struct {
	Number int    `json:"number"`
	At     int64  `json:"at_ms"`
	Event  string `json:"event"` // one of LeaseEvents, of which webhooks are notified
	Text   string `json:"text"`
	By     string `json:"by,omitempty"`
}

// The events of leases of which webhooks are notified.
const (
	EventLeaseCreated  = "lease.created"
	EventLeaseUpdated  = "lease.updated"
	EventLeaseDeleted  = "lease.deleted"
	EventLeaseStarted  = "lease.started"
	EventLeaseEnding   = "lease.before_end"
	EventLeaseEnded    = "lease.ended"
	EventLeaseFailed   = "lease.failed"
	EventLeaseDegraded = "lease.degraded" // units moved, or are missing
	EventLeaseWhole    = "lease.whole"    // it is not degraded any more
)

// Degraded reports whether units of the lease are missing or were moved, and are not all there yet.
func (l *Lease) Degraded() bool {
	return slices.ContainsFunc(l.Reservations, func(r Reservation) bool { return r.MissingResources || r.ResourcesChanged })
}

// Clone returns a copy that shares nothing with l.
func (l *Lease) Clone() Lease {
	out := *l
	out.Submitters, out.Notify = slices.Clone(l.Submitters), slices.Clone(l.Notify)
	out.Events, out.Log = slices.Clone(l.Events), slices.Clone(l.Log)
	out.Reservations = slices.Clone(l.Reservations)
	for i := range out.Reservations {
		r := &out.Reservations[i]
		r.Pools, r.Allocations = slices.Clone(r.Pools), slices.Clone(r.Allocations)
	}
	return out
}

// Event returns the lease's event of a kind; nil if it has none.
func (l *Lease) Event(kind LeaseEventKind) *LeaseEvent {
	for i := range l.Events {
		if l.Events[i].Kind == kind {
			return &l.Events[i]
		}
	}
	return nil
}

// Holder reports whether requests of a submitter use the lease, which grade a submission of the class, if any.
func (l *Lease) Holder(submitter, class string) bool {
	return class != "" && class == l.Class || slices.Contains(l.Submitters, submitter)
}

// Reserves reports whether the lease reserves something of a pool.
func (l *Lease) Reserves(pool string) bool {
	return slices.ContainsFunc(l.Reservations, func(r Reservation) bool {
		return r.State != ReservationDeleted && slices.Contains(r.Pools, pool)
	})
}

// LeasePrefix begins the names of pools of leases; no other pool may have such a name.
const LeasePrefix = "lease-"

// Pools are all pools of the lease's reservations, in the order in which they first appear. Reservations are only ever
// added to a lease, so a pool keeps its place.
func (l *Lease) Pools() []string {
	var all []string
	for i := range l.Reservations {
		for _, p := range l.Reservations[i].Pools {
			if !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	return all
}

// LeasedPool returns the name of the pool of a lease that stands for one of its Pools, by its place there.
func LeasedPool(lease string, place int) string {
	const letters = "abcdefghijklmnopqrstuvwxyz" // one for each of MaxLeasePools
	return LeasePrefix + lease + "-" + letters[place:place+1]
}

// Bounds of leases.
const (
	MaxLeaseName         = 200 // bytes
	MaxLeaseReservations = 16
	MaxLeasePools        = 26 // of all reservations of a lease
	MaxLeaseSubmitters   = 100
	MaxLeaseUnits        = 10_000 // of one reservation
	MaxLeaseNotes        = 100
	MaxPastAllocations   = 100
	MaxLeaseTime         = 366 * 24 * time.Hour
	MaxOpenLeases        = 2000
)

// Calendar is all open leases, in order of start and id.
type Calendar struct {
	Revision int64   // grows by 1 with each write of a lease; never 0
	Leases   []Lease // nil if it is the revision that the caller has
}

// LeaseFilter selects leases. A zero field matches every lease.
type LeaseFilter struct {
	Class  string
	States []LeaseState
	From   int64  // leases that end after it, ms since 1970
	To     int64  // leases that start before it
	Before string // leases with ids before this one (newest first): a page's cursor
	Limit  int    // 1 to 1000; 0 is 50
}

// Leases keeps leases. Writes of one lease depend on the calendar that all make together, so each names the calendar's
// revision that it was decided by.
type Leases interface {
	// Calendar returns the calendar, without its leases if it still has the known revision (0: none is known).
	Calendar(ctx context.Context, known int64) (Calendar, error)
	// PutLease creates or replaces a lease, and adds the notes of its Log that it did not have to the outbox if it names
	// webhooks. Returns the calendar's next revision; CONFLICT if the calendar has another revision than the given one, or
	// the move is none of the table, see Lease.CheckMove; LIMIT if there are MaxOpenLeases. After UNAVAILABLE it may be
	// written: the calendar tells.
	PutLease(ctx context.Context, revision int64, l Lease) (int64, error)
	// DeleteLease removes a lease. It adds a note with the next number to its Log, and keeps that as ToldLease needs it,
	// with its id, until it is purged. Returns CONFLICT as PutLease does and for a lease that is not Deletable, NOTFOUND
	// for an unknown id.
	DeleteLease(ctx context.Context, revision int64, id string, note LeaseNote) (int64, error)
	// GetLease returns NOTFOUND for an unknown id.
	GetLease(ctx context.Context, id string) (Lease, error)
	// ListLeases lists leases, newest first.
	ListLeases(ctx context.Context, f LeaseFilter) ([]Lease, error)
}
