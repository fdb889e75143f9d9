package enter

import (
	"errors"
	"fmt"
	"os/signal"
	"strings"
	"syscall"
)

// SocketFD is the descriptor of drover-spawn's seqpacket socket: one Request with descriptors in, one Answer out,
// until the other end closes it.
const SocketFD = 3

// Bounds of a request.
const (
	MaxRequest = 4 << 10
	MaxFiles   = 32
)

// Request asks for a VM's first process. The descriptors sent with it become the process's own from 0 on; one more is
// the cgroup in which it starts, if Cgroup.
type Request struct {
	Flags  uintptr   // namespaces
	Caps   []uintptr // capabilities that it needs in them
	Cgroup bool
}

// Answer is the process that was started, or the error.
type Answer struct {
	PID   int
	Errno syscall.Errno
	Text  string
}

// serve starts processes and never waits for them: the kernel reaps them, and after this process ends, its init does.
func serve() error {
	if err := call(sysCloseRange, SocketFD+1, uintptr(^uint32(0)), closeRangeCloexec); err != nil {
		return fmt.Errorf("closing inherited descriptors: %w", err)
	}
	syscall.CloseOnExec(SocketFD)
	signal.Ignore(syscall.SIGCHLD, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	text, control := make([]byte, MaxRequest), make([]byte, syscall.CmsgSpace(4*MaxFiles))
	for {
		n, oobn, _, _, err := syscall.Recvmsg(SocketFD, text, control, syscall.MSG_CMSG_CLOEXEC)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("reading a request: %w", err)
		}
		if n == 0 {
			return nil
		}
		reply := answer(text[:n], control[:oobn]).encode()
		if _, err := syscall.Write(SocketFD, reply); err != nil {
			return fmt.Errorf("answering: %w", err)
		}
	}
}

func answer(text, control []byte) Answer {
	files, err := received(control)
	defer func() {
		for _, fd := range files {
			_ = syscall.Close(int(fd)) // nothing was written through it
		}
	}()
	if err != nil {
		return failed(err)
	}
	req, err := decodeRequest(text)
	if err != nil {
		return failed(err)
	}
	// No new session: this process has no terminal, and with autogroups each new session waits for its first turn on
	// a busy machine.
	attr := &syscall.SysProcAttr{Cloneflags: req.Flags, AmbientCaps: req.Caps}
	own := files
	if req.Cgroup && len(files) > 0 {
		own = files[:len(files)-1]
		attr.UseCgroupFD, attr.CgroupFD = true, int(files[len(files)-1])
	}
	pid, err := syscall.ForkExec("/proc/self/exe", []string{EnterName}, &syscall.ProcAttr{
		Dir: "/", Env: []string{"GOMAXPROCS=1", "GOGC=off"}, Files: own, Sys: attr,
	})
	if err != nil {
		return failed(err)
	}
	return Answer{PID: pid}
}

// received returns the descriptors that came with a request.
func received(control []byte) ([]uintptr, error) {
	messages, err := syscall.ParseSocketControlMessage(control)
	if err != nil {
		return nil, err
	}
	var files []uintptr
	for i := range messages {
		fds, err := syscall.ParseUnixRights(&messages[i])
		if err != nil {
			return files, err
		}
		for _, fd := range fds {
			files = append(files, uintptr(fd))
		}
	}
	return files, nil
}

// maxText bounds the error text of an Answer, in bytes.
const maxText = 300

func failed(err error) Answer {
	line, _, _ := strings.Cut(err.Error(), "\n")
	a := Answer{Text: line[:min(len(line), maxText)]}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		a.Errno = errno
	}
	return a
}
