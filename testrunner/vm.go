package testrunner

import (
	"context"
	"errors"
	"io"
	"syscall"
	"time"

	"drover/core"
	"drover/core/agent"
)

// VM is the part of a VM's agent that a testrunner needs; core/agent.Client implements it.
type VM interface {
	Assign(ctx context.Context, assignment string) error
	Stage(ctx context.Context, place string, tar io.Reader) error
	Lay(ctx context.Context, place string, tar io.Reader) error
	Keep(ctx context.Context, name string) error
	Reset(ctx context.Context, kept string) error
	Give(ctx context.Context, kept string, to io.Writer, most int64) (int64, error)
	Take(ctx context.Context, kept string, from io.Reader) error
	Run(ctx context.Context, run agent.Run, sink func(stream string, data []byte)) (agent.Exit, error)
	Lost(ctx context.Context) (time.Duration, error)
	PutOff(ctx context.Context, lost time.Duration) error
	NextCall(ctx context.Context) (*agent.Call, error)
	Answer(call *agent.Call, limits core.Limits) (agent.Exit, error)
	Collect(ctx context.Context, place string, want agent.Collection, take func(agent.Taken, io.Reader) error) ([]agent.Skipped, error)
	Close()
}

// Dial connects to the agent of the VM in a folder. Returns BADVM if that is not a VM's folder.
type Dial func(dir string) (VM, error)

// errLate marks timeouts. They say nothing about the VM, because the testrunner or the whole host may have been
// stopped.
var errLate = errors.New("the time for it is up")

// broke reports whether a fault means that the VM died or failed while it had the request: its agent is gone, closed
// the connection during a call, or reports that it cannot go on. Timeouts do not count, nor faults of this process,
// nor a folder that somebody removed.
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
