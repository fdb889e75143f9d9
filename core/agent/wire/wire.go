// Package wire has what both ends of the agent share: the types, the bounds and the frames. The agent inside a VM
// imports it, so it must stay light: package boot says why and has the test.
package wire

import (
	"time"

	"drover/core"
)

// AgentName is argv[0] of an executable that is to be a VM's agent.
const AgentName = "drover-agent"

// Descriptors that an agent inherits.
const (
	ListenerFD = 3  // a listening unix socket, bound outside the VM
	ConfigFD   = 4  // an encoded Config, read to its end
	BadgeFD    = 60 // /proc/self/oom_score_adj, open for writing, if Config.Badge
	ProcFD     = 61 // a /proc that shows everything and can be written to, if Config.Proc
	LifelineFD = 5  // read end of a pipe, if Config.Lifeline: the agent ends with it
	AnchorFD   = 6  // the socket's file in the VM's folder, only named (O_PATH), if Config.Anchor: the agent ends when it is removed
	ControlFD  = 7  // the first of Controls descriptors, of which Config.Controls names those that are something
)

// The controls are files of the cgroups that user code has for itself, open for
// writing. They are numbered from ControlFD on.
const (
	ControlThreads       = 0 // and the next two: tasks of version 1, of all runs, by which the thread that starts commands goes in
	ControlOwnThreads    = 3 // and the next two: the same of a run with limits of its own
	ControlIn            = 6 // cgroup.procs of version 2, by which the agent goes in to start a command
	ControlOwnIn         = 7 // the same of a run with limits of its own
	ControlOut           = 8 // and out again
	ControlMemory        = 9 // the limit on memory of all runs together
	ControlPids          = 10
	ControlOwnMemory     = 11 // the same of a run with limits of its own
	ControlOwnPids       = 12
	ControlOwnPeak       = 13 // the most memory, open for reading as well: what is written begins it anew
	ControlFreeCaches    = 14 // frees what the kernel caches for user code, where the host has a file for that
	ControlOwnFreeCaches = 15 // the same for a run with limits of its own
	Controls             = 16 // how many there are
)

// FreeAllCaches is written to the controls that free what is cached: more than there can be.
const FreeAllCaches = "1T"

// PidsBehind is how far the cgroup of all runs stands behind their limit of processes.
// Before it the agent's watchdog ends a run and says why; behind it is RLIMIT_NPROC,
// which refuses without telling anybody.
const PidsBehind = 16

// Home is the job user's home inside a VM; the places lie below it.
const Home = "/home/job"

// The places that files are staged into.
const (
	Harness    = "harness"
	Submission = "submission"
	Work       = "work"
)

// The box is where a harness runs its submission: a user and a folder of its own, by
// the program drover-run, which asks the agent for it.
const (
	Box        = "box"                    // the folder, below Home, in which such a run begins
	BoxProgram = "/run/drover/drover-run" // in every VM
	BoxSocket  = ".drover-run"            // below Home: where the program asks, while a harness runs
	EnvBox     = "DROVER_RUN_SOCKET"      // of a harness: the path of that socket
	EnvFiles   = "DROVER_SUBMISSION"      // of a harness and of its box: where the place Submission is
	EnvPeer    = "DROVER_PEER"            // of a harness whose box is another VM: not empty
)

// Users inside a VM.
const (
	JobUID = 1000 // of user code, and its group
	BoxUID = 1001 // of the box, and its group, where the VM has more than one user
)

// Places lists the places.
func Places() []string { return []string{Harness, Submission, Work} }

// Names of the protocol.
const (
	PathStatus     = "/status"
	PathAssignment = "/assignment"
	PathStage      = "/stage/" // and the place
	PathRun        = "/run"
	PathLay        = "/lay/"     // and the place: files over what is there
	PathKeep       = "/keep/"    // and a name: what work holds now
	PathKept       = "/kept/"    // and a name: what was kept under it, or is to be
	PathReset      = "/reset"    // empty everything
	PathRestore    = "/reset/"   // and a name: and put back what was kept under it
	PathCollect    = "/collect/" // and the place
	PathKill       = "/kill"
	PathLost       = "/lost"             // GET: the Loss of the run in progress; POST: that of its partner, asked for by KindLate
	PathBox        = "/box"              // on BoxSocket alone: a BoxSpec as PathRun takes a Spec, and its answer
	PathCalls      = "/calls"            // becomes the next call on BoxSocket, if the harness is Away
	HeaderOwner    = "Drover-Assignment" // on whose behalf a file or a run comes
	AuthScheme     = "Bearer "
)

// Spec is a run as it travels: a number of bytes, so much JSON, then standard input.
type Spec struct {
	Args   []string    `json:"args"`
	Env    []string    `json:"env,omitempty"`
	Dir    string      `json:"dir,omitempty"`
	Limits core.Limits `json:"limits"`

	// Share is what this run alone gets of the limits, which stay for the runs
	// after it; zero is all. CPU is how long its processes together may compute; 0 is
	// as long as they like.
	Share core.Limits   `json:"share"`
	CPU   time.Duration `json:"cpu_ns,omitempty"`

	// Stretch is the most time by which the limit by the clock is put off for what the run loses to others on the host,
	// at most MaxStretch times the limit.
	Stretch time.Duration `json:"stretch_ns,omitempty"`

	// Reset is the name of a reset that comes first; nil is none. It saves a call.
	Reset *string `json:"reset,omitempty"`

	// Harness is whether the command may run others in the box while it runs. Away is whether that box is another VM, so
	// that the host answers its calls: see PathCalls.
	Harness bool `json:"harness,omitempty"`
	Away    bool `json:"away,omitempty"`

	// Called is whether drover-run has called for the command: it is told where the place Submission is, and its folder is
	// its HOME.
	Called bool `json:"called,omitempty"`

	// Closes asks for a frame when the command closes its standard output and goes on.
	Closes bool `json:"closes,omitempty"`

	// Asks asks for a frame when the time by the clock is up, in answer to which the host says what another run, which this
	// one talks with, has lost. The clock is put off by that, too.
	Asks bool `json:"asks,omitempty"`
}

// Loss is what a run has lost to others on the host so far.
type Loss struct {
	Ms int64 `json:"ms"`
}

// BoxSpec is a run in the box. Its Limits and Dir say nothing: it has those of the
// harness, and begins in the folder Box. Files is whether entries follow it, before
// standard input: what the place Submission is to hold, if the box is another VM.
type BoxSpec struct {
	Spec
	Files bool   `json:"files,omitempty"`
	With  string `json:"with,omitempty"` // the state that Box holds at the start; "" is nothing
	Save  string `json:"save,omitempty"` // the state that Box holds at the end is kept under this name, in the place of what was; "" is not
}

// Assignment is the body of an assignment.
type Assignment struct {
	Assignment string `json:"assignment"`
}

// Collection asks for files of a place.
type Collection struct {
	Paths []string `json:"paths"` // files, and folders with all that is below them; relative to the place
	Files int      `json:"files"` // most files; 0 is MaxTaken
	Bytes int64    `json:"bytes"` // most bytes of all; 0 is MaxTakenBytes
}

// Taken is the head of a collected file.
type Taken struct {
	Path string `json:"path"` // relative to the place
	Mode uint32 `json:"mode"` // permission bits
	Size int64  `json:"size"` // bytes, all of which follow
}

// Skipped is a file in the requested paths that was not collected.
type Skipped struct {
	Path string `json:"path"` // made printable
	Why  string `json:"why"`  // one of the words below
}

// Why something was not taken.
const (
	SkipAbsent = "it is not there"
	SkipKind   = "it is not a plain file" // a link, a pipe, a socket, a device
	SkipName   = "its name cannot be kept"
	SkipDepth  = "it lies too deep"
	SkipRoom   = "there is no room for it" // too many files, or too many bytes
	SkipRead   = "it cannot be read"
)

// Refusal is the body of every answer that is not 2xx.
type Refusal struct {
	Code    core.Code `json:"code"`
	Text    string    `json:"text"`
	Unclean bool      `json:"unclean,omitempty"` // set if the VM refuses all work because what user code left cannot be removed
	Exit    int       `json:"exit,omitempty"`    // of Unstarted
}

// Err returns it as an error about the VM id.
func (r Refusal) Err(id string) error {
	err := core.Errorf(r.Code, id, "%s", r.Text)
	if r.Exit == ExitAbsent || r.Exit == ExitRefused {
		return Unstarted{r.Exit, err}
	}
	return err
}

// Unstarted is the error of a command that cannot be started.
type Unstarted struct {
	Exit int // as a shell's: ExitAbsent or ExitRefused
	Err  error
}

// Exit codes of what cannot be started.
const (
	ExitRefused = 126 // it cannot be executed
	ExitAbsent  = 127 // it does not exist
)

// Error says why.
func (u Unstarted) Error() string { return u.Err.Error() }

// Unwrap returns the reason, with its code.
func (u Unstarted) Unwrap() error { return u.Err }

// Status is the state of a VM's agent.
type Status struct {
	State      string `json:"state"`                // Ready or Assigned
	Assignment string `json:"assignment,omitempty"` // the VM's assignment
	Processes  int    `json:"processes"`            // alive in the VM beside the agent
}

// The states of a Status.
const (
	Ready    = "ready"
	Assigned = "assigned"
)

// Exit is the end of a run, after everything that it had started was dead.
type Exit struct {
	Code            int               `json:"code"`             // exit code; 128 + the signal's number if one ended it
	Signal          string            `json:"signal,omitempty"` // such as "SIGKILL"; empty if it exited
	TimedOut        bool              `json:"timed_out,omitempty"`
	MemoryExceeded  bool              `json:"memory_exceeded,omitempty"`
	OutputExceeded  bool              `json:"output_exceeded,omitempty"` // it wrote on so long after its limit that it was killed
	PidsExceeded    bool              `json:"pids_exceeded,omitempty"`
	Truncated       bool              `json:"truncated,omitempty"` // a stream went over its limit; the rest was thrown away
	CPUMs           int64             `json:"cpu_ms"`
	WallMs          int64             `json:"wall_ms"`
	WaitedMs        int64             `json:"waited_ms,omitempty"`  // of a run that the clock ended: for how long the process that waited longest for a processor did
	LostMs          int64             `json:"lost_ms,omitempty"`    // of wall_ms, at most: that the limit by the clock did not count
	PartnerMs       int64             `json:"partner_ms,omitempty"` // of lost_ms: what the run that it talked with had lost
	BoxedMs         int64             `json:"boxed_ms,omitempty"`   // of a harness's run: of wall_ms, for which its commands have run in the box
	MemoryPeakBytes int64             `json:"memory_peak_bytes"`
	HeldBy          map[string]string `json:"held_by,omitempty"` // limit → what enforced it; "" if nothing did
	Unsaved         string            `json:"unsaved,omitempty"` // of a run in the box: why what it left could not be kept
	Refused         []string          `json:"refused,omitempty"` // limits (memory, pids) at which the kernel killed or refused something, even if the run coped
}

// Limit names the limit that ended the run, as core.Result does, or "".
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
