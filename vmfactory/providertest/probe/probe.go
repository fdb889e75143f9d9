// Package probe attacks the sandbox that it runs in. The test binary that
// imports it is put into a VM and started there under Flag; each probe tries one
// way out and says whether it was held. A probe that holds everywhere proves
// nothing: the package's own test runs each where it must get through.
package probe

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
)

// Flag makes a test binary run a probe, as its first argument.
const Flag = "-drover-probe"

// Held is what a probe says, and all that it says, if it got nowhere.
const Held = "held\n"

// Target is what a probe aims at. Which fields count is up to the probe.
type Target struct {
	TCP      string   `json:"tcp,omitempty"`      // an address on the host's loopback
	Abstract string   `json:"abstract,omitempty"` // the host's abstract unix socket
	Files    []string `json:"files,omitempty"`    // the host's, that must not be there
	Folders  []string `json:"folders,omitempty"`  // that must not be writable
	Sockets  []string `json:"sockets,omitempty"`  // the agent's, as the host names them
	PID      int      `json:"pid,omitempty"`      // the agent's inside the VM, or a process of the host
	Marker   string   `json:"marker,omitempty"`   // in the command line of a process of the host
	Host     string   `json:"host,omitempty"`     // the host's name
	Bits     string   `json:"bits,omitempty"`     // which items of a set are meant: 1 for those that are
	Most     int64    `json:"most,omitempty"`     // bytes, files or processes that should be had at most
}

// attacks return nil if they were held and otherwise what they could do.
var attacks = map[string]func(Target) error{}

// Names lists the probes.
func Names() []string { return slices.Sorted(maps.Keys(attacks)) }

// Args are the arguments, after the program, that run a probe.
func Args(name string, t Target) []string {
	text, err := json.Marshal(t)
	if err != nil {
		panic(err) // strings and numbers
	}
	return []string{Flag, name, string(text)}
}

func init() {
	register()
	if len(os.Args) != 4 || os.Args[1] != Flag {
		return
	}
	os.Exit(run(os.Args[2], os.Args[3], os.Stdout))
}

func run(name, text string, out io.Writer) int {
	attack, ok := attacks[name]
	if !ok {
		fmt.Fprintf(out, "there is no probe %q\n", name)
		return 2
	}
	var t Target
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		fmt.Fprintln(out, err)
		return 2
	}
	if err := attack(t); err != nil {
		fmt.Fprintf(out, "got through: %v\n", err)
		return 1
	}
	fmt.Fprint(out, Held)
	return 0
}

func register() {
	maps.Copy(attacks, map[string]func(Target) error{
		"network": network, "host-loopback": hostLoopback,
		"host-files": hostFiles, "system-files": systemFiles, "mounts": mounts, "devices": devices,
		"host-processes": hostProcesses, "agent-socket": agentSocket, "agent-signals": agentSignals, "agent-threads": agentThreads, "agent-tracing": agentTracing,
		"privileges": privileges, "namespaces": namespaces, "kernel-calls": kernelCalls, "foreign-calls": foreignCalls,
		"hostname": hostname, "proc-files": procFiles, "own-files": ownFiles, "cgroup-names": cgroupNames, "sockets": sockets,
		"forks": forks, "memory": memory, "shared-zero": sharedZero, "memory-by-many": memoryByMany, "memory-and-wait": memoryAndWait, "disk": disk, "inodes": inodes, "file-size": fileSize,
		"open-files": openFiles, "watchers": watchers, "orphans": orphans, "shared-memory": sharedMemory,
		"memory-files": memoryFiles, "memory-file": memoryFile, "memory-system-v": memorySystemV, "memory-pipes": memoryPipes, "memory-tables": memoryTables,
		"threads": threads, "deep": deep, "core-dumps": coreDumps, "crash": crash, "agent-files": agentFiles, "setuid-programs": setuidPrograms,
		"litter": litter, "locks": locks, "queues": queues, "zombies": zombies, "clocks": clocks, "priority": priority, "release-agent": releaseAgent,
		"kernel-parts": kernelParts, "terminal": terminal, "facts": facts, "spin": spin, "sessions": sessions, "traces": traces,
		"objects": holdObjects, "numbers": printNumbers, "move-numbers": moveNumbers, "touch-items": touchItems, "measure-items": measureItems, "large-files": printLargeFiles,
		"unwaited": unwaited, "unwaited-flag": unwaitedFlag, "slice": slice,
		"harness-memory": harnessMemory, "harness-arguments": harnessArguments, "harness-signals": harnessSignals, "harness-files": harnessFiles, "harness-modes": harnessModes,
		"harness-socket": harnessSocket, "harness-descriptors": harnessDescriptors,
		"sight": sight, "stains": stains,
		"access-lists": accessLists, "uncounted": uncounted, "file-locks": fileLocks, "host-stores": hostStores, "cached": cached, "marks": marks, "watches": watches,
		"counters": counters, "same-user": sameUser,
	})
}
