package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"drover/core"
	"drover/core/agent/wire"
)

// listen accepts the host's connections until ctx ends.
func (a *Agent) listen(ctx context.Context, sock *os.File) error {
	live := &conns{most: wire.MaxConns}
	stop := context.AfterFunc(ctx, func() {
		live.closeAll() // first: nobody must receive an end that is not the run's own
		a.stopJob()
	})
	defer stop()
	return take(ctx, sock, live, a.serve)
}

// take serves the connections of a listening socket until ctx ends. It returns when all of them are served.
func take(ctx context.Context, sock *os.File, live *conns, serve func(*os.File)) error {
	raw, err := sock.SyscallConn()
	if err != nil {
		return fmt.Errorf("use the listening socket: %w", err)
	}
	defer live.wg.Wait()
	defer live.closeAll()
	stop := context.AfterFunc(ctx, func() {
		_ = sock.SetReadDeadline(time.Now())
		live.closeAll()
	})
	defer stop()
	for {
		if !live.room(ctx) {
			return nil
		}
		file, err := accept(raw)
		switch {
		case ctx.Err() != nil:
			return nil
		case slices.ContainsFunc(passing, func(e error) bool { return errors.Is(err, e) }):
			select {
			case <-ctx.Done():
			case <-time.After(acceptPause):
			}
			live.free()
			continue
		case err != nil:
			return fmt.Errorf("take a connection: %w", err)
		}
		if !live.add(file) {
			_ = file.Close() // too many: the peer's connection is closed
			continue
		}
		go func() {
			defer live.drop(file)
			serve(file)
		}()
	}
}

// passing are temporary reasons why a connection cannot be accepted: the machine lacks something. The connection
// waits, and so does the agent.
var passing = []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM}

const acceptPause = 50 * time.Millisecond

func accept(raw syscall.RawConn) (*os.File, error) {
	var fd int
	var failed error
	err := raw.Read(func(listener uintptr) bool {
		for {
			fd, _, failed = syscall.Accept4(int(listener), syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC)
			switch {
			case errors.Is(failed, syscall.EAGAIN):
				return false
			case errors.Is(failed, syscall.EINTR), errors.Is(failed, syscall.ECONNABORTED):
				continue
			}
			return true
		}
	})
	if err = errors.Join(err, failed); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "conn"), nil
}

// conns are the open connections, up to a maximum. Further ones are refused or, if there is a channel of seats, stay
// in the kernel's queue.
type conns struct {
	most  int
	seats chan struct{}

	mu   sync.Mutex
	open map[*os.File]bool
	shut bool
	wg   sync.WaitGroup
}

// room waits until there is room for another connection; false if ctx has ended. Drop releases it.
func (c *conns) room(ctx context.Context) bool {
	if c.seats == nil {
		return true
	}
	select {
	case c.seats <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (c *conns) free() {
	if c.seats != nil {
		<-c.seats
	}
}

func (c *conns) add(f *os.File) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shut || len(c.open) >= c.most {
		return false
	}
	if c.open == nil {
		c.open = map[*os.File]bool{}
	}
	c.open[f] = true
	c.wg.Add(1)
	return true
}

func (c *conns) drop(f *os.File) {
	c.mu.Lock()
	delete(c.open, f)
	c.mu.Unlock()
	_ = f.Close() // a second call after closeAll
	c.free()
	c.wg.Done()
}

func (c *conns) closeAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shut = true
	for f := range c.open {
		_ = f.Close() // pending reads and writes return
	}
}

// serve answers a connection's requests until one of them ends it.
func (a *Agent) serve(file *os.File) {
	in := bufio.NewReader(file)
	for {
		_ = file.SetReadDeadline(time.Now().Add(a.idle))
		if _, err := in.Peek(1); err != nil {
			return // the peer is gone, or sends nothing
		}
		_ = file.SetReadDeadline(time.Now().Add(a.head))
		req, err := readRequest(in)
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrClosed) {
				_, _ = file.Write(refuse(core.Wrap(err, core.CodeInvalid, a.cfg.VM, "read a request")))
			}
			return
		}
		if !a.handle(file, in, req) {
			return
		}
	}
}

// handle answers one request; false ends the connection.
func (a *Agent) handle(file *os.File, in *bufio.Reader, req *request) bool {
	if !req.allowed(a.cfg.Secret) {
		a.refuse(file, req, core.Errorf(core.CodeForbidden, a.cfg.VM, "the secret is not this VM's"))
		return false
	}
	name, staging := strings.CutPrefix(req.path, wire.PathStage)
	from, collecting := strings.CutPrefix(req.path, wire.PathCollect)
	var body any = struct{}{}
	var err error
	switch {
	case req.method == "GET" && req.path == wire.PathStatus:
		body, err = a.status()
	case req.method == "PUT" && req.path == wire.PathAssignment:
		var to wire.Assignment
		if err = req.readJSON(&to); err == nil {
			err = a.assign(to.Assignment)
		}
	case req.method == "PUT" && staging:
		err = a.stage(name, file, req, (*place).fill)
	case req.method == "PUT" && strings.HasPrefix(req.path, wire.PathLay):
		err = a.stage(req.path[len(wire.PathLay):], file, req, (*place).lay)
	case req.method == "GET" && strings.HasPrefix(req.path, wire.PathKept):
		if err = a.give(req.path[len(wire.PathKept):], file, req); err == nil {
			return false // it wrote its own answer
		}
	case req.method == "PUT" && strings.HasPrefix(req.path, wire.PathKept):
		err = a.take(req.path[len(wire.PathKept):], file, req)
	case req.method == "POST" && strings.HasPrefix(req.path, wire.PathKeep):
		err = a.keep(req.owner, req.path[len(wire.PathKeep):])
	case req.method == "POST" && req.path == wire.PathReset:
		err = a.reset(req.owner, "")
	case req.method == "POST" && strings.HasPrefix(req.path, wire.PathRestore):
		err = a.reset(req.owner, req.path[len(wire.PathRestore):])
	case req.path == wire.PathLost:
		body, err = a.lost(req)
	case req.method == "POST" && req.path == wire.PathKill:
		err = a.kill()
	case req.method == "POST" && req.path == wire.PathRun:
		if err = a.run(file, in, req); err == nil {
			return false // it wrote its own answer
		}
	case req.method == "POST" && req.path == wire.PathCalls:
		if err = a.fetch(file, in, req); err == nil {
			return false // what followed was the caller's
		}
	case req.method == "POST" && collecting:
		if err = a.collect(from, file, req); err == nil {
			return false // it wrote its own answer
		}
	default:
		err = core.Errorf(core.CodeNotFound, a.cfg.VM, "the agent does not do %q", req.method+" "+req.path)
	}
	if err == nil && drained(req) {
		_, err = file.Write(answer("200 OK", body, false))
		return err == nil
	}
	if err == nil {
		err = core.Errorf(core.CodeInvalid, a.cfg.VM, "%s was sent more than it takes", req.path)
	}
	a.refuse(file, req, err)
	return false
}

func (a *Agent) stage(name string, file *os.File, req *request, take func(*place, io.Reader) error) error {
	if !slices.Contains(wire.Places(), name) {
		return core.Errorf(core.CodeInvalid, a.cfg.VM, "no place is called %q; there are %s", name, strings.Join(wire.Places(), ", "))
	}
	if err := a.begin(req.owner, nil); err != nil {
		return err
	}
	defer a.end(nil)
	p := a.places[name] // a reset replaces them
	return take(p, bufio.NewReaderSize(&slow{conn: file, from: req.body}, wire.MaxFrame))
}

// slow is a body whose sender may take a while for each piece.
type slow struct {
	conn *os.File
	from io.Reader
}

// Read waits for the next piece.
func (s *slow) Read(b []byte) (int, error) {
	_ = s.conn.SetReadDeadline(time.Now().Add(wire.Slow))
	return s.from.Read(b)
}

// drained reports whether the request's body was read completely.
func drained(req *request) bool {
	var one [1]byte
	n, err := req.body.Read(one[:])
	return n == 0 && errors.Is(err, io.EOF)
}

// How much of a refused body is still read, so that the peer can read the answer.
const (
	drainBytes = 64 << 20
	drainTime  = 5 * time.Second
)

// refuse answers with an error and reads what the peer still sends.
func (a *Agent) refuse(file *os.File, req *request, err error) {
	if _, werr := file.Write(refuse(err)); werr != nil {
		return
	}
	_ = file.SetReadDeadline(time.Now().Add(drainTime))
	_, _ = io.CopyN(io.Discard, req.body, drainBytes) // the peer may stop at any time
}
