package vmfactory

import (
	"context"
	"errors"

	"drover/core"
)

// Instance is one VM as its provider finds it on the host.
type Instance struct {
	ID   string
	Pool string
	Kind core.VMKind // what it was made with; zero if nobody can tell
	Used bool        // it was assigned work once, or nobody can tell: never clean again
}

// Limit says what holds one limit on this host, for doctor and for results.
type Limit struct {
	Name   string // memory, pids, cpu, disk, file size, open files, time, output, network, processes left behind, reach of submissions
	HeldBy string // cgroup, rlimit, tmpfs, watchdog, agent, namespace, seccomp, user, landlock; "" if nothing holds it
	Note   string // what is missing and how to mend it
	Weak   bool   // HeldBy looks now and then: a program that means to can have more for a moment, so not for hostile code
}

// ErrFetching is in the error of a call that ended before a pool's image was there.
// It is on its way, and another call finds it or waits on.
var ErrFetching = errors.New("it takes longer than one try to make a VM")

// Provider makes VMs on this host. A VM has a folder <run>/<vm> on the host with
// the agent's socket and secret (see core/agent); the testrunner finds it
// by that path. Implementations pass providertest.
//
// VMs outlive the process that made them, unless the provider was told to tie
// them to it. All methods are safe for concurrent use with distinct ids.
type Provider interface {
	// Name is what a pool's provider setting says.
	Name() string
	// Ready returns nil or says what is missing on this machine and how to mend it.
	Ready(ctx context.Context) error
	// Limits says what holds which limit here.
	Limits() []Limit
	// Image names the file system that VMs of the pool get, for results.
	Image(ctx context.Context, pool core.Pool) (string, error)
	// Create is phase one: it leaves a trace on the host under the id, with its
	// pool, that List finds after any crash, and does little else.
	Create(ctx context.Context, id string, pool core.Pool) error
	// Prepare is phase two: it starts the VM and returns once its agent
	// answers ready. Returns BADVM if it does not; the caller destroys it then.
	Prepare(ctx context.Context, id string) error
	// Check returns nil if the VM is healthy and unused, else BADVM with the reason.
	Check(ctx context.Context, id string) error
	// Destroy ends everything of the VM: processes, mounts, cgroups, folder.
	// Destroying what is not there is fine.
	Destroy(ctx context.Context, id string) error
	// List finds all VMs of this provider on this host, half-made ones included.
	List(ctx context.Context) ([]Instance, error)
	// Close frees what the provider holds itself; VMs stay unless tied to it.
	Close() error
}
