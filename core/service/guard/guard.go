// Package guard runs a server that ends with this process, even if the process is killed. For tests, drills and
// benchmarks.
package guard

import (
	"bufio"
	"context"
	"io"
	"net"
	"os/exec"
	"syscall"
	"time"

	"drover/core"
)

// Guard is a shell that runs a server.
type Guard struct {
	name   string
	shell  *exec.Cmd
	orders io.WriteCloser // the guard lives until this is closed
	done   *bufio.Scanner // a line for each order that was carried out
}

// script starts the server, carries out orders from standard input, and stops the server when the input ends, which
// it does when this process dies. $0 is the server, $1 its folder; the rest is for the server. A stop takes a moment
// to reach every thread.
const script = `server=$0; dir=$1; shift
run() { "$server" "$@" >/dev/null 2>&1 & pid=$!; }
end() { kill -9 "$pid" 2>/dev/null; wait "$pid" 2>/dev/null; }
run "$@"
while read -r order; do
	case $order in
	start) run "$@" ;;
	kill) end ;;
	STOP) kill -STOP "$pid"; while [ -n "$(grep -L '^State:.T' /proc/"$pid"/task/*/status)" ]; do :; done ;;
	*) kill -"$order" "$pid" ;;
	esac
	echo "$order"
done
end
rm -rf "$dir"`

// Start starts the server at path; name is for error messages. Stop removes its folder dir.
func Start(name, path, dir string, args ...string) (*Guard, error) {
	g := &Guard{name: name}
	g.shell = exec.Command("/bin/sh", append([]string{"-c", script, path, dir}, args...)...) //nolint:noctx // it outlives any context
	g.shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}                                // a signal to our process group does not reach the guard, which has to clean up
	var err error
	if g.orders, err = g.shell.StdinPipe(); err == nil {
		var out io.Reader
		out, err = g.shell.StdoutPipe()
		g.done = bufio.NewScanner(out)
	}
	if err == nil {
		err = g.shell.Start()
	}
	return g, core.Wrap(err, core.CodeUnavailable, "", "%s cannot be started", name)
}

// order has the guard do something, and returns once it is done.
func (g *Guard) order(word string) error {
	if _, err := io.WriteString(g.orders, word+"\n"); err != nil {
		return core.Wrap(err, core.CodeUnavailable, "", "the guard of %s is gone", g.name)
	}
	if !g.done.Scan() {
		return core.Errorf(core.CodeUnavailable, "", "the guard of %s is gone", g.name)
	}
	return nil
}

// Kill ends the server like a loss of power. Its folder stays.
func (g *Guard) Kill() error { return g.order("kill") }

// Again starts a killed server with the same arguments.
func (g *Guard) Again() error { return g.order("start") }

// Pause stops it where it is (SIGSTOP), Resume lets it go on.
func (g *Guard) Pause() error { return g.order("STOP") }

// Resume lets a paused server go on.
func (g *Guard) Resume() error { return g.order("CONT") }

// Stop kills the server and removes its folder.
func (g *Guard) Stop() error {
	_ = g.orders.Close() // the guard then ends the server
	return g.shell.Wait()
}

// Await returns once something listens on the unix socket.
func (g *Guard) Await(ctx context.Context, socket string) error {
	return Eventually(ctx, g.name+" does not answer", func() error {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

// Eventually tries until fn succeeds, for half a minute at the most.
func Eventually(ctx context.Context, otherwise string, fn func() error) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		err := fn()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return core.Wrap(err, core.CodeUnavailable, "", "%s", otherwise)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
