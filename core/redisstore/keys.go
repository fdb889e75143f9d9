package redisstore

import (
	"fmt"
	"strings"
)

// KeyDef describes one kind of key. The Go builder, the Lua constants and the
// table in docs/redis.md are made from it, so that a key has one home.
type KeyDef struct {
	Name    string // as scripts say it: K.<name>
	Pattern string // below the namespace; <x> is an argument
	Type    string // as Redis' TYPE says
	Holds   string
}

//go:generate go test . -run ^TestRedisDocIsCurrent$ -update

// Keys returns every key that drover uses, in the order of the documents.
func Keys() []KeyDef {
	return []KeyDef{
		{"meta", "meta", "hash", "schema version; store: the id of the result store that is the ledger; blobs: that of the blob store; incarnation: which incarnation of Redis this is | since when it is seen to serve, ms | ms for which what it gives out may have ended; placed: how often work was placed on hosts; set_back: when Redis began by a clock that was set back, and since when it is; mass_late_<ms>: since when most owners are late by so much; silent_until: when the last silence of everybody ended, ms; tombstones_since: when the younger tombstones began; back_at: when its clock was last seen to have been set back, ms; overseen: when an overseer gave its last sign, ms | when the next is due; tasks_taken: claims of tasks so far, whose priorities take turns"},
		{"owners", "owners", "zset", "owner → when its next heartbeat is due, ms; 0 once fenced"},
		{"owner", "owner:<owner>", "hash", "role host pid version epoch since; process: which it is; idle: its last call wanted more than there was; per lane the last call and its answer"},
		{"slots", "slots:<owner>", "hash", "request, task or VM → vm, kind or pool | token | since | phase, and perhaps | ms after since in which the phase ends or is heard of again: what this owner holds"},
		{"hosts", "hosts", "zset", "host → when the next heartbeat of any of its owners is due, ms"},
		{"host", "host:<host>", "hash", "state drain epoch machine cpu memory disk; drain_until: ms, or 0; drain_within: ms that it was given then, or 0; wished: the incarnation of Redis in which it was restored what the result store has of it; failed: when | by whom | why it was reported failed; reported: the last report on it that was acted on; probation: ms before which it gets nothing | canaries in a row that went well | how many end it | its present delay in ms | why; canary: the request that it was given on trial | its owner; probations: how many there were; incarnation of Redis it reconciled with; broken: pools whose VMs cannot be made there, and why; fetching: pools whose images are on their way there; providers: what holds which limit there, and their self-tests"},
		{"pools", "pools", "set", "names of pools"},
		{"pool", "pool:<pool>", "hash", "settings as JSON, and apart those that scripts read: paused, max_waiting, max; tickets: claims so far, whose priorities take turns"},
		{"turns", "turns:<pool>:<priority>", "list", "submitters with waiting requests, whose turn is next first"},
		{"queue", "queue:<pool>:<priority>:<submitter>", "list", "their waiting requests, oldest first"},
		{"assigned", "assigned:<host>:<pool>", "list", "waiting requests that only this host takes; it takes them first"},
		{"parked", "parked:<pool>", "list", "requests that nothing living could run when their host was lost; the first claim of the pool takes them, before the queues"},
		{"apart", "apart:<pool>", "list", "waiting requests that met the death of an owner; an owner takes one, and no other before that left its hand"},
		{"later", "later", "zset", "request → when its next try is due after a platform fault, ms"},
		{"specs", "specs", "hash", "request → its spec as JSON: every accepted, unfinished request that Redis knows"},
		{"counts", "counts", "hash", "<pool>:<priority> → how many of their requests wait, wherever; tasks:<priority>:<kind> → how many of their tasks are in queues; bytes → what the specs take: doctor holds them against what is there"},
		{"attempts", "attempts", "hash", "request or task → tries that a fault ended, only once there was one"},
		{"deaths", "deaths", "hash", "request or task → the owners that died with it in hand, and its VMs that died, separated by a space, oldest first, with ~ for a VM that did not come clean, and ! where it counts against it; the last 8"},
		{"hands", "hands", "hash", "owner whose epoch was ended → its process | that epoch | which of what it had in hand its death would count against | what it had in hand then: until it is known whether the process died or lives"},
		{"waits", "waits", "hash", "request → since when it waits anew, ms: it was in a hand and was given back, or Redis had lost it"},
		{"shun", "shun", "hash", "request → the host where its last platform fault was"},
		{"evacuations", "evacuations", "hash", "request → scheduled, parked or accepted | from host | to host | when scheduled, ms | when accepted, ms, or 0 | why: its move off a host"},
		{"evacuated", "evacuated", "list", "the last 1000 moves that ended, newest first: request | finished or failed | from | to | scheduled, accepted and ended, ms | why"},
		{"cancels", "cancels", "hash", "request or task → who asked to stop it"},
		{"dead", "dead", "zset", "request → when its attempts were used up, ms"},
		{"tombstones", "tombstones", "set", "requests and tasks that ended lately"},
		{"tombstones_old", "tombstones:old", "set", "those that ended before; forgotten whole, when the younger take their place"},
		{"idle", "idle:<pool>", "set", "hosts with clean VMs whose owners wanted work of the pool and found none: whom to wake"},
		{"vms", "vms:<host>", "hash", "VM → pool | since: all VMs of the host"},
		{"clean", "vms:<host>:<pool>:clean", "list", "ready and unused VMs, oldest first"},
		{"dirty", "vms:<host>:dirty", "list", "VMs to be destroyed, oldest first"},
		{"promises", "promises:<pool>", "hash", "host → VMs that it makes for waiting work, or is about to | how many of them are in creation | until when that holds unless it is said again, ms | since when some are not begun, ms"},
		{"quarantined", "vms:<host>:quarantined", "hash", "VM → why it could not be destroyed"},
		{"tasks", "tasks", "hash", "task → its priority, kind, lane and itself as JSON, separated by a space: every accepted, unfinished task"},
		{"tasks_kinds", "tasks:kinds:<priority>", "list", "kinds with waiting tasks, whose turn is next first"},
		{"tasks_lanes", "tasks:lanes:<priority>:<kind>", "list", "their lanes with waiting tasks, whose turn is next first"},
		{"tasks_queue", "tasks:queue:<priority>:<kind>:<lane>", "list", "waiting tasks, oldest first"},
		{"tasks_later", "tasks:later", "zset", "task → when it is due, ms: until its time, the pause after a failure, or others that it waits for"},
		{"tasks_paused", "tasks:paused", "zset", "task in tasks:later → when its pause began, ms, which is no time that it was told to wait for"},
		{"tasks_hand", "tasks:hand:<kind>", "set", "tasks in slots"},
		{"tasks_rates", "tasks:rates", "hash", "kind → one per µs | how many may begin at once after a rest | how many may be in hand; 0: any"},
		{"tasks_arrivals", "tasks:arrivals", "hash", "kind with a rate → when the next of its tasks comes in its rhythm, µs"},
		{"tasks_progress", "tasks:progress", "hash", "task that was begun, and perhaps waits for others → since when, ms | done | total | what it is at"},
		{"epochs", "epochs", "hash", "owner or host → its epoch; never deleted"},
		{"events", "events", "stream", "transitions, capped; one entry a script call, naming all it moved (a request and a VM taken together: claimed)"},
		{"reports", "reports", "stream", "what watchdogs say of hosts: host, event (failed or recovered), reason, by; capped; group overseer"},
		{"output", "output:<request>:<token>", "stream", "live output, capped, gone an hour after the last write: s stream, o bytes of it that came before, d piece"},
		{"outputs", "outputs", "zset", "request:token of each live output → when it ended, ms; of one that goes on, when it is gone unless something is written: the first goes first where there is too much"},
		{"outputs_of", "outputs:of:<submitter>", "zset", "the same of one submitter's; -: of requests that Redis did not know any more"},
		{"outputs_sizes", "outputs:sizes", "hash", "request:token → bytes, with 128 for each piece | pieces | submitter"},
		{"outputs_sums", "outputs:sums", "hash", "submitter → bytes of its live output; *: of all. What went by itself counts until others are written"},
		{"bell", "bell:<host>", "list", "at most one entry: wakes one idle owner of the host"},
		{"factory_bell", "bell:<host>:vmfactory", "list", "at most one entry: wakes the host's vmfactory"},
		{"tasks_bell", "tasks:bell", "list", "at most one entry: wakes one idle taskrunner"},
		{"rate", "rate:<kind>:<hash>", "string", "SHA-256 of the name of who does something often, such as a user that signs in → when the next one comes in the rhythm of its rate, µs | the last call that took; gone once that time is past"},
		{"web_session", "web:session:<hash>", "string", "hash of the token in a browser's cookie → what the session of the site holds; empty: it was ended; gone when it is over"},
		{"cache", "cache:<kind>:<hash>", "hash", "fields or count | SHA-256 of a name, such as that of a folder of the Tango API → its texts by field, or how often it was counted; gone a while after the last was put"},
		{"notice", "notice:<owner>", "list", "at most one entry: tells the owner to ask what was cancelled"},
	}
}

// Space is a namespace: every key of one cluster begins with it.
type Space string

// Key builds the key with the given KeyDef name. It panics on a name or number
// of arguments that Keys does not have: a bug, not an input.
func (s Space) Key(name string, args ...string) string {
	pattern, ok := patterns[name]
	if !ok || strings.Count(pattern, "<") != len(args) {
		panic(fmt.Sprintf("redisstore: no key %q with %d arguments", name, len(args)))
	}
	var b strings.Builder
	b.WriteString(string(s))
	b.WriteByte(':')
	for _, arg := range args {
		before, rest, _ := strings.Cut(pattern, "<")
		_, after, _ := strings.Cut(rest, ">")
		b.WriteString(before)
		b.WriteString(arg)
		pattern = after
	}
	b.WriteString(pattern)
	return b.String()
}

var patterns = func() map[string]string {
	m := make(map[string]string)
	for _, k := range Keys() {
		m[k.Name] = k.Pattern
	}
	return m
}()

// luaKey returns the Lua statement that makes a key known to a script: a string,
// or a function of the pattern's arguments. P is the namespace and its colon.
func luaKey(k KeyDef) string {
	var params, parts []string
	rest := k.Pattern
	for {
		before, tail, found := strings.Cut(rest, "<")
		if before != "" {
			parts = append(parts, "'"+before+"'")
		}
		if !found {
			break
		}
		name, after, _ := strings.Cut(tail, ">")
		params, parts = append(params, name), append(parts, name)
		rest = after
	}
	expr := "P.." + strings.Join(parts, "..")
	if len(params) == 0 {
		return fmt.Sprintf("local K_%s=%s", k.Name, expr)
	}
	return fmt.Sprintf("local function K_%s(%s) return %s end", k.Name, strings.Join(params, ","), expr)
}
