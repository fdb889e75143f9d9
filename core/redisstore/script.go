package redisstore

import (
	"embed"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"drover/core/service/pattern"
)

//go:embed lua/*.lua lua/lib/*.lua
var luaFiles embed.FS

// library lists the functions that scripts share, each after those that it calls.
var library = []string{
	"now", "int", "count", "weight", "drop_specs", "output_of", "drop_output", "fail", "words", "role_of", "host_of", "there", "clean_in", "hold", "holder", "outcome_parts", "ring", "ring_hosts", "event", "vms_now", "holds", "own_slot", "add_tombstones", "has_tombstone", "endings", "pass_when_full", "next_epoch",
	"marked", "hand", "keep_hand", "died", "blame", "end_epoch",
	"priorities", "waiting_in", "route", "set_route", "in_pool", "base_of", "spec_head", "spec_change", "line_of", "waiting_of", "queued", "unqueue", "wake_idle", "wake", "never_idle", "not_idle", "enqueue", "hasten", "requeue", "remove_waiting", "able", "evacuate", "evacuated", "relocate", "assign", "unassign", "set_drain", "set_probation", "lose", "set_failed", "by_priority", "running", "take", "share", "note_running", "note_rest", "dequeue",
	"spares", "elsewhere", "promote", "forget", "trial", "judge_canary", "apart_next", "again_requests", "task_head", "enqueue_task", "pause_task", "unpause_task", "promote_tasks",
	"in_rhythm", "too_early", "next_arrival", "task_rate", "drop_arrivals", "held_back", "dequeue_tasks", "tasks_apart", "let_go", "again_tasks", "settle", "cancelled", "place", "left", "began",
	"bring_near", "overseen", "gaps", "set_gaps", "note_gap", "end_silence", "heartbeat", "overdue", "right_turn", "right_task_turn", "task_place", "ask_stop", "withdrawn", "end_outage",
}

var (
	luaCall    = pattern.New(`\b([a-z_]+)\(`)
	luaNameUse = pattern.New(`\b([KRW])\.([a-z_]+)`)
)

// scripts makes an operation, by the stem of its file, when it is first called: a program calls few of them, and most
// commands none.
var scripts = func() map[string]func() *redis.Script {
	all := make(map[string]func() *redis.Script)
	for _, name := range scriptNames() {
		all[name] = sync.OnceValue(func() *redis.Script { return redis.NewScript(assemble(name)) })
	}
	return all
}()

// scriptNames lists the operations.
func scriptNames() []string {
	entries, err := luaFiles.ReadDir("lua")
	if err != nil {
		panic(err) // embedded: cannot be missing
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, strings.TrimSuffix(e.Name(), ".lua"))
		}
	}
	return names
}

func readLua(name string) string {
	b, err := luaFiles.ReadFile(path.Join("lua", name+".lua"))
	if err != nil {
		panic(err) // embedded: cannot be missing
	}
	return string(b)
}

// withoutComments empties the lines that are comments.
func withoutComments(source string) string {
	lines := strings.Split(source, "\n")
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), "--") {
			lines[i] = ""
		}
	}
	return strings.Join(lines, "\n")
}

// function is a library function in the form in which scripts include it.
type function struct {
	text  string          // on one line, without comments, and with names as named writes them
	calls map[string]bool // see callsOf
	names map[string]bool // see namesUsed
}

// functions reads each function of library once, for all scripts that use it.
var functions = sync.OnceValue(func() map[string]func() function {
	all := make(map[string]func() function, len(library))
	for _, name := range library {
		all[name] = sync.OnceValue(func() function {
			text := withoutComments(readLua("lib/" + name))
			return function{text: named(strings.Join(strings.Fields(text), " ")), calls: callsOf(text), names: namesUsed(text)}
		})
	}
	return all
})

// assemble puts the keys, records and library functions that a script uses on the script's first line, so that line
// numbers in errors are those of the file.
func assemble(name string) string {
	body := withoutComments(readLua(name)) // its first line is a comment, which they replace
	used, uses := callsOf(body), namesUsed(body)
	var shared []string
	for _, called := range slices.Backward(library) {
		if used[called] {
			f := functions()[called]()
			maps.Copy(used, f.calls)
			maps.Copy(uses, f.names)
			shared = append(shared, f.text)
		}
	}
	slices.Reverse(shared)
	var head strings.Builder
	head.WriteString("local P=string.sub(KEYS[1],1,-5) ")
	for _, r := range Records() {
		if uses["R_"+r.Name] || uses["W_"+r.Name] {
			head.WriteString(luaRecord(r.Name) + " ")
		}
	}
	head.WriteString(strings.Join(shared, " "))
	return head.String() + named(body)
}

// named returns Lua source in which keys are expressions, and records the functions that an assembled script has.
func named(source string) string {
	return luaNameUse().ReplaceAllString(withKeys(source), "${1}_$2")
}

func callsOf(source string) map[string]bool {
	calls := make(map[string]bool)
	for _, m := range luaCall().FindAllStringSubmatch(source, -1) {
		calls[m[1]] = true
	}
	return calls
}

// namesUsed returns the keys that Lua source builds and the records that it reads and writes, as assembled scripts
// name them. It panics on a name that Keys and Records do not have.
func namesUsed(source string) map[string]bool {
	uses := make(map[string]bool)
	for _, m := range luaNameUse().FindAllStringSubmatch(source, -1) {
		_, key := patterns[m[2]]
		_, rec := recordParts[m[2]]
		if m[1] == "K" && !key || m[1] != "K" && !rec {
			panic(fmt.Sprintf("redisstore: a script uses %s, which there is not", m[0]))
		}
		uses[m[1]+"_"+m[2]] = true
	}
	return uses
}
