package probe

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// privileges tries to become more than it is.
func privileges(Target) error {
	if os.Geteuid() == 0 {
		return errors.New("user code runs as root")
	}
	if unix.Setresuid(0, 0, 0) == nil || unix.Setresgid(0, 0, 0) == nil {
		return errors.New("became root")
	}
	nnp, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err != nil || nnp != 1 {
		return fmt.Errorf("programs may gain privileges: no_new_privs is %d, %w", nnp, err)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for line := range strings.SplitSeq(string(status), "\n") {
		for _, set := range []string{"CapInh:", "CapPrm:", "CapEff:", "CapAmb:"} {
			if caps, ok := strings.CutPrefix(line, set); ok && strings.Trim(caps, "\t0") != "" {
				return fmt.Errorf("it has capabilities: %s", line)
			}
		}
	}
	return setuidFiles()
}

// setuidFiles looks for a mount that would let a set-user-ID file work.
func setuidFiles() error {
	text, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return err
	}
	for line := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n") {
		f := strings.Fields(line)
		if len(f) < 4 {
			continue
		}
		options := "," + f[3] + ","
		if !strings.Contains(options, ",nosuid,") && f[2] != "cgroup" && f[2] != "cgroup2" {
			return fmt.Errorf("set-user-ID files would work on %s", f[1])
		}
	}
	return nil
}

// namespaces tries to get namespaces of its own, where it would be root.
func namespaces(Target) error {
	for what, flag := range map[string]uintptr{
		"user": unix.CLONE_NEWUSER, "pid": unix.CLONE_NEWPID, "mount": unix.CLONE_NEWNS, "network": unix.CLONE_NEWNET,
		"ipc": unix.CLONE_NEWIPC, "uts": unix.CLONE_NEWUTS, "cgroup": unix.CLONE_NEWCGROUP,
	} {
		if err := unix.Unshare(int(flag)); err == nil {
			return fmt.Errorf("left its %s namespace", what)
		}
		for _, flags := range []uintptr{flag, flag | unix.CLONE_NEWUSER} {
			cmd := exec.Command("/bin/true")
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
			if err := cmd.Run(); err == nil {
				return fmt.Errorf("started a process in another %s namespace", what)
			}
		}
	}
	args := struct{ flags, pidfd, childTID, parentTID, exit, stack, stackSize, tls uint64 }{flags: unix.CLONE_NEWUSER, exit: uint64(unix.SIGCHLD)}
	pid, _, errno := syscall.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0)
	if errno == 0 {
		if pid == 0 {
			for {
				_, _, _ = syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
			}
		}
		_, _ = syscall.Wait4(int(pid), nil, 0, nil)
		return errors.New("clone3 works, and hides its flags from filters")
	}
	return nil
}

// kernelCalls makes calls with senseless arguments. EPERM and the like mean that
// the kernel did not get so far as to look at them.
func kernelCalls(Target) error {
	at := uintptr(unsafe.Pointer(&[64]uint64{}))
	const none = ^uintptr(0)
	for _, c := range []struct {
		name string
		call uintptr
		args [3]uintptr
	}{
		{"keyctl", unix.SYS_KEYCTL, [3]uintptr{unix.KEYCTL_GET_KEYRING_ID, ^uintptr(2), 0}},
		{"add_key", unix.SYS_ADD_KEY, [3]uintptr{0, 0, 0}},
		{"request_key", unix.SYS_REQUEST_KEY, [3]uintptr{0, 0, 0}},
		{"bpf", unix.SYS_BPF, [3]uintptr{none, at, 8}},
		{"perf_event_open", unix.SYS_PERF_EVENT_OPEN, [3]uintptr{0, 0, 0}},
		{"userfaultfd", unix.SYS_USERFAULTFD, [3]uintptr{1, 0, 0}},
		{"io_uring_setup", unix.SYS_IO_URING_SETUP, [3]uintptr{0, 0, 0}},
		{"io_uring_enter", unix.SYS_IO_URING_ENTER, [3]uintptr{none, 0, 0}},
		{"io_uring_register", unix.SYS_IO_URING_REGISTER, [3]uintptr{none, 0, 0}},
		{"ptrace", unix.SYS_PTRACE, [3]uintptr{none, 0, 0}},
		{"process_vm_readv", unix.SYS_PROCESS_VM_READV, [3]uintptr{uintptr(os.Getpid()), 0, 0}},
		{"fsopen", unix.SYS_FSOPEN, [3]uintptr{0, 0, 0}},
		{"mount_setattr", unix.SYS_MOUNT_SETATTR, [3]uintptr{none, 0, 0}},
		{"open_by_handle_at", unix.SYS_OPEN_BY_HANDLE_AT, [3]uintptr{none, 0, 0}},
		{"setns", unix.SYS_SETNS, [3]uintptr{none, 0, 0}},
		{"pidfd_getfd", unix.SYS_PIDFD_GETFD, [3]uintptr{none, 0, 0}},
		{"kcmp", unix.SYS_KCMP, [3]uintptr{uintptr(os.Getpid()), uintptr(os.Getpid()), none}},
		{"quotactl", unix.SYS_QUOTACTL, [3]uintptr{none, 0, 0}},
	} {
		_, _, errno := unix.RawSyscall6(c.call, c.args[0], c.args[1], c.args[2], 0, 0, 0)
		if errno != unix.EPERM && errno != unix.ENOSYS && errno != unix.EACCES {
			return fmt.Errorf("%s reaches the kernel: %w", c.name, errno)
		}
	}
	for name, family := range map[string]int{
		"VSOCK": unix.AF_VSOCK, "PACKET": unix.AF_PACKET, "ALG": unix.AF_ALG, "TIPC": unix.AF_TIPC, "BLUETOOTH": unix.AF_BLUETOOTH,
	} {
		for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_SEQPACKET, unix.SOCK_DGRAM, unix.SOCK_RAW} {
			if fd, err := unix.Socket(family, kind, 0); err == nil {
				_ = unix.Close(fd)
				return fmt.Errorf("has a socket of family %s", name)
			}
		}
	}
	return nil
}

// foreignExit is what the program of foreignCalls exits with if its calls are carried out.
const foreignExit = 42

// foreignCalls runs a program of the 32-bit architecture, whose calls have other numbers.
func foreignCalls(Target) error {
	if runtime.GOARCH != "amd64" {
		return nil
	}
	err := runForeign()
	var ended *exec.ExitError
	if errors.As(err, &ended) && ended.ExitCode() == foreignExit {
		return errors.New("calls of another architecture are carried out")
	}
	return nil
}

// runForeign runs a program of the 32-bit architecture.
func runForeign() error {
	const (
		start  = 0x08048000
		header = 52 + 32
	)
	code := []byte{
		0xb8, 1, 0, 0, 0, // mov eax, 1 (exit)
		0xbb, foreignExit, 0, 0, 0, // mov ebx
		0xcd, 0x80, // int 0x80
		0x0f, 0x0b, // ud2
	}
	var elf bytes.Buffer
	elf.Write([]byte{0x7f, 'E', 'L', 'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	for _, v := range []any{
		uint16(2), uint16(3), uint32(1), uint32(start + header), uint32(52), uint32(0), uint32(0),
		uint16(52), uint16(32), uint16(1), uint16(40), uint16(0), uint16(0),
		uint32(1), uint32(0), uint32(start), uint32(start), uint32(header + len(code)), uint32(header + len(code)), uint32(5), uint32(0x1000),
	} {
		if err := binary.Write(&elf, binary.LittleEndian, v); err != nil {
			return err
		}
	}
	elf.Write(code)
	folder, err := os.MkdirTemp("", "foreign")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // of a VM
	path := filepath.Join(folder, "foreign")
	if err := os.WriteFile(path, elf.Bytes(), 0o700); err != nil {
		return err
	}
	return exec.Command(path).Run()
}

// hostname tries to know the host's name and to set its own.
func hostname(t Target) error {
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	if name == t.Host {
		return fmt.Errorf("it has the host's name, %s", name)
	}
	if unix.Sethostname([]byte("mine")) == nil || unix.Setdomainname([]byte("mine")) == nil {
		return errors.New("set its name")
	}
	return nil
}
