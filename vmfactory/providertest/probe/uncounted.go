package probe

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// accessLists puts attributes and lists of access on folders below Folders[0]: kernel
// memory that no cgroup counts.
func accessLists(t Target) error {
	folder := filepath.Join(t.Folders[0], "listed")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	fd, err := unix.Open(folder, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	list := []byte{2, 0, 0, 0, 1, 0, 7, 0, 255, 255, 255, 255, 4, 0, 5, 0, 255, 255, 255, 255, 0x20, 0, 5, 0, 255, 255, 255, 255}
	for _, name := range []string{"user.probe", "system.posix_acl_access", "system.posix_acl_default"} {
		for _, set := range []func() error{
			func() error { return unix.Setxattr(folder, name, list, 0) },
			func() error { return unix.Lsetxattr(folder, name, list, 0) },
			func() error { return unix.Fsetxattr(fd, name, list, 0) },
		} {
			if set() == nil {
				return fmt.Errorf("a folder has the attribute %s", name)
			}
		}
	}
	const setxattrat = 463
	args := struct {
		value uint64
		size  uint32
		flags uint32
	}{uint64(uintptr(unsafe.Pointer(&list[0]))), uint32(len(list)), 0}
	path, name := append([]byte(folder), 0), append([]byte("user.probe"), 0)
	here := unix.AT_FDCWD
	_, _, errno := unix.Syscall6(setxattrat, uintptr(here), uintptr(unsafe.Pointer(&path[0])), 0, uintptr(unsafe.Pointer(&name[0])), uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args))
	if errno == 0 {
		return errors.New("a folder has an attribute by setxattrat")
	}
	return nil
}

// uncounted asks for memory that no cgroup counts, or counts elsewhere.
func uncounted(Target) error {
	b, err := unix.Mmap(-1, 0, chunk, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	const bind, huge = 2, 0o4000
	node := uint64(1)
	if _, _, errno := unix.Syscall6(unix.SYS_MBIND, uintptr(unsafe.Pointer(&b[0])), uintptr(os.Getpagesize()), bind, uintptr(unsafe.Pointer(&node)), 8, 0); errno == 0 {
		return errors.New("a page has a policy of its own")
	}
	if _, err := unix.Mmap(-1, 0, 2*chunk, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_HUGETLB); err == nil {
		return errors.New("has huge pages")
	}
	if fd, err := unix.MemfdCreate("probe", unix.MFD_HUGETLB); err == nil {
		_ = unix.Close(fd)
		return errors.New("has a file of huge pages")
	}
	if id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 2*chunk, unix.IPC_CREAT|huge|0o600); err == nil {
		_, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		return errors.New("has shared memory of huge pages")
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	for name, option := range map[string]int{"receive": unix.SO_RCVBUF, "send": unix.SO_SNDBUF} {
		was, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, option)
		if err != nil {
			return err
		}
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, option, 4*was)
		if is, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, option); err != nil || is > was {
			return fmt.Errorf("a socket's buffer to %s grew from %d to %d bytes", name, was, is)
		}
	}
	return nil
}

// fileLocks takes Most locks on parts of files in Folders[0], a thousand on each.
func fileLocks(t Target) error {
	const each = 1000
	var holding []*os.File
	defer func() {
		for _, f := range holding {
			_ = f.Close() // nothing was written
		}
	}()
	for n := int64(0); n < t.Most; {
		f, err := os.Create(filepath.Join(t.Folders[0], fmt.Sprintf("locked%d", n/each)))
		if err != nil {
			return nil // held
		}
		holding = append(holding, f)
		for range min(each, t.Most-n) {
			lock := unix.Flock_t{Type: unix.F_WRLCK, Start: 2 * (n % each), Len: 1}
			if err := unix.FcntlFlock(f.Fd(), unix.F_SETLK, &lock); err != nil {
				return nil // held
			}
			n++
		}
	}
	if t.PID != 0 { // asked to keep them
		stay()
	}
	return fmt.Errorf("holds %d locks", t.Most)
}

// hostStores takes of what a host has once for all its programs and namespaces.
func hostStores(Target) error {
	context := uint64(0)
	if _, _, errno := unix.Syscall(unix.SYS_IO_SETUP, 1, uintptr(unsafe.Pointer(&context)), 0); errno == 0 {
		_, _, _ = unix.Syscall(unix.SYS_IO_DESTROY, uintptr(context), 0, 0)
		return errors.New("has asynchronous I/O")
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	code := []unix.SockFilter{{Code: unix.BPF_RET, K: 0}}
	if unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: 1, Filter: &code[0]}) == nil {
		return errors.New("a socket has a filter")
	}
	six, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM, 0)
	if err != nil {
		return nil // a kernel without
	}
	defer unix.Close(six) //nolint:errcheck // nothing was written
	const labels = 32
	label := [32]byte{15: 1, 21: 1, 22: 1} // of ::1: get, shared by its process, make it
	if _, _, errno := unix.Syscall6(unix.SYS_SETSOCKOPT, uintptr(six), unix.SOL_IPV6, labels, uintptr(unsafe.Pointer(&label)), 32, 0); errno != unix.ENOPROTOOPT {
		return fmt.Errorf("asks for a label of a flow: %w", errno)
	}
	return nil
}

// cached looks into what the host keeps of Files[0] and its folder, which all that
// read them share.
func cached(t Target) error {
	fd, err := unix.Open(t.Files[0], unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	b := make([]byte, 1)
	if _, err := unix.Preadv2(fd, [][]byte{b}, 0, unix.RWF_NOWAIT); err == nil || errors.Is(err, unix.EAGAIN) {
		return errors.New("hears whether a page of a shared file is in memory")
	}
	var pages [2]uint64
	if _, _, errno := unix.Syscall6(unix.SYS_CACHESTAT, uintptr(fd), uintptr(unsafe.Pointer(&pages)), uintptr(unsafe.Pointer(&[5]uint64{})), 0, 0, 0); errno == 0 {
		return errors.New("counts the pages of a shared file")
	}
	const resolveCached = 0x20
	how := unix.OpenHow{Resolve: resolveCached}
	if _, err := unix.Openat2(unix.AT_FDCWD, filepath.Join(filepath.Dir(t.Files[0]), "nobody-asked-for"), &how); !errors.Is(err, unix.ENOSYS) {
		return fmt.Errorf("hears which names others have looked up: %w", err)
	}
	return nil
}

// marks leaves something on a file of its own, and on Files[0], that outlives its content.
func marks(t Target) error {
	own := filepath.Join(t.Folders[0], "marked")
	if err := os.WriteFile(own, nil, 0o600); err != nil {
		return err
	}
	for _, path := range []string{own, t.Folders[0], t.Files[0]} {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		const noDump, short = 0x40, 2
		flag := unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, noDump)
		hint := uint64(short)
		_, _, hinted := unix.Syscall(unix.SYS_FCNTL, uintptr(fd), unix.F_SET_RW_HINT, uintptr(unsafe.Pointer(&hint)))
		_, leased := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK)
		_ = unix.Close(fd)
		switch {
		case flag == nil:
			return fmt.Errorf("%s has a flag", path)
		case hinted == 0:
			return fmt.Errorf("%s has a hint", path)
		case leased == nil:
			return fmt.Errorf("has a lease on %s", path)
		}
	}
	return nil
}

// watches asks to hear what others do in Folders[0].
func watches(t Target) error {
	fd, err := unix.Open(t.Folders[0], unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_NOTIFY, 1); err == nil {
		return errors.New("watches a folder")
	}
	if watch, err := unix.InotifyInit1(unix.IN_CLOEXEC); err == nil {
		_ = unix.Close(watch)
		return errors.New("can watch files")
	}
	return nil
}

// counters looks for numbers in /proc/sys that count something of the whole host.
func counters(Target) error {
	var told []string
	for _, name := range []string{"kernel/pty/nr", "fs/aio-nr", "fs/dentry-state", "fs/file-nr", "fs/inode-nr", "fs/inode-state"} {
		if text, err := os.ReadFile(filepath.Join("/proc/sys", name)); err == nil && len(text) > 0 {
			told = append(told, name)
		}
	}
	if len(told) > 0 {
		return fmt.Errorf("reads %s", strings.Join(told, "; "))
	}
	return nil
}

// sameUser looks whether its user is Most outside, by whom the kernel counts epoll
// watches, pipes and signals that wait.
func sameUser(t Target) error {
	text, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		var inside, outside, count int64
		if _, err := fmt.Sscan(line, &inside, &outside, &count); err != nil {
			return err
		}
		if id := int64(os.Getuid()); id >= inside && id < inside+count && outside+id-inside == t.Most {
			return errors.New("shares its user with the host's programs")
		}
	}
	return nil
}
