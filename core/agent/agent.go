// Package agent is the host's end of the agent, the small program that is the init of every VM: it stages files, runs
// a command as an unprivileged user within limits, streams its output, and kills everything afterwards.
//
// The protocol is plain HTTP over a unix socket that was bound outside the VM, with a secret that is only in the VM's
// folder on the host:
//
//	GET  /status          → Status
//	PUT  /assignment      of this VM; once in its life
//	PUT  /stage/<place>   entries; all of them are there afterwards, or nothing
//	POST /run             a command, then its standard input → frames, the last an Exit
//	POST /calls           the connection becomes that of the next call of drover-run, for another VM
//	PUT  /lay/<place>     entries that overwrite existing ones
//	POST /keep/<name>     keep the content of the place work
//	GET  /kept/<name>     → what is kept, and PUT to keep the same in another VM
//	POST /reset[/<name>]  remove every trace of earlier runs, and restore what was kept
//	POST /kill            kill everything except the agent
//
// Package server is the other end, package boot starts it in our executable, and package wire has what both ends
// share.
package agent

import (
	"io"
	"time"

	"drover/core"
	"drover/core/agent/wire"
)

// Files of a VM's folder on its host.
const (
	SocketFile = "agent.sock"
	SecretFile = "secret"
)

// Paths inside a VM.
const (
	HomeDir       = wire.Home
	HarnessDir    = wire.Home + "/" + wire.Harness
	SubmissionDir = wire.Home + "/" + wire.Submission
	WorkDir       = wire.Home + "/" + wire.Work
	BoxDir        = wire.Home + "/" + wire.Box
)

// The streams that a run's sink gets.
const (
	Stdout = "stdout"
	Stderr = "stderr"
)

// The provider's settings for an agent, and the agent's reports.
type (
	// Config are the provider's settings for the agent of its VM.
	Config = wire.Config
	// Cgroup names the files from which the agent reads its VM's usage.
	Cgroup = wire.Cgroup
	// Status is the state of an agent.
	Status = wire.Status
	// Exit says how a run ended.
	Exit = wire.Exit
)

// How our executable becomes an agent: by argv[0], with these descriptors open.
const (
	AgentName  = wire.AgentName
	ListenerFD = wire.ListenerFD
	ConfigFD   = wire.ConfigFD
	LifelineFD = wire.LifelineFD
	BadgeFD    = wire.BadgeFD
	ProcFD     = wire.ProcFD
	AnchorFD   = wire.AnchorFD
	ControlFD  = wire.ControlFD
)

// AgentEnv returns the whole environment of an agent. It keeps the Go runtime small while the VM waits; user code does
// not get it.
func AgentEnv() []string { return []string{"GOMAXPROCS=1"} }

// Run is a command to run in a VM.
type Run struct {
	Args   []string // the program, by path or by name, and its arguments
	Env    []string // NAME=value, overrides the VM's own
	Dir    string   // absolute; WorkDir if empty
	Limits core.Limits
	// Share lowers Limits for this run alone, and its CPU bounds the processor time of all its processes: for one of
	// several runs in a VM. Zero is no bound. Limits bind all later runs of the VM as well; a Share does not.
	Share core.Limits
	CPU   time.Duration
	// Stretch is the most time by which the limit by the clock of Share is put off for what the run loses to others on the
	// host.
	Stretch time.Duration
	// Reset, if it is not nil, names a state, or nothing, that a Reset before the run restores: as a call of Reset, with
	// its errors, but one call less.
	Reset *string
	// Harness allows the command to run others in the VM's box, by drover-run. Away is whether that box is another VM: the
	// calls are those of NextCall then.
	Harness, Away bool
	// Called is whether drover-run has called for the command: it is told where the place "submission" is, and its folder
	// is its HOME.
	Called bool
	// Closed, if it is not nil, is called when nothing can be written to standard output any more and the command has not
	// begun to end. No output to Stdout follows.
	Closed func()
	// Late, if it is not nil, is called when the time by the clock is up, each time: PutOff must answer it.
	Late func()
	// Stdin may be nil for an empty one. A Read in progress at the end of the run keeps a goroutine until it returns.
	Stdin io.Reader
}
