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
	Kind core.VMKind // what it was made with; zero if that is not known
	Used bool        // it was assigned work once, or that is not known: never clean again
}

// Limit says what enforces one limit on this host, for doctor and for results.
type Limit struct {
	Name   string // memory, pids, cpu, disk, file size, open files, time, output, network, processes left behind, reach of submissions, messages by caches
	HeldBy string // cgroup, rlimit, tmpfs, watchdog, agent, namespace, seccomp, user, landlock; "" if nothing enforces it
	Note   string // what is missing and how to mend it
	Weak   bool   // HeldBy checks at intervals only: a hostile program can exceed the limit for a moment
}

// CachesLimit says what keeps a job from leaving messages in the host's caches of names and pages: the kernel frees what
// a cgroup brought in, before the next run and at the VM's end.
func CachesLimit(frees bool, why string) Limit {
	l := Limit{Name: "messages by caches", HeldBy: "cgroup", Note: "of tests and VMs that are over; those that run at the same time can send some"}
	if !frees {
		l.HeldBy, l.Note = "", "a test can leave its input in the kernel's cache of names, for a later test or VM of the same person to read: "+why
	}
	return l
}

// ErrFetching is in the error of a call that ended while a pool's image was still being fetched. Another call finds
// the image or continues to wait.
var ErrFetching = errors.New("it takes longer than one try to make a VM")

// Provider makes VMs on this host. A VM has a folder <run>/<vm> on the host with the agent's socket and secret (see
// core/agent); the testrunner finds it by that path. Implementations pass providertest.
//
// VMs outlive the process that made them, unless the provider was configured to tie them to it. All methods are safe
// for concurrent use with distinct ids.
type Provider interface {
	// Name is the provider's name in the settings of pools.
	Name() string
	// Ready returns nil, or an error that says what is missing on this machine and how to mend it.
	Ready(ctx context.Context) error
	// Limits returns what enforces each limit here.
	Limits() []Limit
	// Image names the file system of the pool's VMs, for results.
	Image(ctx context.Context, pool core.Pool) (string, error)
	// Create is phase one: it leaves a trace on the host under the id, with its pool, which List finds after any
	// crash, and does little else.
	Create(ctx context.Context, id string, pool core.Pool) error
	// Prepare is phase two: it starts the VM and returns once its agent
	// answers ready. Returns BADVM if it does not; the caller destroys it then.
	Prepare(ctx context.Context, id string) error
	// Check returns nil if the VM is healthy and unused, else BADVM with the reason.
	Check(ctx context.Context, id string) error
	// Destroy ends everything that belongs to the VM: processes, mounts, cgroups, folder. A VM that does not exist is
	// no error.
	Destroy(ctx context.Context, id string) error
	// List finds all VMs of this provider on this host, including half-made ones.
	List(ctx context.Context) ([]Instance, error)
	// Close frees what the provider holds itself; VMs stay unless tied to it.
	Close() error
}
