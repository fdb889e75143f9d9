package main

import "strings"

// raced are the packages that CI and make test-all test under the race detector, with what lies below them: those where
// goroutines share memory. The detector makes tests three to ten times slower, and in the other packages a request has
// one goroutine, which calls these.
var raced = []struct{ folder, why string }{
	{"core/agent", "one connection carries several streams, and either end may go at any time"},
	{"core/redisstore", "callers share wakeups, caches of scripts and connections"},
	{"core/requests", "followers of output share what they read"},
	{"core/service", "groups of goroutines, locks, signals, clocks"},
	{"core/store/sqlite", "writers wait for one another in one queue"},
	{"core/worker", "heartbeats, claims and drains of one owner run side by side"},
	{"overseer", "chores run side by side and share a round's state"},
	{"taskrunner", "slots, heartbeats and cancellations meet"},
	{"testrunner", "slots, heartbeats, cancellations and two VMs of one run meet"},
	{"vmfactory", "VMs are made, checked and destroyed side by side"},
	{"web/live", "one event goes to many readers, each with a buffer"},
	{"web/transfer", "uploads are unpacked while they come"},
}

// unwatched is what the race detector does not look into: C translated to Go, an interpreter of Lua, and readers of texts,
// which keep their memory to themselves and would take most of the processor's time. Who calls them is watched. None may
// use sync.Map: its code is generic, and the linker takes that of any package.
var unwatched = []string{
	"modernc.org/sqlite/lib", "modernc.org/libc", "modernc.org/memory", "github.com/yuin/gopher-lua",
	"regexp", "regexp/syntax", "go/scanner", "go/parser", "go/ast",
}

// isRaced reports whether a package, such as drover/core/worker, is tested under the race detector.
func isRaced(pkg string) bool {
	for _, r := range raced {
		if rest, below := strings.CutPrefix(pkg, module+r.folder); below && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}
