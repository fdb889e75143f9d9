package trace

import (
	"fmt"

	"golang.org/x/sys/unix"

	"drover/core/agent"
	"drover/vmfactory/process"
)

// listen binds the agent's socket in a VM's folder, by a short name: the path of a socket is limited to 107 bytes.
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
	name := fmt.Sprintf("/proc/self/fd/%d/%s", dir, agent.SocketFile)
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
