package agent

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"

	"drover/core"
	"drover/core/agent/wire"
)

// Run runs a command and passes its output to sink as it arrives, one call at a time. Sink must not keep the bytes; a
// nil sink discards them. Run returns when everything that the command started is dead. Returns INVALID or LIMIT for
// a command that cannot be started, CONFLICT if one is running or the VM is not assigned to c, BADVM if the VM fails.
// If ctx ends, everything in the VM is killed first and the error wraps ctx's.
func (c *Client) Run(ctx context.Context, run Run, sink func(stream string, data []byte)) (Exit, error) {
	head, err := c.encode(run)
	if err != nil {
		return Exit{}, err
	}
	if sink == nil {
		sink = func(string, []byte) {}
	}
	call, give := context.WithCancelCause(ctx)
	defer give(nil)
	call, body := input(call, head, run.Stdin)
	first := c.silence
	if run.Reset != nil {
		first = c.tidying()
	}
	silence := time.AfterFunc(first, func() { give(ErrSilent) })
	defer silence.Stop()
	exit, err := c.follow(call, body, run.Share.Or(run.Limits).Output, silence, sink, run)
	if err == nil || ctx.Err() == nil {
		return exit, err
	}
	// The agent kills the run once it notices; this waits until it has.
	give(nil)
	if kerr := c.Kill(context.WithoutCancel(ctx)); kerr != nil {
		return Exit{}, kerr
	}
	return Exit{}, c.broken(ctx, err)
}

// encode returns the head of a run's body: the spec with its length.
func (c *Client) encode(run Run) ([]byte, error) {
	spec, err := json.Marshal(wire.Spec{Args: run.Args, Env: run.Env, Dir: run.Dir, Limits: run.Limits, Share: run.Share, CPU: run.CPU, Stretch: run.Stretch, Reset: run.Reset, Harness: run.Harness, Away: run.Away, Called: run.Called, Closes: run.Closed != nil, Asks: run.Late != nil})
	if err != nil {
		return nil, core.Wrap(err, core.CodeInvalid, c.vm, "run a command")
	}
	if len(spec) > wire.MaxSpec {
		return nil, core.Errorf(core.CodeLimit, c.vm, "the command and its environment have %d bytes; %d are allowed", len(spec), wire.MaxSpec)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(spec))), spec...), nil //nolint:gosec // at most MaxSpec
}

// input returns the body of a run: its head and standard input. The HTTP client returns only after its last read of a
// body, so the body is a pipe that ends with ctx, and with the connection for which the returned context is used.
func input(ctx context.Context, head []byte, stdin io.Reader) (context.Context, io.Reader) {
	if stdin == nil {
		return ctx, bytes.NewReader(head)
	}
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, stdin)
		w.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { _ = r.CloseWithError(context.Cause(ctx)) })
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		to, ours := got.Conn.(*line)
		if !ours {
			return
		}
		go func() {
			select {
			case <-to.gone:
				_ = r.CloseWithError(net.ErrClosed)
			case <-ctx.Done():
			}
		}()
	}})
	return traced, io.MultiReader(bytes.NewReader(head), r)
}

// frameBuffers are used again: most runs print less than the buffer's making costs.
var frameBuffers sync.Pool

// follow reads a run's frames to the last.
func (c *Client) follow(ctx context.Context, body io.Reader, limit int64, silence *time.Timer, sink func(string, []byte), run Run) (Exit, error) {
	resp, err := c.send(ctx, http.MethodPost, wire.PathRun, body)
	if err != nil {
		return Exit{}, err
	}
	defer resp.Body.Close() //nolint:errcheck // the last frame was read, or it is broken
	if limit <= 0 {
		limit = 1 << 62 // the VM's own limit applies
	}
	left := map[wire.Kind]int64{wire.KindStdout: limit, wire.KindStderr: limit}
	names := map[wire.Kind]string{wire.KindStdout: Stdout, wire.KindStderr: Stderr}
	buf, ok := frameBuffers.Get().(*[wire.MaxFrame]byte)
	if !ok {
		buf = new([wire.MaxFrame]byte)
	}
	defer frameBuffers.Put(buf)
	for {
		kind, data, err := wire.ReadFrame(resp.Body, buf[:])
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return Exit{}, c.broken(ctx, err)
		}
		silence.Reset(c.silence)
		switch kind {
		case wire.KindStdout, wire.KindStderr:
			if left[kind] -= int64(len(data)); left[kind] < 0 {
				return Exit{}, core.Errorf(core.CodeBadVM, c.vm, "VM %s sends more output than it was told to keep", c.vm)
			}
			silence.Stop() // time spent in a slow sink is not the VM's silence
			sink(names[kind], data)
			silence.Reset(c.silence)
		case wire.KindExit:
			var exit Exit
			err := json.Unmarshal(data, &exit)
			return exit, core.Wrap(err, core.CodeBadVM, c.vm, "VM %s ended a run with nonsense", c.vm)
		case wire.KindFault:
			var fault wire.Refusal
			if err := json.Unmarshal(data, &fault); err != nil {
				return Exit{}, core.Wrap(err, core.CodeBadVM, c.vm, "VM %s ended a run with nonsense", c.vm)
			}
			return Exit{}, c.failed(fault)
		case wire.KindClosed, wire.KindLate:
			call := run.Closed
			if kind == wire.KindLate {
				call = run.Late
			}
			if call == nil {
				return Exit{}, core.Errorf(core.CodeBadVM, c.vm, "VM %s sends an end of output, or of time, that nobody asked for", c.vm)
			}
			call()
		case wire.KindAlive:
		default: // frames of a collection
			return Exit{}, core.Errorf(core.CodeBadVM, c.vm, "VM %s sends files in the middle of a run", c.vm)
		}
	}
}
