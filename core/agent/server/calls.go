package server

import (
	"bufio"
	"context"
	"io"
	"os"
	"path"
	"syscall"
	"time"

	"drover/core"
	"drover/core/agent/wire"
)

// calls takes the calls of drover-run in a VM where a harness runs alone: its box is another VM. The host fetches them,
// one at a time, and answers them. The agent only carries bytes between the two.
type calls struct {
	over   context.CancelFunc
	served chan error // result of listening
	socket string
}

// waiting is a caller whom nobody serves yet.
type waiting struct {
	conn *os.File
	done chan struct{} // closed when it was served
}

// openCalls listens to the callers of a harness.
func (a *Agent) openCalls() (*calls, error) {
	sock, err := a.listenBox()
	if err != nil {
		return nil, core.Wrap(err, core.CodeBadVM, a.cfg.VM, "open the box")
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &calls{over: cancel, served: make(chan error, 1), socket: path.Join(a.cfg.Home, wire.BoxSocket)}
	go func() {
		c.served <- take(ctx, sock, &conns{most: wire.MaxBoxCalls, seats: make(chan struct{}, wire.MaxBoxCalls)}, func(conn *os.File) {
			one := waiting{conn, make(chan struct{})}
			select {
			case a.callers <- one:
				<-one.done
			case <-ctx.Done():
			}
		})
		_ = sock.Close() // nothing was written
	}()
	return c, nil
}

// close ends all calls. The callers are dead by then.
func (c *calls) close() error {
	c.over()
	err := <-c.served
	_ = syscall.Unlink(c.socket)
	return err
}

// fetch waits for the next call and turns the host's connection into the caller's. An error means that nothing was
// answered yet.
func (a *Agent) fetch(host *os.File, in *bufio.Reader, req *request) error {
	a.mu.Lock()
	assigned := a.assignment
	a.mu.Unlock()
	if assigned == "" || assigned != req.owner {
		return core.Errorf(core.CodeConflict, a.cfg.VM, "VM %s is not assigned to %q", a.cfg.VM, req.owner)
	}
	_ = host.SetReadDeadline(time.Time{})
	gone := make(chan struct{})
	next := make(chan *os.File, 1)
	go func() {
		defer close(gone)
		if _, err := in.Peek(1); err != nil {
			return // it does not want the call any more
		}
		if caller, ok := <-next; ok { // it speaks only to one
			_, _ = io.Copy(&unhurried{caller}, struct{ io.Reader }{in}) // either may end at any time
			_ = caller.Close()
		}
	}()
	select {
	case one := <-a.callers:
		next <- one.conn
		join(host, one.conn)
		<-gone
		close(one.done)
	case <-gone:
		close(next)
	}
	return nil
}

// join tells the host what a caller says, until the caller has ended. A host that hears no more may still speak.
func join(host, caller *os.File) {
	if _, err := io.WriteString(host, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: drover-run\r\n\r\n"); err != nil {
		_ = caller.Close()
		return
	}
	heard := true
	buf := make([]byte, readSize)
	for {
		n, err := caller.Read(buf)
		if heard && n > 0 {
			_, werr := (&unhurried{host}).Write(buf[:n])
			heard = werr == nil
		}
		if err != nil {
			_ = host.Close()
			return
		}
	}
}
