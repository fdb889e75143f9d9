package core

import (
	"context"
	"time"
)

// VMInfo is one VM as Redis knows it.
type VMInfo struct {
	ID    string  `json:"id"`
	Host  string  `json:"host"`
	Pool  string  `json:"pool"`
	State VMState `json:"state"`
	Since int64   `json:"since_ms"`
	Owner string  `json:"owner,omitempty"` // who has it in a slot
	Note  string  `json:"note,omitempty"`  // why it was quarantined
}

// PoolLoad is what a vmfactory needs to know of one pool on its host.
type PoolLoad struct {
	Pool        Pool
	Clean       int
	Creating    int
	InUse       int
	Dirty       int // dirty or being destroyed: they leave by themselves
	Quarantined int // quarantined: they stay until a person mends them
	Waiting     int // requests waiting for the pool, counted up to its max
}

// Pools keeps the pools' settings in Redis.
type Pools interface {
	// SetPool writes a checked pool. The result store has it first.
	SetPool(ctx context.Context, p Pool) error
	// GetPool returns NOTFOUND for a pool that nobody set.
	GetPool(ctx context.Context, name string) (Pool, error)
	// ListPools lists all pools by name.
	ListPools(ctx context.Context) ([]Pool, error)
	// Room returns what Queue.Enqueue would answer for a request now, and queues nothing: FULL
	// where a limit on waiting work refuses it, NOTFOUND for a pool that nobody set.
	Room(ctx context.Context, spec Spec) error
}

// VMWant is what a host would make of a pool's VMs for waiting work.
type VMWant struct {
	Pool            string
	Clean, Creating int // that it has
	More            int // that it has room for
}

// VMs is the vmfactory's side of its host's VMs. Owner and epoch are the
// vmfactory's; each call returns FENCED when that epoch is over.
type VMs interface {
	// Load counts the named pools on the host, with their settings; unknown pools are left out.
	Load(ctx context.Context, host string, pools []string) ([]PoolLoad, error)
	// Promise shares out the waiting work of pools among the hosts that would make VMs for it,
	// and says how many of each want the host is to make. What is in creation, and what was
	// granted and is begun soon, keeps others from making the same.
	Promise(ctx context.Context, host string, wants []VMWant) ([]int, error)
	// Create notes VMs that are about to be made, so that a crash leaves them reachable.
	Create(ctx context.Context, owner string, epoch int64, host, pool string, vms []string) error
	// Ready ends creations: ok ones become clean, the others dirty. It rings for waiting work.
	Ready(ctx context.Context, owner string, epoch int64, host string, made map[string]bool) error
	// Destroy takes up to n dirty VMs.
	Destroy(ctx context.Context, owner string, epoch int64, host string, n int) ([]string, error)
	// Gone ends destructions: "" means gone, a text quarantines the VM with that note.
	Gone(ctx context.Context, owner string, epoch int64, host string, vms map[string]string) error
	// Retire takes clean VMs off the list and makes them dirty. VMs that are not
	// clean any more stay as they are. Returns those it took.
	Retire(ctx context.Context, owner string, epoch int64, host string, vms []string) ([]string, error)
	// Reconcile makes Redis agree with what is really on the host and lets it
	// claim: found maps VM → (pool, usable). Unknown usable ones become clean,
	// unknown and clean others dirty, known ones that were not found are removed,
	// those in anybody's slot stay as they are. Wishes are all that the result store
	// has of the host, nil if that is not known: what Redis has lost of them holds
	// before the host claims. A host that is to be failed is down then, and the epoch
	// of the caller is over.
	Reconcile(ctx context.Context, owner string, epoch int64, host string, found map[string]Found, wishes []HostWish) (Reconciled, error)
	// Note lets operators know how the host fares, in place of what was noted before.
	Note(ctx context.Context, owner string, epoch int64, host string, notes HostNotes) error
	// WaitWork returns when the host's vmfactory has something to do, or after poll. It is a hint.
	WaitWork(ctx context.Context, host string, poll time.Duration) error
	// ListVMs lists a host's VMs, or all hosts' for "".
	ListVMs(ctx context.Context, host string) ([]VMInfo, error)
	// CleanVMs lists a pool's clean VMs on the host.
	CleanVMs(ctx context.Context, host, pool string) ([]string, error)
}

// Found is a VM as its provider sees it.
type Found struct {
	Pool   string
	Usable bool // healthy and unused
}

// Reconciled counts what a Reconcile changed.
type Reconciled struct {
	Adopted, Dirtied, Removed int
}

// Hosts keeps the cluster's machines.
type Hosts interface {
	// ListHosts lists all hosts by name.
	ListHosts(ctx context.Context) ([]HostInfo, error)
	// Drain sets or clears the drain flag. What the host has in hand at the
	// deadline, counted from now, is to go elsewhere; 0: it may take as long as it
	// takes. What is assigned to it goes back to its queue. Returns NOTFOUND for an unknown host.
	Drain(ctx context.Context, host string, on bool, deadline time.Duration) error
	// Report acts on a watchdog's word: a host that failed is down at once, stays so
	// and claims nothing until it is reported recovered. The answer is false if it
	// changes nothing, because a later report was acted on. Returns NOTFOUND.
	Report(ctx context.Context, r HostReport) (bool, error)
	// Probation puts a host on probation: it gets nothing for the delay, then one
	// request at a time until so many in a row went well; a fault doubles the delay
	// and uses none of the request's attempts. An empty reason ends it. One on
	// probation for the same reason stays as it is. Returns NOTFOUND.
	Probation(ctx context.Context, host, reason string, delay time.Duration, needed int) error
	// Judge moves hosts between up and suspect by their owners' heartbeats
	// and returns those that are late by down or more, with the same care for
	// Redis' own start and mass lateness as Owners.Late.
	Judge(ctx context.Context, suspect, down time.Duration) ([]string, error)
	// Down fences a host: its epoch grows, its lists of VMs are emptied. Returns
	// CONFLICT if a heartbeat arrived meanwhile.
	Down(ctx context.Context, host string, down time.Duration) error
	// ForgetHost removes a down host. Returns CONFLICT if it is not down or its owners are still there.
	ForgetHost(ctx context.Context, host string) error
}
