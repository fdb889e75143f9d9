package wire

import "time"

// Bounds of the protocol. Both ends enforce them.
const (
	MaxConfig     = 1 << 20   // bytes of an encoded Config
	MaxHead       = 8 << 10   // bytes of a request line with its headers
	MaxBody       = 4 << 10   // bytes of a small JSON body or answer
	MaxSpec       = 256 << 10 // bytes of an encoded Spec
	MaxArgs       = 256       // words of a command
	MaxEnv        = 256       // variables
	MaxAssignment = 128       // bytes
	MaxFrame      = 64 << 10  // payload bytes of one frame
	MaxConns      = 16        // connections to one agent
	MaxEntries    = 8192      // files and folders of one archive
	MaxName       = 512       // bytes of an entry's path
	MaxPart       = 255       // bytes of one name in it
	MaxDepth      = 32        // names in it
	MaxKept       = 4         // states of work that a VM keeps
	MaxKeptName   = 32        // bytes
	MaxState      = 32 << 20  // bytes of a state that is given to the host
	MaxPaths      = 64        // paths that a collection names
	MaxTaken      = 256       // files of a collection
	MaxTakenBytes = 16 << 20  // bytes of them
	MaxSkipped    = 64        // things of which a collection says why it did not take them
	MaxStretch    = 2         // times its limit by the clock, by which that of a run may be put off
	MaxBoxCalls   = 8         // calls for a run in the box that are heard at a time; one runs
)

// The agent's defaults where neither the run nor the VM sets a limit.
const (
	DefaultTimeout   = 10 * time.Minute
	DefaultOutput    = 1 << 20
	DefaultDisk      = 64 << 20
	DefaultOpenFiles = 1024
	MinOpenFiles     = 64 // what the agent itself needs; a run cannot ask for fewer
)

// A stream that reaches OutputTimes its limit and OutputSlack bytes gets its job killed.
const (
	OutputTimes = 8
	OutputSlack = 16 << 20
)

// OutputEnd is where a stream with this limit gets its job killed, in bytes.
func OutputEnd(limit int64) int64 {
	if limit > (1<<62)/OutputTimes {
		return 1 << 62
	}
	return OutputTimes*limit + OutputSlack
}

// Times of a run's connection.
const (
	Keepalive = time.Second      // the agent's longest silence
	Silence   = 15 * time.Second // after so much of it the host gives the VM up
	Stall     = 30 * time.Second // after so long without taking output the host counts as gone
)

// Times of every connection.
const (
	Idle = 2 * time.Minute  // between two requests
	Head = 15 * time.Second // for a request's head, and for a body of MaxBody
	Slow = 10 * time.Minute // between two pieces of an archive, whose source may be slow
)

// Limits that only the agent's report names; core names the others.
const (
	LimitCPU       = "cpu"
	LimitDisk      = "disk"
	LimitFileSize  = "file_size"
	LimitOpenFiles = "open_files"
	LimitNetwork   = "network"
	LimitProcesses = "processes" // none outlives its run
	LimitHarness   = "harness"   // out of reach of what it runs in the box
	LimitCores     = "cores"     // of a VM of a quiet pool: its own
)

// What enforces a limit, besides names that only a provider uses.
const (
	HeldByAgent    = "agent"
	HeldByCgroup   = "cgroup"
	HeldByRlimit   = "rlimit"
	HeldByWatchdog = "watchdog"
	HeldByUser     = "user"
	HeldByAffinity = "affinity"
	HeldByLandlock = "landlock"
	HeldByPeer     = "peer" // it is another VM
)
