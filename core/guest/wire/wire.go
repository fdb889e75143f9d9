// Package wire is what both ends of the bootstrapper agree on: the types, the
// bounds and the frames of a run. The agent inside a VM imports it, so it must
// stay light: a test keeps its imports short (see package agent).
package wire

import (
	"drover/core"
)

// AgentName is argv[0] of an executable that is to be a VM's agent.
const AgentName = "drover-guest"

// Descriptors that the agent inherits.
const (
	ListenerFD = 3 // a listening unix socket, bound outside the VM
	ConfigFD   = 4 // Config as JSON, read to its end
	LifelineFD = 5 // read end of a pipe, if Config.Lifeline: its end is the agent's end
)

// Home is the job user's home inside a VM; the places lie below it.
const Home = "/home/job"

// The places that files are staged into.
const (
	Harness    = "harness"
	Submission = "submission"
	Work       = "work"
)

// Places lists the places.
func Places() []string { return []string{Harness, Submission, Work} }

// Bounds of the protocol. Both ends check them.
const (
	MaxEntries    = 8192      // files and folders of one archive
	MaxName       = 512       // bytes of one entry's path
	MaxDepth      = 32        // folders above an entry
	MaxSpec       = 256 << 10 // bytes of an encoded Spec
	MaxArgs       = core.MaxArgs
	MaxEnv        = 256
	MaxAssignment = 128
	MaxFrame      = 64 << 10 // payload bytes of one frame
	MinOpenFiles  = 64       // the agent's own need: fewer cannot be asked for
)

// What the agent falls back to where neither the run nor the VM names a limit.
const (
	DefaultOutput   = 1 << 20
	DefaultDisk     = 64 << 20
	DefaultFiles    = 1024
	OutputTimes     = 8        // a stream that reaches this many times its limit …
	OutputSlack     = 16 << 20 // … and this many bytes more gets its job killed
	KeepaliveMillis = 1000     // the agent's longest silence within a run
	SilenceMillis   = 15000    // after so much of it the host gives the VM up
)

// Limits that only the agent's report names; core has the others.
const (
	LimitCPU       = "cpu"
	LimitDisk      = "disk"
	LimitFileSize  = "file_size"
	LimitOpenFiles = "open_files"
	LimitNetwork   = "network"
	LimitProcesses = "processes" // none outlives its run
)

// What holds a limit, beside the words that only a provider uses.
const (
	HeldByAgent    = "agent"
	HeldByCgroup   = "cgroup"
	HeldByRlimit   = "rlimit"
	HeldByWatchdog = "watchdog"
)

// Config is what a provider tells the agent of its VM, once, by ConfigFD.
type Config struct {
	VM       string            `json:"vm"`
	Secret   string            `json:"secret"`             // what every call must bring; at least 16 bytes
	UID      int               `json:"uid"`                // of user code, inside the VM
	GID      int               `json:"gid"`                // of user code, inside the VM
	Home     string            `json:"home,omitempty"`     // where the places are; Home if empty
	Env      []string          `json:"env,omitempty"`      // NAME=value for every run; a default PATH, HOME and LANG are added
	Limits   core.Limits       `json:"limits"`             // the VM's own: a run gets these or less
	HeldBy   map[string]string `json:"held_by,omitempty"`  // limit → what holds it outside the agent
	Alone    bool              `json:"alone,omitempty"`    // nothing else in its user namespace runs as UID, the agent included: RLIMIT_NPROC may hold pids
	Seccomp  []byte            `json:"seccomp,omitempty"`  // array of struct sock_filter, loaded before anything else runs
	Cgroup   Cgroup            `json:"cgroup"`             // files that tell usage, where the VM can see them
	Lifeline bool              `json:"lifeline,omitempty"` // LifelineFD is open
}

// Cgroup names files of the VM's cgroups, as seen inside the VM. Either version's
// format is understood. An empty name leaves the agent to its own counting.
type Cgroup struct {
	MemoryPeak   string `json:"memory_peak,omitempty"`   // memory.peak or memory.max_usage_in_bytes
	MemoryEvents string `json:"memory_events,omitempty"` // memory.events or memory.oom_control
	CPU          string `json:"cpu,omitempty"`           // cpu.stat or cpuacct.usage
	PidsEvents   string `json:"pids_events,omitempty"`   // pids.events
}

// Spec is a run as it travels.
type Spec struct {
	Args   []string    `json:"args"`
	Env    []string    `json:"env,omitempty"`
	Dir    string      `json:"dir,omitempty"`
	Limits core.Limits `json:"limits"`
}

// Exit says how a run ended, after everything that it had started was dead.
type Exit struct {
	Code            int               `json:"code"`             // exit code; 128 + the number of the signal if one ended it
	Signal          string            `json:"signal,omitempty"` // such as "SIGKILL"; empty if it exited
	TimedOut        bool              `json:"timed_out,omitempty"`
	MemoryExceeded  bool              `json:"memory_exceeded,omitempty"`
	OutputExceeded  bool              `json:"output_exceeded,omitempty"` // went on so long after its output limit that it was killed
	PidsExceeded    bool              `json:"pids_exceeded,omitempty"`
	Truncated       bool              `json:"truncated,omitempty"` // a stream went over its limit; the rest was thrown away
	CPUMs           int64             `json:"cpu_ms"`
	WallMs          int64             `json:"wall_ms"`
	MemoryPeakBytes int64             `json:"memory_peak_bytes"`
	HeldBy          map[string]string `json:"held_by,omitempty"` // limit → what held it
}

// Limit names the limit that ended the run, as core.Result.Limit does, or "".
func (e Exit) Limit() string {
	switch {
	case e.MemoryExceeded:
		return core.LimitMemory
	case e.PidsExceeded:
		return core.LimitPids
	case e.OutputExceeded:
		return core.LimitOutput
	case e.TimedOut:
		return core.LimitTime
	}
	return ""
}

// Status is what a VM's agent says of itself.
type Status struct {
	State      string `json:"state"`                // Ready or Assigned
	Assignment string `json:"assignment,omitempty"` // whose VM it is
	Processes  int    `json:"processes"`            // alive in the VM beside the agent
}

// The states of Status.
const (
	Ready    = "ready"
	Assigned = "assigned"
)
