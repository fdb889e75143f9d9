package testrunner

import (
	"context"
	"io"

	"drover/core/guest"
)

// VM is what a runner needs of a VM's agent; core/guest.Client is one.
type VM interface {
	Assign(ctx context.Context, assignment string) error
	Stage(ctx context.Context, place string, tar io.Reader) error
	Lay(ctx context.Context, place string, tar io.Reader) error
	Keep(ctx context.Context, name string) error
	Reset(ctx context.Context, kept string) error
	Run(ctx context.Context, run guest.Run, sink func(stream string, data []byte)) (guest.Exit, error)
	Collect(ctx context.Context, place string, want guest.Collection, take func(guest.Taken, io.Reader) error) ([]guest.Skipped, error)
	Close()
}

// Dial prepares to talk to the agent of the VM in a folder. Returns BADVM if
// that is not a VM's folder.
type Dial func(dir string) (VM, error)

// dialGuest is the Dial of real VMs.
func dialGuest(dir string) (VM, error) {
	client, err := guest.Dial(dir)
	if err != nil {
		return nil, err
	}
	return client, nil
}
