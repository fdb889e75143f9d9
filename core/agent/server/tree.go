package server

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"drover/core/agent/wire"
)

// tree is the processes of the VM, by the kernel's own list.
//
// As the init of a PID namespace the agent owns all of them. Otherwise it is the subreaper of its own descendants,
// and they are found by their parents.
type tree struct {
	self int
	init bool

	autogroups bool // the kernel may share processors out among sessions

	network atomic.Pointer[atomic.Int64] // the thread that is in user code's network; 0 is none
	boxed   atomic.Int64                 // that in the box's

	mu   sync.Mutex // guards what follows
	proc int        // descriptor of /proc
	list []byte     // for directory entries
	text []byte     // for one status file
	pids []int

	locks  int       // descriptor of the kernel's list of locks; below 0 is none
	locked time.Time // when it was last read
}

// process is the content of one process's status file.
type process struct {
	pid, parent int
	uid         int // real
	filters     int // seccomp filters, which a process can add but not remove
	zombie      bool
	headless    bool // its first thread has ended
	threads     int
	anon        int64 // bytes that are its own: resident, swapped, page tables
	tables      int64 // of them, page tables
	file        int64 // resident bytes of mapped files
	peak        int64 // most that ever was resident, mapped files included
	careless    bool  // it ignores the end of its children
	session     int
}

func newTree(shown bool) (*tree, error) {
	if pid, err := os.Readlink("/proc/self"); err != nil || pid != fmt.Sprint(os.Getpid()) {
		return nil, fmt.Errorf("/proc does not show this PID namespace (self is %q): mount it first: %w", pid, err)
	}
	fd, err := wire.ProcFD, error(nil)
	if !shown {
		fd, err = syscall.Open("/proc", syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	}
	if err != nil {
		return nil, fmt.Errorf("open /proc: %w", err)
	}
	self := os.Getpid()
	t := &tree{self: self, init: self == 1, proc: fd, list: make([]byte, 8<<10), text: make([]byte, 4<<10), locks: -1}
	t.autogroups = syscall.Faccessat(fd, "self/autogroup", 0, 0) == nil
	if shown { // otherwise the list is the whole host's, or hidden
		t.locks, _ = syscall.Openat(fd, "locks", syscall.O_RDONLY|syscall.O_CLOEXEC, 0) // a kernel may have none
	}
	return t, nil
}

// A lock on a part of a file takes some 200 bytes of the kernel's memory, which no cgroup counts; there is no other
// limit.
const (
	mostLocks = 16384
	lookLocks = lookMost // the shortest interval: the list is the whole host's
)

// manyLocks reports whether the processes of the VM hold more locks than any program needs. The list shows those of
// this PID namespace.
func (t *tree) manyLocks() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.locks < 0 || time.Since(t.locked) < lookLocks {
		return false
	}
	count, at := 0, int64(0)
	for count <= mostLocks {
		n, err := syscall.Pread(t.locks, t.text, at)
		if err != nil || n <= 0 {
			break
		}
		count += bytes.Count(t.text[:n], []byte{'\n'})
		at += int64(n)
	}
	t.locked = time.Now()
	return count > mostLocks
}

func (t *tree) close() { _ = syscall.Close(t.proc) }

// count counts the processes besides the agent. Those that it counts lived at one moment: each is listed before its
// status is read.
func (t *tree) count() (int, error) {
	n := 0
	err := t.scan(func(process) { n++ })
	return n, err
}

// scan calls fn with every process besides the agent.
func (t *tree) scan(fn func(process)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.each(fn)
}

func (t *tree) each(fn func(process)) error {
	pids, err := t.all()
	if err != nil {
		return err
	}
	if t.init {
		for _, pid := range pids {
			if p, ok := t.status(pid); ok {
				fn(p)
			}
		}
		return nil
	}
	children := map[int][]process{}
	for _, pid := range pids {
		if p, ok := t.status(pid); ok {
			children[p.parent] = append(children[p.parent], p)
		}
	}
	for next := []int{t.self}; len(next) > 0; {
		parent := next[0]
		next = next[1:]
		for _, p := range children[parent] {
			fn(p)
			next = append(next, p.pid)
		}
		delete(children, parent)
	}
	return nil
}

// all lists every process that /proc shows, except the agent.
func (t *tree) all() ([]int, error) {
	if _, err := syscall.Seek(t.proc, 0, 0); err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	t.pids = t.pids[:0]
	for {
		n, err := syscall.ReadDirent(t.proc, t.list)
		if err != nil {
			return nil, fmt.Errorf("list processes: %w", err)
		}
		if n == 0 {
			return t.pids, nil
		}
		for rest := t.list[:n]; len(rest) > 0; {
			const nameAt = 19 // of struct linux_dirent64: inode, offset, length, type come first
			size := int(rest[16]) | int(rest[17])<<8
			name := rest[nameAt:size]
			rest = rest[size:]
			if pid := number(name); pid > 0 && int(pid) != t.self {
				t.pids = append(t.pids, int(pid))
			}
		}
	}
}

// status reads one process; false if it is gone.
func (t *tree) status(pid int) (process, bool) {
	p, ok := t.statusOf(pid, "status")
	if !ok || !p.zombie || p.threads < 2 {
		return p, ok
	}
	// If the first thread has ended, others may live, and this file has nothing of their memory.
	p.zombie = false
	fd, err := syscall.Openat(t.proc, strconv.Itoa(pid)+"/task", syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return p, true
	}
	folder := os.NewFile(uintptr(fd), "task")
	threads, err := folder.Readdirnames(-1)
	_ = folder.Close() // only read from
	if err != nil {
		return p, true
	}
	for _, thread := range threads {
		if q, ok := t.statusOf(pid, "task/"+thread+"/status"); ok && !q.zombie {
			q.pid, q.headless = pid, true
			return q, true
		}
	}
	return p, true
}

// statusOf reads one status file.
func (t *tree) statusOf(pid int, name string) (process, bool) {
	text, err := t.read(pid, name)
	if err != nil {
		return process{}, false
	}
	p := process{pid: pid}
	for len(text) > 0 {
		key, value, rest := statusLine(text)
		text = rest
		switch string(key) {
		case "State":
			p.zombie = len(value) > 0 && value[0] == 'Z'
		case "PPid":
			p.parent = int(number(value))
		case "NSsid":
			p.session = int(number(value))
		case "Uid":
			p.uid = int(number(value))
		case "Seccomp_filters":
			p.filters = int(number(value))
		case "Threads":
			p.threads = int(number(value))
		case "VmHWM":
			p.peak = number(value) << 10
		case "RssFile":
			p.file = number(value) << 10
		case "SigIgn":
			p.careless = ignoresChildren(value)
		case "RssAnon", "RssShmem", "VmSwap":
			p.anon += number(value) << 10
		case "VmPTE":
			p.tables = number(value) << 10
			p.anon += p.tables
		}
	}
	return p, true
}

// ending reports whether a process is gone or will run no more of its program.
func (t *tree) ending(pid int) bool {
	fd, err := syscall.Openat(t.proc, strconv.Itoa(pid)+"/stat", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return true
	}
	defer syscall.Close(fd) //nolint:errcheck // nothing was written
	var text [512]byte
	n, err := syscall.Read(fd, text[:])
	if err != nil {
		return true
	}
	const flagsAt, exiting = 6, 0x4 // of the fields after the name, and PF_EXITING of the kernel
	fields := bytes.Fields(text[bytes.LastIndexByte(text[:n], ')')+1 : n])
	return len(fields) <= flagsAt || number(fields[flagsAt])&exiting != 0
}

// share returns what the process adds to the memory of all besides page tables, with shared pages divided by those that
// share them. It walks the process's page tables. Returns false if the kernel does not report it.
func (t *tree) share(pid int) (int64, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	text, err := t.read(pid, "smaps_rollup")
	if err != nil {
		// Gone means nothing to add; not allowed means not known.
		return 0, errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ESRCH)
	}
	var sum int64
	for len(text) > 0 {
		key, value, rest := statusLine(text)
		text = rest
		switch string(key) {
		case "Pss_Anon", "Pss_Shmem", "SwapPss":
			sum += number(value) << 10
		}
	}
	return sum, true
}

// ignoresChildren reads a set of signals.
func ignoresChildren(set []byte) bool {
	mask, err := strconv.ParseUint(string(bytes.TrimSpace(set)), 16, 64)
	return err == nil && mask&(1<<(syscall.SIGCHLD-1)) != 0
}

func (t *tree) read(pid int, name string) ([]byte, error) {
	return t.top(strconv.Itoa(pid) + "/" + name)
}

// top reads a file of /proc.
func (t *tree) top(name string) ([]byte, error) {
	fd, err := syscall.Openat(t.proc, name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer syscall.Close(fd) //nolint:errcheck // nothing was written
	n, err := syscall.Read(fd, t.text)
	if err != nil {
		return nil, err
	}
	return t.text[:n], nil
}

// statusLine cuts "Key:  value unit\n" off text.
func statusLine(text []byte) (key, value, rest []byte) {
	line, rest, _ := bytes.Cut(text, []byte{'\n'})
	key, value, _ = bytes.Cut(line, []byte{':'})
	return key, bytes.TrimLeft(value, " \t"), rest
}

// number reads leading digits, at most 18 of them; -1 if there is none.
func number(b []byte) int64 {
	n := int64(-1)
	for i, c := range b {
		if c < '0' || c > '9' || i == 18 {
			break
		}
		n = max(n, 0)*10 + int64(c-'0')
	}
	return n
}

// How long killed processes may take to die, and how often they are signalled again. Commands have the lowest
// priority, so on a busy machine they die late.
const (
	killTimeout = 30 * time.Second
	killAgain   = 10 * time.Millisecond
)

// strike sends SIGKILL to everything except the agent. In a PID namespace of its own one call reaches all, including
// those that are about to fork.
func (t *tree) strike() {
	if t.init {
		_ = syscall.Kill(-1, syscall.SIGKILL) // ESRCH: there is none
		return
	}
	for range 1000 { // a descendant that forks between listing and killing is found next time
		t.mu.Lock()
		var found []int
		err := t.each(func(p process) {
			if !p.zombie {
				found = append(found, p.pid)
			}
		})
		t.mu.Unlock()
		if err != nil || len(found) == 0 {
			return
		}
		for _, pid := range found {
			_ = syscall.Kill(pid, syscall.SIGKILL) // ESRCH: it ended by itself
		}
	}
}

// killAll kills and reaps everything except the agent while no run is in progress.
func (t *tree) killAll() error {
	late := time.NewTimer(killTimeout)
	defer late.Stop()
	again := time.NewTicker(killAgain)
	defer again.Stop()
	for {
		t.strike()
		for {
			pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			if errors.Is(err, syscall.ECHILD) {
				return nil
			}
			if pid <= 0 && !errors.Is(err, syscall.EINTR) {
				break // some are still dying
			}
		}
		select {
		case <-again.C:
		case <-late.C:
			return errUndead
		}
	}
}

// sockets counts the sockets of the VM's network namespace. An agent that is no VM's init shares the host's, whose
// sockets are not the job's.
func (t *tree) sockets() int64 {
	if !t.init {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	sum := int64(0)
	for _, thread := range []int64{max(t.network.Load().Load(), int64(t.self)), t.boxed.Load()} {
		text, err := t.read(t.self, "task/"+strconv.FormatInt(thread, 10)+"/net/sockstat")
		if err != nil {
			continue // there is no such thread
		}
		_, count, _ := bytes.Cut(text, []byte("used "))
		sum += max(number(count), 0)
	}
	return sum
}
