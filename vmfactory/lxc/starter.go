package lxc

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"drover/vmfactory/process"
)

// starterName is the name, as argv[0], under which our executable is the starter;
// starter.c has it as well.
const starterName = "drover-lxc"

// starter is our end of the process that forks monitors. It starts with the first monitor and ends with Close or with
// this process; containers live on.
type starter struct {
	mu     sync.Mutex
	socket int
	cmd    *exec.Cmd
	closed bool
	silent time.Duration // after this time without an answer it is killed; 0 is the constant starterTimeout
}

// starterTimeout is how long the starter may take to answer: it only forks.
const starterTimeout = 10 * time.Second

var errClosed = errors.New("the provider is closed")

// start forks the monitor of a container, which starts it with these descriptors from 0 on, and returns its pid. A
// starter that was killed is replaced; a request that it may have read is not repeated.
func (s *starter) start(name, config, rootfs, controllers, program string, files []int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := []byte(strings.Join([]string{name, config, rootfs, controllers, program}, "\x00") + "\x00")
	for try := 0; ; try++ {
		if s.closed {
			return 0, errClosed
		}
		if err := s.open(); err != nil {
			return 0, fmt.Errorf("the process that starts containers: %w", err)
		}
		err := unix.Sendmsg(s.socket, text, unix.UnixRights(files...), nil, unix.MSG_NOSIGNAL)
		if err == nil {
			break
		}
		s.stop()
		if try > 0 {
			return 0, fmt.Errorf("the process that starts containers: %w", err)
		}
	}
	pid, err := s.answer()
	if err != nil {
		s.stop()
		return 0, fmt.Errorf("the process that starts containers: %w", err)
	}
	return pid, nil
}

// answer reads the pid of a monitor, or the reason why there is none.
func (s *starter) answer() (int, error) {
	var reply [8]byte
	for {
		n, err := unix.Read(s.socket, reply[:])
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return 0, errors.New("it does not answer")
		case err != nil:
			return 0, err
		case n != len(reply):
			return 0, errors.New("it ended without an answer")
		}
		pid, errno := binary.NativeEndian.Uint32(reply[:]), binary.NativeEndian.Uint32(reply[4:])
		if errno != 0 {
			return 0, syscall.Errno(errno)
		}
		return int(pid), nil
	}
}

func (s *starter) open() error {
	if s.cmd != nil {
		return nil
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	theirs := os.NewFile(uintptr(pair[1]), "starter")
	limit := unix.NsecToTimeval(cmp.Or(s.silent, starterTimeout).Nanoseconds())
	if err := errors.Join(unix.SetsockoptTimeval(pair[0], unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit),
		unix.SetsockoptTimeval(pair[0], unix.SOL_SOCKET, unix.SO_SNDTIMEO, &limit)); err != nil {
		process.CloseFD(pair[0])
		return errors.Join(err, theirs.Close())
	}
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{starterName}, Dir: "/", Env: []string{},
		ExtraFiles: []*os.File{theirs}, SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	err = errors.Join(cmd.Start(), theirs.Close())
	if err != nil {
		process.CloseFD(pair[0])
		return err
	}
	s.socket, s.cmd = pair[0], cmd
	return nil
}

// stop ends the starter. Unless it hangs, it ends by itself when its socket is closed.
func (s *starter) stop() {
	if s.cmd == nil {
		return
	}
	process.CloseFD(s.socket)
	_, _ = s.cmd.Process.Kill(), s.cmd.Wait() // the exit status does not matter
	s.cmd = nil
}

func (s *starter) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.stop()
}
