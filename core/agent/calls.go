package agent

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"drover/core"
	"drover/core/agent/wire"
)

// errCallerGone is why the context of a Call has ended if nobody waits for its answer any more.
var errCallerGone = errors.New("the caller of drover-run is gone")

// Call is a call of drover-run by a harness that runs alone in its VM: see Run.Away. Another VM answers it.
type Call struct {
	spec wire.BoxSpec
	ctx  context.Context // ends when the caller is gone, or with that of NextCall
	conn net.Conn
	in   *bufio.Reader
	body *callBody
	gone context.CancelCauseFunc

	mu    sync.Mutex
	begun bool // the head of the answer was sent
	ended bool
}

// callBody is what follows the head of a call: its Spec, the submission and the standard input.
type callBody struct {
	*Call
	body io.Reader
	last sync.Once // its end was read
}

// NextCall waits for the next call in a VM where a command that is Away runs, or soon will. The call must be closed.
// Returns CONFLICT if the VM is not assigned to c, BADVM if the VM fails; if ctx ends, the error wraps ctx's.
func (c *Client) NextCall(ctx context.Context) (*Call, error) {
	for {
		conn, err := c.connect(ctx, "", "")
		if err != nil {
			return nil, c.broken(ctx, err)
		}
		forget := context.AfterFunc(ctx, func() { _ = conn.Close() }) // ends what reads and writes
		from, err := c.fetch(ctx, conn)
		forget()
		if err != nil {
			_ = conn.Close()
			return nil, err
		}
		if call, err := NewCall(ctx, from); err == nil {
			return call, nil
		} // its caller is gone, or talks nonsense
	}
}

// fetch waits until a connection is that of a caller.
func (c *Client) fetch(ctx context.Context, conn net.Conn) (net.Conn, error) {
	owner, _ := c.assignment.Load().(string)
	_, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nAuthorization: %s%s\r\n%s: %s\r\nContent-Length: 0\r\n\r\n", wire.PathCalls, wire.AuthScheme, c.secret, wire.HeaderOwner, owner)
	if err != nil {
		return nil, c.broken(ctx, err)
	}
	head := &io.LimitedReader{R: conn, N: wire.MaxHead}
	in := bufio.NewReader(head)
	resp, err := http.ReadResponse(in, nil) //nolint:bodyclose // the connection goes on after it
	if err != nil {
		return nil, c.broken(ctx, err)
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		return nil, c.refused(ctx, resp)
	}
	head.N = 1 << 62
	return &joined{conn, in}, nil
}

// joined is a connection of which some has been read.
type joined struct {
	net.Conn
	in io.Reader
}

// Read reads on.
func (j *joined) Read(b []byte) (int, error) { return j.in.Read(b) }

// NewCall reads a call of drover-run from a connection, which it closes if there is an error. The VM is not trusted, so
// the caller may be anything.
func NewCall(ctx context.Context, conn net.Conn) (*Call, error) {
	call := &Call{conn: conn}
	call.ctx, call.gone = context.WithCancelCause(ctx)
	context.AfterFunc(call.ctx, func() { _ = conn.Close() })
	_ = conn.SetReadDeadline(time.Now().Add(wire.Silence)) // it must arrive at once
	head := &io.LimitedReader{R: conn, N: wire.MaxHead}
	call.in = bufio.NewReader(head)
	req, err := http.ReadRequest(call.in)
	if err == nil {
		head.N = 1 << 62
		call.body = &callBody{Call: call, body: req.Body}
		err = wire.ReadSpec(call.body, &call.spec)
	}
	if err == nil {
		err = conn.SetReadDeadline(time.Time{})
	}
	if err != nil {
		call.Close()
		return nil, err
	}
	go call.keepAlive()
	return call, nil
}

// Read reads the body. Once it has ended, nothing may follow until the caller is gone.
func (c *callBody) Read(b []byte) (int, error) {
	n, err := c.body.Read(b)
	switch {
	case errors.Is(err, io.EOF):
		c.last.Do(func() {
			go func() {
				_, _ = c.in.ReadByte()
				c.gone(errCallerGone)
			}()
		})
	case err != nil:
		c.gone(errCallerGone)
	}
	return n, err
}

// print passes on what the command prints.
func (call *Call) print(stream string, data []byte) {
	kind := wire.KindStdout
	if stream == Stderr {
		kind = wire.KindStderr
	}
	for piece := range slices.Chunk(data, wire.MaxFrame) {
		call.send(kind, piece)
	}
}

// end answers with the end of the command.
func (call *Call) end(exit Exit) { call.last(wire.KindExit, exit) }

// refuse answers that the command was not run.
func (call *Call) refuse(err error) {
	var u wire.Unstarted
	_ = errors.As(err, &u) // no exit code otherwise
	call.last(wire.KindFault, wire.Refusal{Code: core.CodeOf(err), Text: err.Error(), Exit: u.Exit})
}

// Close ends the call, whether or not it was answered.
func (call *Call) Close() {
	call.mu.Lock()
	call.ended = true
	call.mu.Unlock()
	call.gone(nil)
	_ = call.conn.Close() // a second time where the caller is gone
}

func (call *Call) last(kind wire.Kind, body any) {
	text, err := json.Marshal(body)
	if err == nil && len(text) <= wire.MaxFrame {
		call.send(kind, text)
	}
}

// send writes one frame as a chunk, behind the head of the answer.
func (call *Call) send(kind wire.Kind, data []byte) {
	call.mu.Lock()
	defer call.mu.Unlock()
	if call.ended {
		return
	}
	var out []byte
	if !call.begun {
		out = []byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
		call.begun = true
	}
	out = fmt.Appendf(out, "%x\r\n", wire.FrameHead+len(data))
	head := len(out)
	out = append(out, make([]byte, wire.FrameHead)...)
	wire.PutFrameHead(out[head:], kind, len(data))
	out = append(append(out, data...), "\r\n"...)
	_ = call.conn.SetWriteDeadline(time.Now().Add(wire.Stall))
	if _, err := call.conn.Write(out); err != nil {
		call.ended = true
		call.gone(errCallerGone)
	}
}

// keepAlive notices a caller that is gone while the command reads and prints nothing.
func (call *Call) keepAlive() {
	tick := time.NewTicker(wire.Keepalive)
	defer tick.Stop()
	for {
		select {
		case <-call.ctx.Done():
			return
		case <-tick.C:
			call.send(wire.KindAlive, nil)
		}
	}
}
