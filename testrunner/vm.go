package testrunner

import (
	"context"
	"errors"
	"io"
	"syscall"

	"drover/core"
	"drover/core/agent"
)

// VM is what a runner needs of a VM's agent; core/agent.Client is one.
type VM interface {
	Assign(ctx context.Context, assignment string) error
	Stage(ctx context.Context, place string, tar io.Reader) error
	Lay(ctx context.Context, place string, tar io.Reader) error
	Keep(ctx context.Context, name string) error
	Reset(ctx context.Context, kept string) error
	Run(ctx context.Context, run agent.Run, sink func(stream string, data []byte)) (agent.Exit, error)
	Collect(ctx context.Context, place string, want agent.Collection, take func(agent.Taken, io.Reader) error) ([]agent.Skipped, error)
	Close()
}

// Dial prepares to talk to the agent of the VM in a folder. Returns BADVM if
// that is not a VM's folder.
type Dial func(dir string) (VM, error)

// errLate marks what was late: that says nothing of the VM, for the runner or the whole host may
// have been stopped.
var errLate = errors.New("the time for it is up")

// broke reports whether a fault is that the VM died or failed under the request that was given
// to it: its agent is gone, hung up in the middle of a call, or says that it cannot go on. What
// is late is not, nor is what this process lacks, or a folder that somebody removed.
func (j *job) broke(err error) bool {
	if !j.assigned || !core.Is(err, core.CodeBadVM) {
		return false
	}
	for _, other := range []error{
		errLate, errStageTime, agent.ErrSilent, context.DeadlineExceeded, context.Canceled,
		syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOBUFS, syscall.EAGAIN, syscall.ENOENT, syscall.ENOTDIR, syscall.EACCES, syscall.EPERM,
	} {
		if errors.Is(err, other) {
			return false
		}
	}
	return true
}

// dialAgent is the Dial of real VMs.
func dialAgent(dir string) (VM, error) {
	client, err := agent.Dial(dir)
	if err != nil {
		return nil, err
	}
	return client, nil
}
