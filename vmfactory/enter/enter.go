package enter

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
	"unsafe"
)

// maxPlan bounds the bytes of a plan.
const maxPlan = 1 << 20

// System calls that package syscall does not have. From 424 on the numbers are the same on all architectures of Go
// except mips.
const (
	sysCloseRange   = 436
	sysMountSetattr = 442
)

// From the kernel's headers.
const (
	prSetNoNewPrivs    = 38
	prCapbsetDrop      = 24
	prCapAmbient       = 47
	capAmbientRaise    = 2
	capAmbientClearAll = 4
	capVersion3        = 0x20080522
	closeRangeCloexec  = 4
	seccompModeFilter  = 1
	atRecursive        = 0x8000
	siocGIfFlags       = 0x8913
	siocSIfFlags       = 0x8914
	iffUp              = 1
)

// carryOut reads the plan and carries out its steps. Package initialisation runs on the main thread, which matters:
// credentials, filters and namespaces belong to a thread, and the thread that executes the agent is the one that
// survives.
func carryOut() error {
	text, err := io.ReadAll(io.LimitReader(os.Stdin, maxPlan))
	if err != nil {
		return fmt.Errorf("reading the plan: %w", err)
	}
	plan, err := decodePlan(text)
	if err != nil {
		return fmt.Errorf("reading the plan: %w", err)
	}
	if err := syscall.Dup3(1, 0, 0); err != nil {
		return fmt.Errorf("closing the plan: %w", err)
	}
	syscall.Umask(0)
	for i := range plan.Steps {
		s := &plan.Steps[i]
		err := s.run()
		if err == nil || s.Maybe && errors.Is(err, syscall.ENOENT) {
			continue
		}
		return fmt.Errorf("%s %s: %w", s.Do, s.what(), err)
	}
	return nil
}

// what returns the step's object, for errors.
func (s *Step) what() string {
	if s.Path != "" {
		return s.Path
	}
	if s.Text != "" {
		return s.Text
	}
	return fmt.Sprint(s.Num)
}

func (s *Step) run() error {
	switch s.Do {
	case Unshare:
		return syscall.Unshare(int(s.Bits)) //nolint:gosec // a set of flags
	case IDs:
		return s.ids()
	case Hostname:
		return syscall.Sethostname([]byte(s.Text))
	case Mkdir:
		return syscall.Mkdir(s.Path, uint32(s.Bits)) //nolint:gosec // a file mode
	case Symlink:
		return syscall.Symlink(s.Text, s.Path)
	case Write:
		return s.write()
	case Mount:
		return syscall.Mount(s.From, s.Path, s.Type, uintptr(s.Bits), s.Text)
	case Restrict:
		return s.restrict()
	case Hide:
		return s.hide()
	case Chdir:
		return syscall.Chdir(s.Path)
	case Pivot:
		return pivot()
	case Loopback:
		return loopback()
	case Rlimit:
		return s.rlimit()
	case Nobody:
		return s.nobody()
	case Seccomp:
		return s.seccomp()
	case Keep:
		how := int(s.Bits) //nolint:gosec // flags of open
		if how == 0 {
			how = syscall.O_WRONLY
		}
		fd, err := syscall.Open(s.Path, how|syscall.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		return errors.Join(syscall.Dup3(fd, int(s.Num[0]), 0), syscall.Close(fd)) //nolint:gosec // a small number
	case Fds:
		return call(sysCloseRange, uintptr(s.Num[0]), uintptr(^uint32(0)), closeRangeCloexec)
	case Say:
		_, err := os.Stdout.WriteString(s.Text)
		return err
	case Exec:
		return syscall.Exec("/proc/self/exe", s.Args, s.Env)
	}
	return syscall.ENOSYS
}

// call makes a system call on this thread only.
func call(number, a, b, c uintptr) error {
	if _, _, errno := syscall.RawSyscall(number, a, b, c); errno != 0 {
		return errno
	}
	return nil
}

func call6(number, a, b, c, d, e uintptr) error {
	if _, _, errno := syscall.RawSyscall6(number, a, b, c, d, e, 0); errno != 0 {
		return errno
	}
	return nil
}

// ids changes user and group, on this thread: package syscall's functions would change all threads.
func (s *Step) ids() error {
	uid, gid := uintptr(s.Num[0]), uintptr(s.Num[1])
	if err := call(syscall.SYS_SETGROUPS, 0, 0, 0); err != nil {
		return err
	}
	if err := call(syscall.SYS_SETRESGID, gid, gid, gid); err != nil {
		return err
	}
	return call(syscall.SYS_SETRESUID, uid, uid, uid)
}

func (s *Step) write() error {
	f, err := os.OpenFile(s.Path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, os.FileMode(s.Bits)) //nolint:gosec // a file mode
	if err != nil {
		return err
	}
	if _, err := f.WriteString(s.Text); err != nil {
		return errors.Join(err, f.Close())
	}
	return f.Close()
}

// restrict adds attributes to a mount. Unlike a remount it needs no knowledge of the present ones, and reaches the
// mounts below it in the same call.
func (s *Step) restrict() error {
	path, err := syscall.BytePtrFromString(s.Path)
	if err != nil {
		return err
	}
	attr := struct{ set, clear, propagation, userns uint64 }{set: s.Bits}
	flags := uintptr(0)
	if s.Deep {
		flags = atRecursive
	}
	const atFdcwd = -100
	at := atFdcwd
	return call6(sysMountSetattr, uintptr(at), uintptr(unsafe.Pointer(path)), flags,
		uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
}

// hide covers what a /proc shows beyond the allowed: files by an empty file, folders by an empty, read-only one.
func (s *Step) hide() error {
	entries, err := os.ReadDir(s.Path)
	if err != nil {
		return err
	}
	empty := ""
	for _, e := range entries {
		at := s.Path + "/" + e.Name()
		switch {
		case slices.Contains(s.Args, e.Name()), '0' <= e.Name()[0] && e.Name()[0] <= '9', e.Type() == os.ModeSymlink:
		case !e.IsDir():
			err = syscall.Mount(s.From, at, "", syscall.MS_BIND, "")
		case empty == "":
			err = syscall.Mount("tmpfs", at, "tmpfs", syscall.MS_RDONLY|syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, "size=4096,nr_inodes=1,mode=555")
			if err == nil {
				empty = at
			}
		default:
			err = syscall.Mount(empty, at, "", syscall.MS_BIND, "")
		}
		if err != nil && !errors.Is(err, syscall.ENOENT) { // a module removed it in the meantime
			return fmt.Errorf("%s: %w", e.Name(), err)
		}
	}
	return nil
}

// pivot stacks the old root over the new one and detaches it, so that it needs no folder.
func pivot() error {
	if err := syscall.PivotRoot(".", "."); err != nil {
		return err
	}
	if err := syscall.Unmount(".", syscall.MNT_DETACH); err != nil {
		return err
	}
	return syscall.Chdir("/")
}

func loopback() error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	req := struct {
		name  [16]byte
		flags uint16
		_     [22]byte
	}{name: [16]byte{'l', 'o'}}
	err = call(syscall.SYS_IOCTL, uintptr(fd), siocGIfFlags, uintptr(unsafe.Pointer(&req)))
	if err == nil {
		req.flags |= iffUp
		err = call(syscall.SYS_IOCTL, uintptr(fd), siocSIfFlags, uintptr(unsafe.Pointer(&req)))
	}
	return errors.Join(err, syscall.Close(fd))
}

// rlimit lowers both limits of a resource; lower ones stay.
func (s *Step) rlimit() error {
	resource, most := int(s.Num[0]), s.Num[1] //nolint:gosec // a small number
	var now syscall.Rlimit
	if err := syscall.Getrlimit(resource, &now); err != nil {
		return err
	}
	most = min(most, now.Max)
	return syscall.Setrlimit(resource, &syscall.Rlimit{Cur: most, Max: most})
}

// nobody permanently drops every capability except those in Bits.
func (s *Step) nobody() error {
	for c := range uint(64) {
		if s.Bits&(1<<c) != 0 {
			continue
		}
		err := call6(syscall.SYS_PRCTL, prCapbsetDrop, uintptr(c), 0, 0, 0)
		if err == syscall.EINVAL { //nolint:errorlint // straight from the kernel: past its last capability
			break
		}
		if err != nil {
			return fmt.Errorf("bound capability %d: %w", c, err)
		}
	}
	if err := call6(syscall.SYS_PRCTL, prCapAmbient, capAmbientClearAll, 0, 0, 0); err != nil {
		return fmt.Errorf("clear ambient capabilities: %w", err)
	}
	if err := call6(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("forbid new privileges: %w", err)
	}
	header := struct{ version, pid uint32 }{version: capVersion3}
	low, high := uint32(s.Bits), uint32(s.Bits>>32) //nolint:gosec // the two halves
	data := [2]struct{ effective, permitted, inheritable uint32 }{{low, low, 0}, {high, high, 0}}
	if s.Deep {
		data[0].inheritable, data[1].inheritable = low, high
	}
	if err := call(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&data)), 0); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	for c := range uint(64) {
		if !s.Deep || s.Bits&(1<<c) == 0 {
			continue
		}
		if err := call6(syscall.SYS_PRCTL, prCapAmbient, capAmbientRaise, uintptr(c), 0, 0); err != nil {
			return fmt.Errorf("keep capability %d: %w", c, err)
		}
	}
	return nil
}

func (s *Step) seccomp() error {
	const size = 8 // of a struct sock_filter
	prog := struct {
		length uint16
		filter *byte
	}{uint16(len(s.Raw) / size), &s.Raw[0]} //nolint:gosec // a filter has at most 4096 instructions
	return call(uintptr(s.Num[0]), seccompModeFilter, 0, uintptr(unsafe.Pointer(&prog)))
}
