package core

import "slices"

// Entity is a kind of thing that has states.
type Entity string

// The entities of the cluster; core/school has its own.
const (
	EntityRequest    Entity = "request"
	EntityVM         Entity = "vm"
	EntityHost       Entity = "host"
	EntityTask       Entity = "task"
	EntityEvacuation Entity = "evacuation"
)

// Entities lists them.
func Entities() []Entity {
	return []Entity{EntityRequest, EntityVM, EntityHost, EntityTask, EntityEvacuation}
}

// Transition is one legal move. By lists the operations that make it: the stems of Lua scripts, or methods of the
// result store for states that only the store has. The end of a request or task is recorded first; the scripts named
// here then bring Redis into agreement.
type Transition struct {
	Entity Entity
	From   string // "" for the first appearance, and for an entity that was in no place and is mended
	To     string
	By     []string
	Why    string
}

// Transitions returns the cluster's part of the table of legal moves. The headers of scripts, the result stores, the
// diagrams in the docs and the tests are checked against it.
func Transitions() []Transition {
	return slices.Concat(requestTransitions(), vmTransitions(), hostTransitions(), taskTransitions(), evacuationTransitions())
}

func requestTransitions() []Transition {
	return []Transition{
		{EntityRequest, "", "queued", []string{"enqueue", "mend_request"}, "accepted: its row is durable; submitted, swept back or rerun"},
		{EntityRequest, "", "claimed", []string{"reclaim"}, "it runs, and Redis had lost it"},
		{EntityRequest, "queued", "claimed", []string{"exchange", "reclaim"}, "an owner took it together with a VM, or has it yet, which Redis had lost"},
		{EntityRequest, "queued", "cancelling", []string{"exchange"}, "taken after somebody asked to stop it: it is not run"},
		{EntityRequest, "parked", "claimed", []string{"exchange", "reclaim"}, "an owner took it together with a VM, or has it yet, which Redis had lost"},
		{EntityRequest, "parked", "cancelling", []string{"exchange"}, "taken after somebody asked to stop it: it is not run"},
		{EntityRequest, "parked", "queued", []string{"exchange", "change", "mend_request", "lease_reroute"}, "it met a death since it was parked: it runs apart; or its pool was changed"},
		{EntityRequest, "claimed", "running", []string{"progress"}, "staged; its command starts"},
		{EntityRequest, "claimed", "queued", []string{"exchange", "settle", "revoke"}, "released, or a platform fault"},
		{EntityRequest, "running", "queued", []string{"exchange", "settle", "revoke"}, "a platform fault"},
		{EntityRequest, "claimed", "parked", []string{"settle", "revoke"}, "its host was lost or drained, and nothing living can run it"},
		{EntityRequest, "running", "parked", []string{"settle", "revoke"}, "its host was lost or drained, and nothing living can run it"},
		{EntityRequest, "cancelling", "parked", []string{"settle", "revoke"}, "its host was lost or drained: its next claim is told"},
		{EntityRequest, "claimed", "cancelling", []string{"cancel"}, "somebody asked to stop it"},
		{EntityRequest, "running", "cancelling", []string{"cancel"}, "somebody asked to stop it"},
		{EntityRequest, "claimed", "completed", []string{"exchange", "settle", "revoke"}, "result recorded"},
		{EntityRequest, "running", "completed", []string{"exchange", "settle", "revoke"}, "result recorded"},
		{EntityRequest, "claimed", "failed", []string{"exchange", "settle", "revoke"}, "result recorded"},
		{EntityRequest, "running", "failed", []string{"exchange", "settle", "revoke"}, "result recorded"},
		{EntityRequest, "running", "timed_out", []string{"exchange", "settle", "revoke"}, "over its time limit"},
		{EntityRequest, "cancelling", "cancelled", []string{"exchange", "settle", "revoke"}, "its work was stopped"},
		{EntityRequest, "cancelling", "queued", []string{"exchange", "settle", "revoke"}, "released, or a platform fault: its next claim is told"},
		{EntityRequest, "cancelling", "completed", []string{"exchange", "settle", "revoke"}, "its result was recorded before it was stopped"},
		{EntityRequest, "cancelling", "failed", []string{"exchange", "settle", "revoke"}, "its result was recorded before it was stopped"},
		{EntityRequest, "cancelling", "timed_out", []string{"exchange", "settle", "revoke"}, "its result was recorded before it was stopped"},
		{EntityRequest, "queued", "cancelled", []string{"withdraw"}, "cancelled or superseded while it waited"},
		{EntityRequest, "queued", "timed_out", []string{"withdraw"}, "waited longer than its pool allows"},
		{EntityRequest, "queued", "failed", []string{"withdraw"}, "no host could make VMs of its pool for longer than the pool allows"},
		{EntityRequest, "parked", "cancelled", []string{"withdraw"}, "cancelled or superseded while it was parked"},
		{EntityRequest, "parked", "timed_out", []string{"withdraw"}, "waited longer than its pool allows"},
		{EntityRequest, "parked", "failed", []string{"withdraw"}, "no host could make VMs of its pool for longer than the pool allows"},
		{EntityRequest, "claimed", "dead", []string{"exchange", "settle", "revoke"}, "attempts used up"},
		{EntityRequest, "running", "dead", []string{"exchange", "settle", "revoke"}, "attempts used up"},
	}
}

func vmTransitions() []Transition {
	lost := []string{"host_down", "host_report", "host_forget", "vm_reconcile", "register", "mend_host"}
	return []Transition{
		{EntityVM, "", "creating", []string{"vm_create"}, "the pool is below its target"},
		{EntityVM, "creating", "clean", []string{"vm_ready"}, "its agent answers"},
		{EntityVM, "creating", "dirty", []string{"vm_ready", "settle", "revoke"}, "its creation failed, or its creator died or hangs"},
		{EntityVM, "", "claimed", []string{"reclaim"}, "its request runs, and Redis had lost it"},
		{EntityVM, "clean", "claimed", []string{"exchange", "reclaim"}, "taken together with a request, perhaps before Redis was set back"},
		{EntityVM, "dirty", "claimed", []string{"reclaim"}, "its request runs, and Redis had lost that"},
		{EntityVM, "quarantined", "claimed", []string{"reclaim"}, "its request runs, and Redis had lost that"},
		{EntityVM, "clean", "dirty", []string{"vm_retire", "vm_reconcile", "pool_remove", "mend_vm"}, "failed its health check, too many, of a removed pool, or mended"},
		{EntityVM, "claimed", "dirty", []string{"exchange", "settle", "revoke"}, "its claim ended; a VM is never used again"},
		{EntityVM, "dirty", "destroying", []string{"vm_destroy"}, "taken by the host's vmfactory"},
		{EntityVM, "destroying", "dirty", []string{"settle", "revoke"}, "its destroyer died or hangs"},
		{EntityVM, "destroying", "quarantined", []string{"vm_gone"}, "could not be destroyed"},
		{EntityVM, "destroying", "gone", []string{"vm_gone"}, "destroyed"},
		{EntityVM, "", "clean", []string{"vm_reconcile"}, "found on the host, healthy and unused"},
		{EntityVM, "", "dirty", []string{"vm_reconcile", "mend_vm"}, "found on the host, not known or not healthy; or mended"},
		{EntityVM, "quarantined", "dirty", []string{"mend_vm"}, "mended: it was in several places"},
		{EntityVM, "clean", "gone", []string{"vm_reconcile"}, "not on the host any more"},
		{EntityVM, "dirty", "gone", []string{"vm_reconcile"}, "not on the host any more"},
		{EntityVM, "quarantined", "gone", []string{"vm_reconcile"}, "not on the host any more"},
		{EntityVM, "clean", "lost", lost, "its host is lost, or another machine has its name"},
		{EntityVM, "dirty", "lost", lost, "its host is lost, or another machine has its name"},
		{EntityVM, "quarantined", "lost", lost, "its host is lost, or another machine has its name"},
		{EntityVM, "creating", "lost", []string{"settle", "revoke"}, "its host is lost"},
		{EntityVM, "claimed", "lost", []string{"settle", "revoke"}, "its host is lost"},
		{EntityVM, "destroying", "lost", []string{"settle", "revoke"}, "its host is lost"},
	}
}

func hostTransitions() []Transition {
	return []Transition{
		{EntityHost, "", "up", []string{"register"}, "its first owner registered"},
		{EntityHost, "", "down", []string{"mend_host"}, "mended: it was in no state"},
		{EntityHost, "up", "suspect", []string{"host_judge"}, "all its owners are late"},
		{EntityHost, "suspect", "up", []string{"host_judge"}, "an owner's heartbeat arrived"},
		{EntityHost, "up", "down", []string{"host_report", "vm_reconcile"}, "reported failed; fenced"},
		{EntityHost, "suspect", "down", []string{"host_down", "host_report", "vm_reconcile"}, "late beyond the limit, or reported failed; fenced"},
		{EntityHost, "down", "up", []string{"register", "host_report"}, "it came back under a new epoch, or its owners had and it is reported recovered"},
	}
}

func taskTransitions() []Transition {
	return []Transition{
		{EntityTask, "", "queued", []string{"task_enqueue", "mend_task"}, "its row is durable; made, swept back or, as the next generation, retried"},
		{EntityTask, "", "delayed", []string{"task_enqueue"}, "made, and not to begin before its time"},
		{EntityTask, "queued", "running", []string{"task_exchange"}, "a taskrunner took it"},
		{EntityTask, "queued", "cancelling", []string{"task_exchange"}, "taken after somebody asked to stop it: it is not run"},
		{EntityTask, "queued", "delayed", []string{"task_exchange"}, "it met a death, and the taskrunner has another such task in hand"},
		{EntityTask, "delayed", "queued", []string{"task_exchange", "beat", "promote", "task_wake", "mend_task"}, "its time came, or what it waits for ended"},
		{EntityTask, "running", "cancelling", []string{"task_cancel"}, "somebody asked to stop it"},
		{EntityTask, "running", "queued", []string{"task_exchange", "settle", "revoke"}, "released"},
		{EntityTask, "cancelling", "queued", []string{"task_exchange", "settle", "revoke"}, "released: its next claim is told"},
		{EntityTask, "running", "delayed", []string{"task_exchange", "settle", "revoke"}, "a failure, or it waits for its children"},
		{EntityTask, "cancelling", "delayed", []string{"task_exchange", "settle", "revoke"}, "a failure: its next claim is told"},
		{EntityTask, "running", "done", []string{"task_exchange", "settle", "revoke"}, "end recorded"},
		{EntityTask, "running", "dead", []string{"task_exchange", "settle", "revoke"}, "attempts used up, or trying again is no use"},
		{EntityTask, "cancelling", "cancelled", []string{"task_exchange", "settle", "revoke"}, "its work was stopped"},
		{EntityTask, "cancelling", "done", []string{"task_exchange", "settle", "revoke"}, "its end was recorded before it was stopped"},
		{EntityTask, "cancelling", "dead", []string{"task_exchange", "settle", "revoke"}, "its end was recorded before it was stopped"},
		{EntityTask, "queued", "cancelled", []string{"task_withdraw"}, "cancelled while it waited"},
		{EntityTask, "delayed", "cancelled", []string{"task_withdraw"}, "cancelled while it waited"},
	}
}

func evacuationTransitions() []Transition {
	unassigned := []string{
		"unassign", "host_drain", "host_probation", "host_down", "host_report", "host_forget", "vm_reconcile", "register", "withdraw",
		"change", "lease_reroute", "mend_host", "mend_request", "mend_left", "reclaim",
	}
	return []Transition{
		{EntityEvacuation, "", "scheduled", []string{"settle", "revoke", "exchange", "beat", "promote"}, "assigned to another host: its own was lost or drained, or had two faults with it"},
		{EntityEvacuation, "", "parked", []string{"settle", "revoke"}, "its host was lost or drained, and nothing living can run it"},
		{EntityEvacuation, "scheduled", "accepted", []string{"exchange"}, "its host took it together with a VM"},
		{EntityEvacuation, "parked", "accepted", []string{"exchange"}, "the first host that can took it together with a VM"},
		{EntityEvacuation, "accepted", "finished", []string{"exchange", "settle", "revoke"}, "the request ended there"},
		{EntityEvacuation, "accepted", "failed", []string{"exchange", "settle", "revoke", "mend_request", "mend_left", "reclaim"}, "the request did not end there, or is to run apart"},
		{EntityEvacuation, "scheduled", "failed", unassigned, "its host did not take it in time, or takes no work any more; or the request was withdrawn, its pool changed, or it runs yet"},
		{EntityEvacuation, "parked", "failed", []string{"withdraw", "change", "mend_request", "mend_left", "lease_reroute", "reclaim"}, "the request was withdrawn, its pool changed, or it runs yet"},
	}
}
