package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"drover/core"
	"drover/core/agent/wire"
)

// ErrSilent is in the error if an agent sent nothing for too long.
var ErrSilent = errors.New("the agent has fallen silent")

// ErrUnclean is in the error if an agent refuses all work because what user code left in its VM cannot be removed.
// Such errors are BADVM.
var ErrUnclean = errors.New("what ran in it could not be removed")

// Client calls one VM's agent. It is safe for concurrent use.
type Client struct {
	vm         string
	dir        string
	secret     string
	http       http.Client
	assignment atomic.Value  // string; the assignment for which the client stages and runs
	silence    time.Duration // after this silence an agent is given up
	stall      time.Duration // for so long it may wait for us before it kills the run
}

// Dial reads the secret of the VM in dir and prepares the client. It does not connect yet. Returns BADVM if dir is
// not a VM's folder.
func Dial(dir string) (*Client, error) {
	vm := filepath.Base(dir)
	secret, err := readSecret(filepath.Join(dir, SecretFile))
	if err != nil {
		return nil, core.Wrap(err, core.CodeBadVM, vm, "read the secret of VM %s", vm)
	}
	c := &Client{vm: vm, dir: dir, secret: secret, silence: wire.Silence, stall: wire.Stall}
	c.assignment.Store("")
	c.http.Transport = &http.Transport{
		DialContext:            c.connect,
		DisableCompression:     true,
		MaxIdleConns:           2,
		IdleConnTimeout:        wire.Idle / 2, // before the agent closes the connection
		MaxResponseHeaderBytes: wire.MaxHead,
		WriteBufferSize:        8 << 10, // each run has a connection of its own; larger pieces are written as they are
		ReadBufferSize:         8 << 10,
	}
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c, nil
}

func readSecret(name string) (string, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	b, err := io.ReadAll(io.LimitReader(f, 257))
	if err != nil {
		return "", err
	}
	b = bytes.TrimSpace(b)
	if len(b) < 16 || len(b) > 256 {
		return "", fmt.Errorf("a secret has 16 to 256 bytes, this one %d", len(b))
	}
	return string(b), nil
}

// connect uses the folder's descriptor, since the address of a unix socket is limited to about a hundred bytes and
// paths can be longer.
func (c *Client) connect(ctx context.Context, _, _ string) (net.Conn, error) {
	dir, err := os.Open(c.dir)
	if err != nil {
		return nil, err
	}
	defer dir.Close() //nolint:errcheck // nothing was written
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), SocketFile))
	if err != nil {
		return nil, err
	}
	return &line{Conn: conn, gone: make(chan struct{})}, nil
}

// line is a connection that reports its end.
type line struct {
	net.Conn
	once sync.Once
	gone chan struct{}
}

// Close closes the connection.
func (l *line) Close() error {
	l.once.Do(func() { close(l.gone) })
	return l.Conn.Close()
}

// Status asks the agent for its state. Returns BADVM if it does not answer.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var s Status
	ctx, cancel := context.WithTimeoutCause(ctx, c.silence, ErrSilent)
	defer cancel()
	err := c.call(ctx, http.MethodGet, wire.PathStatus, nil, &s)
	return s, err
}

// Assign gives the VM its one assignment; repeating it succeeds. Returns CONFLICT if it has another, INVALID for a
// name that is empty, longer than 128 bytes or not printable ASCII. All later calls of c are for this assignment.
func (c *Client) Assign(ctx context.Context, assignment string) error {
	body, err := json.Marshal(wire.Assignment{Assignment: assignment})
	if err != nil {
		return core.Wrap(err, core.CodeInvalid, c.vm, "assign VM %s", c.vm)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.silence, ErrSilent)
	defer cancel()
	if err := c.call(ctx, http.MethodPut, wire.PathAssignment, bytes.NewReader(body), nil); err != nil {
		return err
	}
	c.assignment.Store(assignment)
	return nil
}

// Lost returns what the run in progress, which has a Late, has lost to others on the host so far. Returns CONFLICT if there
// is none.
func (c *Client) Lost(ctx context.Context) (time.Duration, error) {
	var lost wire.Loss
	ctx, cancel := context.WithTimeoutCause(ctx, c.silence, ErrSilent)
	defer cancel()
	err := c.call(ctx, http.MethodGet, wire.PathLost, nil, &lost)
	return time.Duration(lost.Ms) * time.Millisecond, err
}

// PutOff answers a run's Late: its clock is put off by what the run that it talks with has lost so far, within its Stretch,
// or ends it. Returns CONFLICT if no run waits for that.
func (c *Client) PutOff(ctx context.Context, lost time.Duration) error {
	body, err := json.Marshal(wire.Loss{Ms: lost.Milliseconds()})
	if err != nil {
		return core.Wrap(err, core.CodeInvalid, c.vm, "put off a run's time in VM %s", c.vm)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.silence, ErrSilent)
	defer cancel()
	return c.call(ctx, http.MethodPost, wire.PathLost, bytes.NewReader(body), nil)
}

// Kill kills everything in the VM except the agent and returns when it is dead. A run in progress reports its end.
// Returns BADVM if a process does not die.
func (c *Client) Kill(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.stall+c.silence, ErrSilent)
	defer cancel()
	return c.call(ctx, http.MethodPost, wire.PathKill, nil, nil)
}

// Close closes idle connections. A run in progress goes on.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// call sends a request and reads a small JSON answer into it.
func (c *Client) call(ctx context.Context, method, path string, body io.Reader, into any) error {
	resp, err := c.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // what it says no longer matters
	text, err := readSmall(resp.Body)
	if err != nil {
		return c.broken(ctx, err)
	}
	if into == nil {
		return nil
	}
	return core.Wrap(json.Unmarshal(text, into), core.CodeBadVM, c.vm, "VM %s answered %s with nonsense", c.vm, path)
}

// send sends a request and returns the response if its status is 200.
func (c *Client) send(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://vm"+path, body)
	if err != nil {
		return nil, core.Wrap(err, core.CodeInternal, c.vm, "call VM %s", c.vm)
	}
	req.Header["Authorization"] = []string{wire.AuthScheme + c.secret}
	req.Header["User-Agent"] = nil // not used
	if owner, _ := c.assignment.Load().(string); owner != "" {
		req.Header[wire.HeaderOwner] = []string{owner}
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.broken(ctx, err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close() //nolint:errcheck // it was refused
	return nil, c.refused(ctx, resp)
}

// refused converts the agent's refusal: mistakes of the caller keep their code, all else is BADVM.
func (c *Client) refused(ctx context.Context, resp *http.Response) error {
	text, err := readSmall(resp.Body)
	if err != nil {
		return c.broken(ctx, err)
	}
	var r wire.Refusal
	if err := json.Unmarshal(text, &r); err != nil {
		return core.Errorf(core.CodeBadVM, c.vm, "VM %s answered %s and nonsense", c.vm, resp.Status)
	}
	return c.theirs(r)
}

func (c *Client) theirs(r wire.Refusal) error {
	switch r.Code {
	case core.CodeInvalid, core.CodeLimit, core.CodeConflict:
		return r.Err(c.vm)
	}
	return c.failed(r)
}

func (c *Client) failed(r wire.Refusal) error {
	if r.Unclean {
		return core.Wrap(ErrUnclean, core.CodeBadVM, c.vm, "VM %s failed: %s", c.vm, r.Text)
	}
	return core.Errorf(core.CodeBadVM, c.vm, "VM %s failed: %s", c.vm, r.Text)
}

// broken converts a failed call: the caller gave it up, or the VM is bad. A deadline that passed is the VM's fault.
func (c *Client) broken(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, context.Canceled) {
		return core.Wrap(cause, core.CodeUnavailable, c.vm, "the call to VM %s was given up", c.vm)
	}
	if cause != nil {
		err = cause
	}
	return core.Wrap(err, core.CodeBadVM, c.vm, "VM %s does not answer", c.vm)
}

func readSmall(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, wire.MaxBody+1))
	if err == nil && len(b) > wire.MaxBody {
		err = fmt.Errorf("the answer has more than %d bytes", wire.MaxBody)
	}
	return b, err
}
