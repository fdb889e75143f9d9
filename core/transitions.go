package core

// Entity is a kind of thing that has states.
type Entity string

// The entities of the transition table.
const (
	EntityRequest Entity = "request"
	EntityVM      Entity = "vm"
	EntityHost    Entity = "host"
)

// Transition is one legal move. By lists the operations that make it: the stems
// of Lua scripts, or "store" where the move is the recording of a result.
type Transition struct {
	Entity Entity
	From   string // "" for the first appearance
	To     string
	By     []string
	Why    string
}

// Transitions returns the one table of legal moves. The scripts' headers, the
// documents' pictures and the tests are checked against it.
func Transitions() []Transition {
	return []Transition{
		{EntityRequest, "", "queued", []string{"enqueue"}, "accepted: its row is durable; submitted, swept back or rerun"},
		{EntityRequest, "queued", "claimed", []string{"exchange"}, "an owner took it together with a VM"},
		{EntityRequest, "queued", "cancelling", []string{"exchange"}, "taken after somebody asked to stop it: it is not run"},
		{EntityRequest, "parked", "claimed", []string{"exchange"}, "an owner took it together with a VM"},
		{EntityRequest, "parked", "cancelling", []string{"exchange"}, "taken after somebody asked to stop it: it is not run"},
		{EntityRequest, "parked", "queued", []string{"exchange"}, "it met a death since it was parked: it runs apart"},
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
		{EntityRequest, "parked", "cancelled", []string{"withdraw"}, "cancelled or superseded while it was parked"},
		{EntityRequest, "parked", "timed_out", []string{"withdraw"}, "waited longer than its pool allows"},
		{EntityRequest, "claimed", "dead", []string{"exchange", "settle", "revoke"}, "attempts used up"},
		{EntityRequest, "running", "dead", []string{"exchange", "settle", "revoke"}, "attempts used up"},
		{EntityVM, "", "creating", []string{"vm_create"}, "the pool is below its target"},
		{EntityVM, "creating", "clean", []string{"vm_ready"}, "its agent answers"},
		{EntityVM, "creating", "dirty", []string{"vm_ready", "settle", "revoke"}, "its creation failed, or its creator died or hangs"},
		{EntityVM, "clean", "claimed", []string{"exchange"}, "taken together with a request"},
		{EntityVM, "clean", "dirty", []string{"vm_retire", "vm_reconcile"}, "failed its health check, or too many"},
		{EntityVM, "claimed", "dirty", []string{"exchange", "settle", "revoke"}, "its claim ended; a VM is never used again"},
		{EntityVM, "dirty", "destroying", []string{"vm_destroy"}, "taken by the host's vmfactory"},
		{EntityVM, "destroying", "dirty", []string{"settle", "revoke"}, "its destroyer died or hangs"},
		{EntityVM, "destroying", "quarantined", []string{"vm_gone"}, "could not be destroyed"},
		{EntityVM, "destroying", "gone", []string{"vm_gone"}, "destroyed"},
		{EntityVM, "", "clean", []string{"vm_reconcile"}, "found on the host, healthy and unused"},
		{EntityVM, "", "dirty", []string{"vm_reconcile"}, "found on the host, not known or not healthy"},
		{EntityVM, "clean", "gone", []string{"vm_reconcile"}, "not on the host any more"},
		{EntityVM, "dirty", "gone", []string{"vm_reconcile"}, "not on the host any more"},
		{EntityVM, "quarantined", "gone", []string{"vm_reconcile"}, "not on the host any more"},
		{EntityVM, "clean", "lost", []string{"host_down", "host_report", "host_forget", "vm_reconcile"}, "its host is lost"},
		{EntityVM, "dirty", "lost", []string{"host_down", "host_report", "host_forget", "vm_reconcile"}, "its host is lost"},
		{EntityVM, "quarantined", "lost", []string{"host_down", "host_report", "host_forget", "vm_reconcile"}, "its host is lost"},
		{EntityVM, "creating", "lost", []string{"settle", "revoke"}, "its host is lost"},
		{EntityVM, "claimed", "lost", []string{"settle", "revoke"}, "its host is lost"},
		{EntityVM, "destroying", "lost", []string{"settle", "revoke"}, "its host is lost"},
		{EntityHost, "", "up", []string{"register"}, "its first owner registered"},
		{EntityHost, "up", "suspect", []string{"host_judge"}, "all its owners are late"},
		{EntityHost, "suspect", "up", []string{"host_judge"}, "an owner's heartbeat arrived"},
		{EntityHost, "up", "down", []string{"host_report", "vm_reconcile"}, "reported failed; fenced"},
		{EntityHost, "suspect", "down", []string{"host_down", "host_report", "vm_reconcile"}, "late beyond the limit, or reported failed; fenced"},
		{EntityHost, "down", "up", []string{"register", "host_report"}, "it came back under a new epoch, or its owners had and it is reported recovered"},
	}
}
