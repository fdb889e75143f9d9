package guest

import (
	"context"
	"io"
)

// Client talks to one VM's agent. It is safe for concurrent use.
type Client struct{}

// Dial reads the secret of the VM in dir and prepares to talk to its agent. It
// does not connect yet. Returns BADVM if dir is not a VM's folder.
func Dial(dir string) (*Client, error) { return &Client{}, nil }

// Status asks the agent for its state. Returns BADVM if it does not answer.
func (c *Client) Status(ctx context.Context) (Status, error) { return Status{}, nil }

// Assign gives the VM its one assignment; the same again is fine. Returns
// CONFLICT if it has another. Everything that c does later is done for it.
func (c *Client) Assign(ctx context.Context, assignment string) error { return nil }

// Stage puts the files of a tar stream into an empty place ("harness",
// "submission" or "work"), owned by the job user, once. Either all of it is
// there or nothing. Returns INVALID for an archive with links, devices, bad or
// repeated names, LIMIT for one that is too large, deep or long, CONFLICT if the
// place is taken, and tar's own errors as they come.
func (c *Client) Stage(ctx context.Context, place string, tar io.Reader) error { return nil }

// Run runs a command and hands its output to sink as it comes, one call at a
// time. It returns when everything that the command started is dead. Returns
// INVALID for a command that cannot be started, CONFLICT if one is running or
// the VM is not assigned to c, BADVM if the VM fails. If ctx ends, everything in
// the VM is killed and the error wraps ctx's.
func (c *Client) Run(ctx context.Context, run Run, sink func(stream string, data []byte)) (Exit, error) {
	return Exit{}, nil
}

// Kill kills everything in the VM but the agent and returns when it is dead.
func (c *Client) Kill(ctx context.Context) error { return nil }

// Close frees the connections. What runs through them ends.
func (c *Client) Close() {}
