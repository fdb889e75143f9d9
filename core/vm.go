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
	Owner string  `json:"owner,omitempty"` // the owner that has it in a slot
	Note  string  `json:"note,omitempty"`  // why it was quarantined
}

// PoolLoad is what a vmfactory needs to know about one pool on its host.
type PoolLoad struct {
	Pool        Pool
	Clean       int
	Creating    int
	InUse       int
	Dirty       int // dirty or being destroyed: they leave by themselves
	Quarantined int // quarantined: they stay until a person mends them
	Waiting     int // requests waiting for the pool, counted up to its max
}

// HostLoad is what a vmfactory needs to know to plan for its host.
type HostLoad struct {
	Settings HostSettings
	Targets  Targets // VMs that the host should have; nil: no overseer decided it in the last minutes
	Placed   bool    // the targets include waiting work: nothing is to be made for it beyond them
	Ready    bool    // the host has reconciled with this incarnation of Redis; else it may have VMs that are not counted
	Pools    []PoolLoad
}

// Pools keeps the pools' settings in Redis.
type Pools interface {
	// SetPool writes a checked pool, after it was written to the result store.
	SetPool(ctx context.Context, p Pool) error
	// RemovePool removes a pool; its clean VMs become dirty. With asks it only says whether it would. Returns CONFLICT if
	// requests of the pool wait or are in slots. A pool that is not there is no error.
	RemovePool(ctx context.Context, name string, asks bool) error
	// GetPool returns NOTFOUND for a pool without settings.
	GetPool(ctx context.Context, name string) (Pool, error)
	// ListPools lists all pools by name.
	ListPools(ctx context.Context) ([]Pool, error)
	// Outages returns the pools of which no host can make VMs, by name.
	Outages(ctx context.Context) (map[string]Outage, error)
	// SetOutage records that no host can make VMs of a pool: the outage goes on, or begins now by the server's clock. An
	// outage without a host ends the pool's. Returns whether that began or ended one. A pool that is not there has none.
	SetOutage(ctx context.Context, pool string, o Outage) (bool, error)
	// Capacities returns what each registered host, living or not, has for VMs.
	Capacities(ctx context.Context) (map[string]Size, error)
	// Room returns what Queue.Enqueue would return for requests now, without queuing them: the first refusal. That is
	// FULL if a limit on waiting work refuses one, NOTFOUND for a pool without settings.
	Room(ctx context.Context, specs ...Spec) error
}

// VMWant is how many VMs of a pool a host could make for waiting work.
type VMWant struct {
	Pool            string
	Clean, Creating int // existing ones
	More            int // for which it has room
}

// VMs is the vmfactory's side of its host's VMs. Owner and epoch are the
// vmfactory's; each call returns FENCED when that epoch is over.
type VMs interface {
	// Load returns the host's settings and counts the named pools there, with their settings;
	// unknown pools are left out.
	Load(ctx context.Context, host string, pools []string) (HostLoad, error)
	// Promise divides the waiting work of pools among the hosts that would make VMs for it, and returns how many of
	// each want the host is to make. VMs in creation, and those granted a short while ago, count as made for this
	// work.
	Promise(ctx context.Context, host string, wants []VMWant) ([]int, error)
	// Create records VMs that are about to be made, so that they can be found after a crash.
	Create(ctx context.Context, owner string, epoch int64, host, pool string, vms []string) error
	// Ready ends creations: ok ones become clean, the others dirty. It rings the bell for waiting work.
	Ready(ctx context.Context, owner string, epoch int64, host string, made map[string]bool) error
	// Destroy claims up to n dirty VMs for destruction.
	Destroy(ctx context.Context, owner string, epoch int64, host string, n int) ([]string, error)
	// Gone ends destructions: "" means that the VM is gone; any other text quarantines it with that note.
	Gone(ctx context.Context, owner string, epoch int64, host string, vms map[string]string) error
	// Retire takes clean VMs off the list and makes them dirty. VMs that are not clean any more are left as they are.
	// Returns those that it took.
	Retire(ctx context.Context, owner string, epoch int64, host string, vms []string) ([]string, error)
	// Reconcile makes Redis agree with the VMs that really exist on the host and lets it claim. Found maps VM →
	// (pool, usable). Unknown usable VMs become clean, other unknown and clean ones dirty; known VMs that were not
	// found are removed; VMs in a slot are left as they are. Wishes are all that the result store has of the host,
	// nil if that is not known: those that Redis has lost are restored before the host claims. If a wish declares the
	// host failed, the host is down and the caller's epoch is over. While owners may yet come back that lived before this
	// incarnation of Redis, unknown VMs in use are left alone, and a host claims nothing if Redis has an old memory.
	Reconcile(ctx context.Context, owner string, epoch int64, host string, found map[string]Found, wishes []HostWish) (Reconciled, error)
	// Note replaces the notes that operators see of the host.
	Note(ctx context.Context, owner string, epoch int64, host string, notes HostNotes) error
	// Measured records what was measured of the host, and returns the time within which the next measure is due.
	Measured(ctx context.Context, owner string, epoch int64, host string, m HostMeasure) (time.Duration, error)
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
	Used   bool // it has its assignment
}

// Reconciled counts the changes of a Reconcile.
type Reconciled struct {
	Adopted, Dirtied, Removed int
	Alone                     int // in use and not known, while those that use them may yet come back: to be looked at again
}

// Hosts keeps the cluster's machines.
type Hosts interface {
	// ListHosts lists all hosts by name.
	ListHosts(ctx context.Context) ([]HostInfo, error)
	// Drain sets or clears the drain flag. Claimed work that is left at the deadline, counted from now, is to go
	// elsewhere; 0 is no deadline. Requests assigned to the host go back to their queues. Returns NOTFOUND for an
	// unknown host.
	Drain(ctx context.Context, host string, on bool, deadline time.Duration) error
	// SetHost changes a host's settings. The result store has them first. Returns NOTFOUND, INVALID.
	SetHost(ctx context.Context, host string, s HostSettings) error
	// Report acts on a watchdog's report: a failed host is down at once, and claims nothing until it is reported
	// recovered. Returns false if nothing changed because a later report was acted on. Returns NOTFOUND.
	Report(ctx context.Context, r HostReport) (bool, error)
	// Probation puts a host on probation: it gets nothing for the delay, then one request at a time until the given
	// number in a row went well. A fault doubles the delay and uses none of the request's attempts. An empty reason
	// ends the probation. A host already on probation for the same reason is left as it is. Returns NOTFOUND.
	Probation(ctx context.Context, host, reason string, delay time.Duration, needed int) error
	// Judge moves hosts between up and suspect by their owners' heartbeats and returns those that are late by down or
	// more. Redis' own start and mass lateness count as in Owners.Late.
	Judge(ctx context.Context, suspect, down time.Duration) ([]string, error)
	// Down fences a host: its epoch grows, its lists of VMs are emptied. Returns CONFLICT if a heartbeat arrived in
	// the meantime.
	Down(ctx context.Context, host string, down time.Duration) error
	// ForgetHost removes a down host. Returns CONFLICT if it is not down or its owners are still there.
	ForgetHost(ctx context.Context, host string) error
	// RemovedHosts returns which of the hosts were removed. Those that Redis lost with its memory were not.
	RemovedHosts(ctx context.Context, hosts []string) (map[string]bool, error)
}
