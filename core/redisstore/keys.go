package redisstore

import (
	"fmt"
	"slices"
	"strings"

	"drover/core/service/pattern"
)

// KeyDef describes one kind of key. The Go builder, the Lua constants and the table in docs/redis.md are made from
// it, so that a key is defined in one place.
type KeyDef struct {
	Name    string // its name in scripts: K.<name>
	Pattern string // below the namespace; <x> is an argument
	Type    string // Redis' name of its type
	Holds   string
}

//go:generate go test . -run ^TestRedisDocIsCurrent$ -update

// Keys returns every kind of key that drover uses, in the order of the documents.
func Keys() []KeyDef { return slices.Clone(keys) }

var keys = []KeyDef{
	{"meta", "meta", "hash", "schema version; store: the id of the result store; blobs: that of the blob store; incarnation: " + form("incarnation") + ": the current incarnation of Redis, since when it serves, ms for which its queued work may have ended already; old_memory: whether it began with a memory, 1 or 0; placed: how often work was placed on hosts; set_back: " + form("set_back") + ": when Redis began by a clock that was set back, and since when it was; mass_late_<ms>: since when most owners are late by so much; silent_until: when the last silence of all owners ended that most had come back to since the one before, ms; silent_again: when the last one ended, ms; tombstones_since: when the younger set of tombstones began; back_at: when its clock was last found to have been set back, ms; gaps: " + form("gap") + ", separated by spaces: until when nobody gave a sign, and for how long, ms, the last 16; overseen: " + form("overseen") + ": the last sign of an overseer, and when the next is due; load_age: time after which hosts send what they measured, however little has changed, ms, which grows with the number of hosts; planned: " + form("planned") + ": the last round of placement, when it was, and until when vmfactories follow its targets, ms; tasks_taken: claims of tasks so far, whose priorities take turns"},
	{"owners", "owners", "zset", "owner → when its next heartbeat is due, ms; 0 once fenced"},
	{"owners_on", "owners:on:<host>", "set", "the owners of the host"},
	{"owner", "owner:<owner>", "hash", "role host pid version epoch since; process: the identity of its process; former: its epoch that Redis had forgotten when it registered, or 0; idle: its last call wanted more than it got; per lane the last call and its answer: " + form("lane") + ", of a taskrunner " + form("task_lane") + "; destroy: the last call that took dirty VMs, and the VMs: " + form("destroy")},
	{"slots", "slots:<owner>", "hash", "request, task or VM → " + form("slot") + ": what this owner holds; what: a VM, kind or pool; limit: ms after since within which the phase must end or be renewed, 0: the default of the phase"},
	{"held", "held", "hash", "request or task in a slot → " + form("held") + ": whose it is"},
	{"hosts", "hosts", "zset", "host → when the next heartbeat of any of its owners is due, ms"},
	{"host", "host:<host>", "hash", "state drain epoch machine cpu memory disk; drain_until: ms, or 0; drain_within: the deadline given, ms, or 0; settings: labels, reserve and overcommit as JSON; serves: pools whose VMs it makes; targets: pool → VMs that it should have, as JSON; none: no round of placement took it in; max_vms: most VMs of all pools, 0: any number; takes: pool → ms that a VM took to make of late, as JSON; wished: the incarnation of Redis in which its desired state was restored from the result store; failed: " + form("failed") + ": when, by whom and why it was reported failed; reported: the last report that was acted on; probation: " + form("probation") + ": when it gets work again, ms, canaries in a row that succeeded, how many end it, its current delay, ms, and why; canary: " + form("canary") + ": its request on trial, and its owner; probations: how many there were; incarnation of Redis it reconciled with; load: what its vmfactory measured, as JSON: what is free and the pressure; load_at: when it sent that, ms; broken: pools whose VMs cannot be created there, and why; broken_since: these pools, each with a colon and since when, ms; fetching: pools whose images are being fetched; providers: what enforces each limit there, and their self-tests"},
	{"suspects", "suspects", "set", "hosts that are suspect, and perhaps others that were"},
	{"pools", "pools", "set", "names of pools"},
	{"pool", "pool:<pool>", "hash", "settings as JSON, and separately those that scripts read: paused, max_waiting, max, running; of, holders: of a pool of a lease: the pool that it is of, and " + form("holders") + ": whose requests go there, if it is open: 1 or 0; submitter:<submitter>, class:<class>: the leased pools to which requests go, by name, of which the first counts; tickets: claims so far, whose priorities take turns; use: " + form("use") + ": claims that the last round of placement found, when they last grew, ms, claims per million seconds of late, and when that was counted, ms; outage: " + form("outage") + ": since when none of its hosts can make its VMs, ms, one of them, and why it cannot"},
	{"turns", "turns:<pool>:<line>", "list", "submitters with waiting requests, the next turn first; line: a priority or, for what is due within the hour, <priority>-soon"},
	{"queue", "queue:<pool>:<line>:<submitter>", "list", "their waiting requests, oldest first"},
	{"due", "due", "zset", "request in a queue, as far as is known, that is due later → when it is due within the hour, ms"},
	{"running", "running", "hash", "request in a slot, of a pool that limits how many of a submitter and priority run at once → <pool>:<priority>:<submitter>"},
	{"assigned", "assigned:<host>:<pool>", "list", "waiting requests that only this host takes; it takes them first"},
	{"parked", "parked:<pool>", "list", "requests that no living host had room for when their host was lost; the first claim of the pool takes them, before the queues"},
	{"apart", "apart:<pool>", "list", "waiting requests that met the death of an owner; an owner holds at most one of them"},
	{"later", "later", "zset", "request → when its next try is due after a platform fault, ms"},
	{"specs", "specs", "hash", "request → its spec as JSON: every accepted, unfinished request that Redis knows"},
	{"counts", "counts", "hash", "<pool>:<priority> → how many of their requests wait, in any place; tasks:<priority>:<kind> → how many of their tasks are in queues; running:<pool>:<priority>:<submitter> → how many of their requests run, where the pool limits that; bytes → the size of the specs: doctor checks the counts"},
	{"attempts", "attempts", "hash", "request or task → tries that ended by a fault, if there was one"},
	{"deaths", "deaths", "hash", "request or task → the owners that died while they held it, and its VMs that died, separated by a space, oldest first, with ~ for a VM that could not be cleaned, and ! where the death counts against it; the last 8"},
	{"hands", "hands", "hash", "owner whose epoch was ended → " + form("hand") + ": its process, that epoch, the item that its death would count against, and what it held then: until it is known whether the process died or lives"},
	{"waits", "waits", "hash", "request → since when it waits again, ms: an owner gave it back, or Redis had lost it"},
	{"shun", "shun", "hash", "request → the host where its last platform fault was"},
	{"evacuations", "evacuations", "hash", "request → " + form("move") + ": its move off a host, which is scheduled, parked or accepted; times in ms, or 0"},
	{"evacuated", "evacuated", "list", "the last 1000 moves that ended, finished or failed, newest first: " + form("moved")},
	{"cancels", "cancels", "hash", "request or task → who cancelled it"},
	{"dead", "dead", "zset", "request → when its attempts were used up, ms"},
	{"tombstones", "tombstones", "set", "requests and tasks that ended recently"},
	{"tombstones_old", "tombstones:old", "set", "those that ended before; deleted as a whole when the younger set replaces it"},
	{"idle", "idle:<pool>", "set", "hosts to wake: they have clean VMs, and their owners found no work of the pool"},
	{"vms", "vms:<host>", "hash", "VM → " + form("vm") + ": all VMs of the host"},
	{"clean", "vms:<host>:<pool>:clean", "list", "ready and unused VMs, oldest first"},
	{"dirty", "vms:<host>:dirty", "list", "VMs to be destroyed, oldest first"},
	{"promises", "promises:<pool>", "hash", "host → " + form("promise") + ": VMs that it creates for waiting work, or is about to, how many of them are in creation, until when this holds unless renewed, ms, and since when some are not begun, ms"},
	{"quarantined", "vms:<host>:quarantined", "hash", "VM → why it could not be destroyed"},
	{"tasks", "tasks", "hash", "task → its priority, kind, lane and the task as JSON, separated by a space: every accepted, unfinished task"},
	{"tasks_kinds", "tasks:kinds:<priority>", "list", "kinds with waiting tasks, the next turn first"},
	{"tasks_lanes", "tasks:lanes:<priority>:<kind>", "list", "their lanes with waiting tasks, the next turn first"},
	{"tasks_queue", "tasks:queue:<priority>:<kind>:<lane>", "list", "waiting tasks, oldest first"},
	{"tasks_later", "tasks:later", "zset", "task → when it is due, ms: until its time, the pause after a failure, or others that it waits for"},
	{"tasks_paused", "tasks:paused", "zset", "task in tasks:later → when its pause began, ms; a pause is not a requested delay"},
	{"tasks_hand", "tasks:hand:<kind>", "set", "tasks in slots"},
	{"tasks_rates", "tasks:rates", "hash", "kind → " + form("task_rate") + ": one per µs, how many may begin at once after a rest, and how many may run at once; 0: any"},
	{"tasks_arrivals", "tasks:arrivals", "hash", "kind with a rate → when the next of its tasks is due by its rate, µs"},
	{"tasks_progress", "tasks:progress", "hash", "task that was begun, and perhaps waits for others → " + form("progress") + ": since when, ms, and its progress"},
	{"epochs", "epochs", "hash", "owner or host → its epoch; never deleted"},
	{"events", "events", "stream", "transitions, capped; one entry for each script call, with all that it moved (a request and a VM taken together: claimed)"},
	{"reports", "reports", "stream", "reports of watchdogs on hosts: host, event (failed or recovered), reason, by; capped; group overseer"},
	{"output", "output:<request>:<token>", "stream", "live output, capped, deleted an hour after the last write: s stream, o offset in bytes, d piece; of the stream tests one letter for each test"},
	{"outputs", "outputs", "zset", "request:token of each live output → when it ended, ms; for a running one, when it expires unless it is written to: the first is dropped first beyond the limit"},
	{"outputs_of", "outputs:of:<submitter>", "zset", "the same for one submitter; -: for requests that Redis did not know any more"},
	{"outputs_sizes", "outputs:sizes", "hash", "request:token → " + form("output") + ": plus 128 bytes for each piece; who: the submitter"},
	{"outputs_sums", "outputs:sums", "hash", "submitter → bytes of its live output; *: of all. What expired counts until others are written"},
	{"bell", "bell:<host>", "list", "at most one entry: wakes one idle owner of the host"},
	{"factory_bell", "bell:<host>:vmfactory", "list", "at most one entry: wakes the host's vmfactory"},
	{"placement_bell", "placement:bell", "list", "at most one entry: wakes one overseer, to place VMs for work that waits"},
	{"tasks_bell", "tasks:bell", "list", "at most one entry: wakes one idle taskrunner"},
	{"rate", "rate:<kind>:<hash>", "string", "SHA-256 of the name that a rate limits, such as a user that signs in → when the next action is due by the rate, µs | the last call that took one; expires at that time"},
	{"web_session", "web:session:<hash>", "string", "hash of the token in a browser's cookie → the content of the session; empty: it was ended; expires with the session"},
	{"cache", "cache:<kind>:<hash>", "hash", "fields or count | SHA-256 of a name, such as that of a folder of the Tango API → its texts by field, or its count; expires a while after the last write"},
	{"notice", "notice:<owner>", "list", "at most one entry: notifies the owner to check for cancellations"},
}

// Space is a namespace: every key of one cluster begins with it.
type Space string

// Key returns the key with the given KeyDef name. It panics on a name or number of arguments that Keys does not have:
// that is a bug, not bad input.
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

// luaKey returns the Lua expression of a key of those arguments, which are Lua expressions too. P is the namespace and
// its colon. A script that had a function for each kind of key would make some thirty functions in each call.
func luaKey(name string, args []string) string {
	expr, rest := "P", patterns[name]
	for {
		before, tail, found := strings.Cut(rest, "<")
		if before != "" {
			expr += "..'" + before + "'"
		}
		if !found {
			break
		}
		if len(args) == 0 {
			panic(fmt.Sprintf("redisstore: a script has too few arguments for K.%s", name))
		}
		arg := strings.TrimSpace(args[0])
		if !luaWord().MatchString(arg) {
			arg = "(" + arg + ")"
		}
		expr += ".." + arg
		_, rest, _ = strings.Cut(tail, ">")
		args = args[1:]
	}
	if len(args) > 0 {
		panic(fmt.Sprintf("redisstore: a script has too many arguments for K.%s", name))
	}
	return "(" + expr + ")"
}

var (
	luaKeyUse = pattern.New(`\bK\.([a-z_]+)`)
	luaWord   = pattern.New(`^(\w+|'[^']*')$`)
)

// withKeys returns Lua source in which the keys that it names, as K.<name> or K.<name>(arguments), are expressions.
func withKeys(source string) string {
	var b strings.Builder
	for {
		at := luaKeyUse().FindStringSubmatchIndex(source)
		if at == nil {
			break
		}
		name, after := source[at[2]:at[3]], source[at[1]:]
		var args []string
		if strings.Contains(patterns[name], "<") {
			args, after = luaArguments(after)
		}
		for i, arg := range args {
			args[i] = withKeys(arg)
		}
		b.WriteString(source[:at[0]] + luaKey(name, args))
		source = after
	}
	return b.String() + source
}

// luaArguments returns the arguments of a call, whose opening bracket source begins with, and what follows it.
func luaArguments(source string) (args []string, rest string) {
	depth, from, quoted := 0, 1, false
	for i, c := range source {
		switch {
		case c == '\'':
			quoted = !quoted
		case quoted:
		case c == '(' || c == '{' || c == '[':
			depth++
		case c == ',' && depth == 1:
			args, from = append(args, source[from:i]), i+1
		case c == ')' || c == '}' || c == ']':
			depth--
			if depth == 0 {
				return append(args, source[from:i]), source[i+1:]
			}
		}
	}
	panic("redisstore: a script names a key without its arguments: " + source)
}
