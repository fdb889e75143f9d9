package enter

import (
	"errors"
	"fmt"
	"os/signal"
	"strings"
	"syscall"
	"unsafe"
)

// SocketFD is the descriptor of drover-spawn's seqpacket socket: one Request with descriptors in, one Answer out,
// until the other end closes it.
const SocketFD = 3

// Bounds of a request.
const (
	MaxRequest = 128 << 10
	MaxFiles   = 32
)

// Request asks for a VM's first process. The descriptors sent with it become the process's own from 0 on; one more is
// the cgroup in which it starts, if Cgroup. It carries out the plan once it has read a byte from descriptor 0, and
// ends if there is none: its asker has died.
type Request struct {
	Flags  uintptr // namespaces
	Cgroup bool
	Plan   Plan
}

// Answer is the process that was started, or the error.
type Answer struct {
	PID   int
	Errno syscall.Errno
	Text  string
}

// serve carries out a plan in this process, if there is one, and then starts others. It never waits for them: the
// kernel reaps them, and after this process ends, its init does.
func serve() error {
	if err := carryOut(true); err != nil {
		return err
	}
	if _, _, errno := syscall.RawSyscall(sysCloseRange, SocketFD+1, everyFD, closeRangeCloexec); errno != 0 {
		return fmt.Errorf("closing inherited descriptors: %w", errno)
	}
	syscall.CloseOnExec(SocketFD)
	signal.Ignore(syscall.SIGCHLD, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	calls := newCompiled()
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
		reply := answer(calls, text[:n], control[:oobn]).encode()
		if _, err := syscall.Write(SocketFD, reply); err != nil {
			return fmt.Errorf("answering: %w", err)
		}
	}
}

func answer(calls *compiled, text, control []byte) Answer {
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
	own, cgroup := files, -1
	if last := len(files) - 1; req.Cgroup && last >= 0 {
		own, cgroup = files[:last], int(files[last])
	}
	calls.begin(own)
	if err := calls.compile(req.Plan); err != nil {
		return failed(err)
	}
	pid, errno := calls.fork(req.Flags, cgroup)
	if errno != 0 {
		return failed(errno)
	}
	return Answer{PID: pid}
}

// begin starts with calls that make the descriptors the process's own, leave it no others, and wait for the sign to
// begin. They are moved out of the way first: one may have the number that another is to get.
func (c *compiled) begin(files []uintptr) {
	const above = MaxFiles + SocketFD + 1
	c.calls, c.used, c.bad = c.calls[:0], 0, nil
	for i, fd := range files {
		c.add(syscall.SYS_DUP3, fd, above+uintptr(i), syscall.O_CLOEXEC)
	}
	for i := range files {
		c.add(syscall.SYS_DUP3, above+uintptr(i), uintptr(i))
	}
	c.add(sysCloseRange, uintptr(len(files)), everyFD, closeRangeCloexec)
	c.add(syscall.SYS_READ, 0, c.bytes([]byte{0}), 1).whole = true
	for i := range c.calls {
		c.calls[i].do, c.calls[i].on = "wait", "for the sign to begin"
	}
}

// cloneArgs is the beginning of struct clone_args.
type cloneArgs struct {
	flags, pidfd, childTID, parentTID, exitSignal, stack, stackSize, tls, setTID, setTIDSize, cgroup uint64
}

// fork makes the calls in a new process. It has no new session: this process has no terminal, and with autogroups each
// new session waits for its first turn on a busy machine.
func (c *compiled) fork(flags uintptr, cgroup int) (int, syscall.Errno) {
	const intoCgroup = 0x200000000
	args := &cloneArgs{flags: uint64(flags), exitSignal: uint64(syscall.SIGCHLD)}
	var pid uintptr
	var errno syscall.Errno
	if cgroup >= 0 {
		args.flags |= intoCgroup
		args.cgroup = uint64(cgroup)
		pid, _, errno = syscall.RawSyscall(sysClone3, uintptr(unsafe.Pointer(args)), unsafe.Sizeof(*args), 0)
	} else { // containers that drover may run in often forbid clone3
		pid, _, errno = syscall.RawSyscall6(syscall.SYS_CLONE, flags|uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	}
	if pid == 0 && errno == 0 {
		c.run()
		exit(0)
	}
	return int(pid), errno
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

// Bounds of an Answer and of its error text, in bytes.
const (
	MaxAnswer = 4 << 10
	maxText   = 300
)

func failed(err error) Answer {
	line, _, _ := strings.Cut(err.Error(), "\n")
	a := Answer{Text: line[:min(len(line), maxText)]}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		a.Errno = errno
	}
	return a
}
