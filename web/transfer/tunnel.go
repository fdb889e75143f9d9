package transfer

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"drover/core"
)

// tunnel is a proxy on this machine's own network that leads to one host and nowhere else. Each connection is checked at
// the moment it is made, and all of them receive so many bytes together.
type tunnel struct {
	to     string // host:port
	listen net.Listener
	dialer net.Dialer
	ctx    context.Context
	stop   context.CancelFunc
	left   atomic.Int64
	barred atomic.Bool
	all    sync.WaitGroup
}

const (
	tunnelDial  = 10 * time.Second
	tunnelConns = 8 // at once
)

func openTunnel(ctx context.Context, to string, control func(network, address string, c syscall.RawConn) error, bytes int64) (*tunnel, error) {
	listen, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, core.Wrap(err, core.CodeInternal, "", "no repository can be fetched here")
	}
	t := &tunnel{to: to, listen: listen}
	t.ctx, t.stop = context.WithCancel(ctx)
	t.dialer = net.Dialer{Timeout: tunnelDial, Control: func(network, address string, c syscall.RawConn) error {
		err := control(network, address, c)
		if err != nil {
			t.barred.Store(true)
		}
		return err
	}}
	t.left.Store(bytes)
	t.all.Go(t.accept)
	return t, nil
}

func (t *tunnel) url() string   { return "http://" + t.listen.Addr().String() }
func (t *tunnel) full() bool    { return t.left.Load() < 0 }
func (t *tunnel) refused() bool { return t.barred.Load() }

// close ends all connections.
func (t *tunnel) close() {
	t.stop()
	_ = t.listen.Close()
	t.all.Wait()
}

func (t *tunnel) accept() {
	slots := make(chan struct{}, tunnelConns)
	for {
		conn, err := t.listen.Accept()
		if err != nil {
			return
		}
		select {
		case slots <- struct{}{}:
		case <-t.ctx.Done():
			_ = conn.Close()
			return
		}
		t.all.Go(func() {
			defer func() { <-slots }()
			t.serve(conn)
		})
	}
}

// serve joins a connection with one to the host.
func (t *tunnel) serve(conn net.Conn) {
	defer conn.Close()                                               //nolint:errcheck // it ends
	unwatch := context.AfterFunc(t.ctx, func() { _ = conn.Close() }) // wakes a reader
	defer unwatch()
	in := bufio.NewReader(io.LimitReader(conn, http.DefaultMaxHeaderBytes)) // until the tunnel stands
	r, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	if r.Method != http.MethodConnect || r.Host != t.to {
		_, _ = io.WriteString(conn, "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
		return
	}
	out, err := t.dialer.DialContext(t.ctx, "tcp", t.to)
	if err != nil {
		_, _ = io.WriteString(conn, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
		return
	}
	defer out.Close() //nolint:errcheck // it ends
	unwatchOut := context.AfterFunc(t.ctx, func() { _ = out.Close() })
	defer unwatchOut()
	if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n"); err != nil || in.Buffered() > 0 {
		return // a client waits for the answer before it goes on
	}
	t.all.Go(func() {
		_, _ = io.Copy(out, conn)
		_ = out.Close()
	})
	_, _ = io.Copy(conn, &counting{out, &t.left})
}

var errFull = errors.New("the tunnel has passed on as many bytes as it may")

// counting reads until a common count is used up.
type counting struct {
	from io.Reader
	left *atomic.Int64
}

// Read implements io.Reader.
func (c *counting) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	if c.left.Add(-int64(n)) < 0 {
		return 0, errFull
	}
	return n, err
}
