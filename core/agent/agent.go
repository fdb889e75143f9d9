// Package agent is the host's end of the agent, the small program that is
// the init of every VM: it stages files, runs a command as an unprivileged user
// within limits, streams its output, and kills everything afterwards.
//
// It is plain HTTP over a unix socket that was bound outside the VM, under a
// secret that only the VM's folder on the host knows:
//
//	GET  /status          → Status
//	PUT  /assignment      whose VM it is; once in its life
//	PUT  /stage/<place>   entries; all of them are there afterwards, or nothing
//	POST /run             a command, then its standard input → frames, the last an Exit
//	PUT  /lay/<place>     entries that go over what is there
//	POST /keep/<name>     remember what the place work holds
//	POST /reset[/<name>]  remove every trace of earlier runs, and put back what was kept
//	POST /kill            everything but the agent dies
//
// Package agent is the other end, package boot its way into our executable, and
// package wire what the ends share.
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

// What a provider tells an agent, and what the agent reports.
type (
	// Config is what a provider tells the agent of its VM.
	Config = wire.Config
	// Cgroup names files that tell the agent its VM's usage.
	Cgroup = wire.Cgroup
	// Status is what an agent says of itself.
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

// AgentEnv is the whole environment of an agent. It keeps the Go runtime small;
// nothing of it reaches user code.
func AgentEnv() []string { return []string{"GOMAXPROCS=2"} }

// Run is a command to run in a VM.
type Run struct {
	Args   []string // the program, by path or by name, and its arguments
	Env    []string // NAME=value, laid over the VM's own
	Dir    string   // absolute; WorkDir if empty
	Limits core.Limits
	// Share is what this run alone gets of Limits, and CPU how long its processes
	// together may compute: for one of several runs in a VM. Zero is all. Limits bind
	// all later runs of the VM as well; a Share does not.
	Share core.Limits
	CPU   time.Duration
	// Harness is whether the command may run others in the VM's box, by drover-run.
	Harness bool
	// Stdin may be nil for an empty one. A Read that is under way when the run
	// ends keeps a goroutine until it returns.
	Stdin io.Reader
}
