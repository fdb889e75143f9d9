package local

import (
	"errors"
	"fmt"
	"path/filepath"

	"drover/vmfactory/process"

	"golang.org/x/sys/unix"

	"drover/core/guest"
)

// pipe brings one text to a VM's first process.
type pipe struct{ read, write int }

func newPipe() (pipe, error) {
	var fds [2]int
	err := unix.Pipe2(fds[:], unix.O_CLOEXEC)
	return pipe{fds[0], fds[1]}, err
}

// send writes the text and ends it.
func (p *pipe) send(text []byte) error {
	for len(text) > 0 {
		n, err := unix.Write(p.write, text)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("its first process does not read: %w", err)
		}
		text = text[n:]
	}
	process.CloseFD(p.write)
	p.write = -1
	return nil
}

// descriptors are those of a VM's first process while it is made.
type descriptors struct {
	plan, config              pipe
	null, log, socket, anchor int
	in                        int // the lifeline, or below 0; the provider's own
}

// descriptors opens them, the agent's listening socket among them: bound in the
// VM's folder, which the VM never sees.
func (p *Provider) descriptors(id string) (d *descriptors, err error) {
	d = &descriptors{plan: pipe{-1, -1}, config: pipe{-1, -1}, null: -1, log: -1, socket: -1, anchor: -1, in: p.lifeline[0]}
	defer func() {
		if err != nil {
			d.close()
		}
	}()
	if d.plan, err = newPipe(); err != nil {
		return d, err
	}
	if d.config, err = newPipe(); err != nil {
		return d, err
	}
	if d.null, err = unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
		return d, fmt.Errorf("open /dev/null: %w", err)
	}
	log := filepath.Join(p.traces.Path(id), logFile)
	if d.log, err = unix.Open(log, unix.O_WRONLY|unix.O_CREAT|unix.O_APPEND|unix.O_CLOEXEC, 0o600); err != nil {
		return d, fmt.Errorf("open its log: %w", err)
	}
	if d.socket, err = listen(p.traces.Path(id)); err != nil {
		return d, err
	}
	// It leads nowhere: a file that is only named can be neither read nor left.
	name := filepath.Join(p.traces.Path(id), guest.SocketFile)
	if d.anchor, err = unix.Open(name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0); err != nil {
		return d, fmt.Errorf("name the agent's socket: %w", err)
	}
	return d, nil
}

// theirs lists them in the order that the first process and the agent expect.
func (d *descriptors) theirs() []int {
	in := d.in
	if in < 0 {
		in = d.null // nobody reads it
	}
	return []int{d.plan.read, d.null, d.log, d.socket, d.config.read, in, d.anchor}
}

func (d *descriptors) close() {
	for _, fd := range []int{d.plan.read, d.plan.write, d.config.read, d.config.write, d.null, d.log, d.socket, d.anchor} {
		process.CloseFD(fd)
	}
}

// listen binds the agent's socket in a VM's folder, by a short name: the path of
// a socket has room for 107 bytes.
func listen(folder string) (int, error) {
	dir, err := unix.Open(folder, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer process.CloseFD(dir)
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("make the agent's socket: %w", err)
	}
	const backlog = 64
	name := fmt.Sprintf("/proc/self/fd/%d/%s", dir, guest.SocketFile)
	err = unix.Bind(fd, &unix.SockaddrUnix{Name: name})
	if err == nil {
		err = unix.Chmod(name, 0o600) // before anybody can connect
	}
	if err == nil {
		err = unix.Listen(fd, backlog)
	}
	if err != nil {
		process.CloseFD(fd)
		return -1, fmt.Errorf("bind the agent's socket: %w", err)
	}
	return fd, nil
}
