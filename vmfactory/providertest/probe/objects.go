package probe

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// makers make one more object of a kind of the kernel's, the n-th of a process, and keep it.
var makers = map[string]func(t Target, n int64) error{
	"open files":       openFile,
	"mapped files":     mappedFile,
	"pipes":            fullPipe,
	"pinned pages":     pinnedPage,
	"spliced files":    splicedFile,
	"descriptors":      descriptor,
	"watches":          watch,
	"unix sockets":     fullSockets,
	"TCP connections":  connection,
	"datagrams":        datagrams,
	"netlink sockets":  netlinkSocket,
	"multicast groups": multicastGroup,
	"timers":           timer,
	"queued signals":   queuedSignal,
	"System V objects": systemVObject,
	"inodes":           inode,
	"record locks":     recordLock,
	"mappings":         mapping,
	"page tables":      pageTable,
	"Landlock rules":   landlockRule,
	"names":            missingName,
	"sessions":         session,
}

// Makers lists the kinds.
func Makers() []string {
	var all []string
	for kind := range makers {
		all = append(all, kind)
	}
	return slices.Sorted(slices.Values(all))
}

// holdObjects has PID processes make up to Most objects each of the kind that Marker names, says how many there are and why
// there are not more, and keeps them.
func holdObjects(t Target) error {
	if t.PID == 0 {
		return makeObjects(t)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	each := t
	each.PID = 0
	for range t.PID {
		cmd := exec.Command(self, Args("objects", each)...)
		out, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			fmt.Println("one process less:", err)
			continue
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		fmt.Print(line)
	}
	fmt.Println("holding")
	stay()
	return nil
}

func makeObjects(t Target) error {
	runtime.LockOSThread()
	n, err := int64(0), error(nil)
	for ; n < t.Most && err == nil; n++ {
		if err = makers[t.Marker](t, n); err != nil {
			break
		}
	}
	fmt.Println(n, t.Marker, err)
	stay()
	return nil
}

func ownName(t Target) string {
	return filepath.Join(t.Folders[0], "objects-"+strconv.Itoa(os.Getpid()))
}

func openFile(t Target, _ int64) error {
	_, err := unix.Open(ownName(t), unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
	return err
}

// mappedFile keeps a file open by a mapping, without a descriptor. Mappings of different rights are not merged.
func mappedFile(t Target, n int64) error {
	fd, err := unix.Open(ownName(t), unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	if n == 0 {
		if err := unix.Ftruncate(fd, chunk); err != nil {
			return err
		}
	}
	_, err = unix.Mmap(fd, 0, os.Getpagesize(), int(n%2)*unix.PROT_READ, unix.MAP_PRIVATE)
	return err
}

func newPipe() (p [2]int, err error) {
	err = unix.Pipe2(p[:], unix.O_NONBLOCK|unix.O_CLOEXEC)
	if err == nil {
		_, _ = unix.FcntlInt(uintptr(p[1]), unix.F_SETPIPE_SZ, chunk)
	}
	return p, err
}

func fullPipe(Target, int64) error {
	p, err := newPipe()
	if err != nil {
		return err
	}
	_, err = unix.Write(p[1], make([]byte, chunk))
	return err
}

// last is a pipe with room.
var last [2]int

// intoPipe puts something into the last pipe, or a new one if that is full.
func intoPipe(put func(to int) error) error {
	if last[1] != 0 {
		if err := put(last[1]); !errors.Is(err, unix.EAGAIN) {
			return err
		}
	}
	var err error
	if last, err = newPipe(); err != nil {
		return err
	}
	return put(last[1])
}

// pinnedPage keeps a huge page by a small part of it that is in a pipe.
func pinnedPage(Target, int64) error {
	const huge = 2 << 20
	b, err := unix.Mmap(-1, 0, 2*huge, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	defer unix.Munmap(b) //nolint:errcheck // of this process
	at := b[(huge - int(uintptr(unsafe.Pointer(&b[0]))%huge)%huge):][:huge]
	_ = unix.Madvise(at, unix.MADV_HUGEPAGE)
	for i := 0; i < huge; i += os.Getpagesize() {
		at[i] = 1
	}
	part := unix.Iovec{Base: &at[0]}
	part.SetLen(os.Getpagesize())
	return intoPipe(func(to int) error {
		_, err := unix.Vmsplice(to, []unix.Iovec{part}, unix.SPLICE_F_NONBLOCK)
		return err
	})
}

// splicedFile keeps pages of a file of the system, of which each may be a part of a larger one, in a pipe.
func splicedFile(t Target, n int64) error {
	const apart = 128 << 10
	fd, err := unix.Open(t.Files[0], unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	return intoPipe(func(to int) error {
		at := n * apart % st.Size
		_, err := unix.Splice(fd, &at, to, nil, os.Getpagesize(), unix.SPLICE_F_NONBLOCK)
		return err
	})
}

// descriptor makes what has no name, of each kind in turn.
func descriptor(_ Target, n int64) (err error) {
	switch n % 5 {
	case 0:
		_, err = unix.Eventfd(0, unix.EFD_CLOEXEC)
	case 1:
		_, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC)
	case 2:
		_, err = unix.PidfdOpen(os.Getpid(), 0)
	case 3:
		_, err = unix.Signalfd(-1, &unix.Sigset_t{}, unix.SFD_CLOEXEC)
	default:
		if _, err = unix.MemfdCreate("objects", unix.MFD_CLOEXEC); err == unix.ENOSYS || err == unix.EPERM {
			err = nil
		}
	}
	return err
}

// watch has new instances of epoll watch one another's descriptors.
func watch(_ Target, n int64) error {
	const each = 32
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return err
	}
	for range each {
		event, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
		if err != nil {
			return err
		}
		if err := unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, event, &unix.EpollEvent{Events: unix.EPOLLIN}); err != nil {
			return err
		}
		if n > 0 {
			_ = unix.Close(event)
		}
	}
	return nil
}

// untilFull sends until there is no room.
func untilFull(send func() error) error {
	const most = 10_000
	for range most {
		if err := send(); err != nil {
			return nil //nolint:nilerr // it is full
		}
	}
	return nil
}

// fullSockets are a pair that is full of messages, each with a descriptor that nobody else has.
func fullSockets(Target, int64) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return untilFull(func() error {
		event, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
		if err != nil {
			return err
		}
		defer unix.Close(event) //nolint:errcheck // nothing was written
		return unix.Sendmsg(pair[0], make([]byte, 1), unix.UnixRights(event), nil, unix.MSG_DONTWAIT)
	})
}

var listener int

// connection is one that nobody accepts, full of data, and closed by its client.
func connection(_ Target, n int64) error {
	if n == 0 {
		var err error
		if listener, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
			return err
		}
		if err := unix.Listen(listener, 1<<16); err != nil {
			return err
		}
	}
	to, err := unix.Getsockname(listener)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // nothing more is sent
	if err := unix.Connect(fd, to); err != nil && err != unix.EINPROGRESS {
		return err
	}
	return untilFull(func() error { return unix.Sendto(fd, make([]byte, 64<<10), unix.MSG_DONTWAIT, nil) })
}

// datagrams fill a socket of UDP that does not read.
func datagrams(Target, int64) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	to, err := unix.Getsockname(fd)
	if err != nil {
		return err
	}
	const many = 400 // what does not fit is dropped without an error
	for range many {
		_ = unix.Sendto(fd, make([]byte, 1<<10), unix.MSG_DONTWAIT, to)
	}
	return nil
}

// netlinkSocket asks for lists that it does not read.
func netlinkSocket(Target, int64) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	request := [32]byte{0: 32, 4: unix.RTM_GETROUTE, 6: unix.NLM_F_REQUEST, 7: unix.NLM_F_DUMP >> 8}
	return untilFull(func() error {
		return unix.Sendto(fd, request[:], unix.MSG_DONTWAIT, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
	})
}

var six int

// multicastGroup joins one more group of IPv6, with a new socket when one can join no more.
func multicastGroup(_ Target, n int64) error {
	join := func() error {
		group := unix.IPv6Mreq{Interface: 1, Multiaddr: [16]byte{0: 0xff, 1: 0x01, 10: byte(os.Getpid()), 11: byte(os.Getpid() >> 8), 12: byte(n), 13: byte(n >> 8), 14: byte(n >> 16), 15: 1}}
		return unix.SetsockoptIPv6Mreq(six, unix.IPPROTO_IPV6, unix.IPV6_JOIN_GROUP, &group)
	}
	if n > 0 && join() == nil {
		return nil
	}
	var err error
	if six, err = unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return err
	}
	return join()
}

func timer(Target, int64) error {
	var id int32
	const thread, none = 1, 1
	event := struct {
		value          uint64
		signal, notify int32
		_              [48]byte
	}{notify: none}
	if _, _, errno := unix.RawSyscall(unix.SYS_TIMER_CREATE, thread, uintptr(unsafe.Pointer(&event)), uintptr(unsafe.Pointer(&id))); errno != 0 {
		return errno
	}
	return nil
}

// queuedSignal sends this thread a signal that it has blocked.
func queuedSignal(Target, int64) error {
	const signal, queue, block = 40, -1, 0
	set := uint64(1) << (signal - 1)
	if _, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, block, uintptr(unsafe.Pointer(&set)), 0, 8, 0, 0); errno != 0 {
		return errno
	}
	info := struct {
		signal, errno, code int32
		_                   [116]byte
	}{signal: signal, code: queue}
	if _, _, errno := unix.RawSyscall6(unix.SYS_RT_TGSIGQUEUEINFO, uintptr(os.Getpid()), uintptr(unix.Gettid()), signal, uintptr(unsafe.Pointer(&info)), 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// systemVObject makes an array of semaphores, a queue with a message, and a segment, as far as there are any.
func systemVObject(Target, int64) error {
	const many = 250
	_, _, sem := unix.RawSyscall(unix.SYS_SEMGET, 0, many, unix.IPC_CREAT|0o600)
	queue, _, msg := unix.RawSyscall(unix.SYS_MSGGET, 0, unix.IPC_CREAT|0o600, 0)
	if msg == 0 {
		text := [8 << 10]byte{0: 1}
		const size, wait = 8000, 0o4000
		_ = untilFull(func() error {
			if _, _, errno := unix.RawSyscall6(unix.SYS_MSGSND, queue, uintptr(unsafe.Pointer(&text)), size, wait, 0, 0); errno != 0 {
				return errno
			}
			return nil
		})
	}
	id, shm := unix.SysvShmGet(unix.IPC_PRIVATE, os.Getpagesize(), unix.IPC_CREAT|0o600)
	if shm == nil {
		if b, err := unix.SysvShmAttach(id, 0, 0); err == nil {
			b[0] = 1
			_ = unix.SysvShmDetach(b)
		}
	}
	if sem != 0 && msg != 0 && shm != nil {
		return shm
	}
	return nil
}

func inode(t Target, n int64) error {
	at := ownName(t)
	if n == 0 {
		return unix.Mkdir(at, 0o700)
	}
	return unix.Symlink(strings.Repeat("x", 4000), filepath.Join(at, fmt.Sprintf("%0200d", n)))
}

var locked int

func recordLock(t Target, n int64) error {
	if n == 0 {
		var err error
		if locked, err = unix.Open(ownName(t), unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o600); err != nil {
			return err
		}
	}
	return unix.FcntlFlock(uintptr(locked), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Start: 2 * n, Len: 1})
}

func mapping(_ Target, n int64) error {
	_, err := unix.Mmap(-1, 0, os.Getpagesize(), int(n%2)*unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANON)
	return err
}

// pageTable has a page of a table for nothing.
func pageTable(Target, int64) error {
	const reach = 2 << 20
	b, err := unix.Mmap(-1, 0, 2*reach, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return err
	}
	_ = unix.Madvise(b, unix.MADV_NOHUGEPAGE)
	load(&b[0])
	return nil
}

var rules int

// landlockRule adds a rule for a file of its own to a set, or begins another set when that has enough.
func landlockRule(t Target, n int64) error {
	const each = 1000
	if n%each == 0 {
		access := uint64(unix.LANDLOCK_ACCESS_FS_READ_FILE)
		fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&access)), 8, 0)
		if errno != 0 {
			return errno
		}
		rules = int(fd)
	}
	file, err := unix.Open(fmt.Sprint(ownName(t), "-", n%each), unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	defer unix.Close(file) //nolint:errcheck // nothing was written
	rule := struct {
		access uint64
		parent int32
	}{unix.LANDLOCK_ACCESS_FS_READ_FILE, int32(file)}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

func missingName(_ Target, n int64) error {
	var st unix.Stat_t
	_ = unix.Stat(fmt.Sprintf("/usr/%d-%0200d", os.Getpid(), n), &st)
	return nil
}

// session starts a process in a session of its own.
func session(Target, int64) error {
	cmd := exec.Command("/bin/sleep", "1000")
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	return cmd.Start()
}
