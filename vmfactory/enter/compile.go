package enter

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

// System calls that package syscall does not have. From 424 on the numbers are the same on all architectures of Go
// except mips.
const (
	sysClone3       = 435
	sysCloseRange   = 436
	sysMountSetattr = 442
)

// From the kernel's headers.
const (
	prSetNoNewPrivs    = 38
	prCapbsetRead      = 23
	prCapbsetDrop      = 24
	prCapAmbient       = 47
	capAmbientRaise    = 2
	capAmbientClearAll = 4
	capVersion3        = 0x20080522
	closeRangeCloexec  = 4
	seccompModeFilter  = 1
	atRecursive        = 0x8000
	everyFD            = uintptr(^uint32(0))
	siocSIfFlags       = 0x8914
	iffUp              = 1
	atCwd              = -100
)

// call is one system call of a plan, as run makes it.
type call struct {
	number uintptr
	args   [6]uintptr
	fd     int  // the argument that is the descriptor which was opened last; below 0 if none is
	opens  bool // it opens one
	whole  bool // its result must be its third argument: it writes that many bytes
	skip   int  // if something is missing, this many calls after it are left out; below 0 it is an error
	hide   *hiding
	do, on string // what it is part of, for errors
}

// compiled is a plan as system calls, and the memory that their arguments point into. It is used again and again: a
// fork copies the tables of all memory that its caller has touched.
type compiled struct {
	calls  []call
	memory []byte
	used   int
	bad    error // the first text that has no place or a zero byte
	hiding hiding
}

// room is for what the largest plan points to.
const room = 2 * MaxRequest

func newCompiled() *compiled {
	for i := range errnos {
		errnos[i] = syscall.Errno(i).Error()
	}
	return &compiled{memory: make([]byte, room)}
}

// compile turns a plan into system calls for a process that is like this one: it inherits this one's limits. They begin
// by closing the process's input, which it has read. The plan must stay in memory.
func (c *compiled) compile(p Plan) error {
	c.add(syscall.SYS_DUP3, 1, 0)
	c.add(syscall.SYS_UMASK)
	for i := range p.Steps {
		s := &p.Steps[i]
		first := len(c.calls)
		err := c.step(s)
		if err = cmp.Or(err, c.bad); err != nil {
			return fmt.Errorf("%s %s: %w", s.Do, s.what(), err)
		}
		for k := first; k < len(c.calls); k++ {
			one := &c.calls[k]
			one.do, one.on = string(s.Do), s.what()
			if s.Maybe {
				one.skip = len(c.calls) - 1 - k
			}
		}
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
	if len(s.Num) > 0 {
		return strconv.FormatUint(s.Num[0], 10)
	}
	return ""
}

// add adds a call; missing arguments are 0.
func (c *compiled) add(number uintptr, args ...uintptr) *call {
	one := call{number: number, fd: -1, skip: -1}
	copy(one.args[:], args)
	c.calls = append(c.calls, one)
	return &c.calls[len(c.calls)-1]
}

// bytes returns the address of a copy.
func (c *compiled) bytes(b []byte) uintptr {
	const word = 8
	start := (c.used + word - 1) &^ (word - 1)
	if start+len(b) >= len(c.memory) {
		c.bad = cmp.Or(c.bad, error(syscall.E2BIG))
		return 0
	}
	c.used = start + copy(c.memory[start:], b)
	return uintptr(unsafe.Pointer(&c.memory[start]))
}

// text returns the address of a text that ends with a zero byte.
func (c *compiled) text(s string) uintptr {
	if strings.IndexByte(s, 0) >= 0 {
		c.bad = cmp.Or(c.bad, error(syscall.EINVAL))
	}
	at := c.bytes(unsafe.Slice(unsafe.StringData(s), len(s)))
	if c.bad == nil {
		c.memory[c.used] = 0
		c.used++
	}
	return at
}

// address returns the address of a copy of a value, which may hold addresses of other copies but no pointers.
func address[T any](c *compiled, v T) uintptr {
	return c.bytes(unsafe.Slice((*byte)(unsafe.Pointer(&v)), unsafe.Sizeof(v)))
}

// texts returns the address of an array of texts.
func (c *compiled) texts(all []string) uintptr {
	at := make([]uintptr, len(all)+1)
	for i, s := range all {
		at[i] = c.text(s)
	}
	return c.bytes(unsafe.Slice((*byte)(unsafe.Pointer(&at[0])), uintptr(len(at))*unsafe.Sizeof(at[0])))
}

// here is the folder that relative paths begin at.
func here() uintptr {
	at := atCwd
	return uintptr(at)
}

// step adds the calls of one step.
func (c *compiled) step(s *Step) error { //nolint:cyclop // one case a verb
	switch s.Do {
	case Unshare:
		c.add(syscall.SYS_UNSHARE, uintptr(s.Bits))
	case IDs:
		return c.ids(s)
	case Hostname:
		c.add(syscall.SYS_SETHOSTNAME, c.text(s.Text), uintptr(len(s.Text)))
	case Mkdir:
		c.add(syscall.SYS_MKDIRAT, here(), c.text(s.Path), uintptr(s.Bits))
	case Symlink:
		c.add(syscall.SYS_SYMLINKAT, c.text(s.Text), here(), c.text(s.Path))
	case Write:
		c.open(s.Path, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_TRUNC, s.Bits)
		if s.Text != "" {
			text := c.add(syscall.SYS_WRITE, 0, c.text(s.Text), uintptr(len(s.Text)))
			text.fd, text.whole = 0, true
		}
		c.add(syscall.SYS_CLOSE).fd = 0
	case Mount:
		data := uintptr(0) // some file systems refuse an empty one
		if s.Text != "" {
			data = c.text(s.Text)
		}
		c.add(syscall.SYS_MOUNT, c.text(s.From), c.text(s.Path), c.text(s.Type), uintptr(s.Bits), data)
	case Restrict:
		c.restrict(s)
	case Hide:
		if slices.ContainsFunc(c.calls, func(one call) bool { return one.hide != nil }) {
			return syscall.EINVAL
		}
		c.hiding.prepare(c, s)
		c.add(0).hide = &c.hiding
	case Chdir:
		c.add(syscall.SYS_CHDIR, c.text(s.Path))
	case Pivot:
		c.pivot()
	case Loopback:
		c.loopback()
	case Rlimit:
		return c.rlimit(s)
	case Pin:
		return c.pin(s)
	case Nobody:
		c.nobody(s)
	case Seccomp:
		return c.seccomp(s)
	case Keep:
		return c.keep(s)
	case Fds:
		return c.fds(s)
	case Say:
		c.add(syscall.SYS_WRITE, 1, c.text(s.Text), uintptr(len(s.Text)))
	case Exec:
		c.add(syscall.SYS_EXECVE, c.text("/proc/self/exe"), c.texts(s.Args), c.texts(s.Env))
	default:
		return syscall.ENOSYS
	}
	return nil
}

// open opens a file, as the descriptor of the calls after it.
func (c *compiled) open(path string, how int, mode uint64) {
	c.add(syscall.SYS_OPENAT, here(), c.text(path), uintptr(how|syscall.O_CLOEXEC), uintptr(mode)).opens = true
}

func (c *compiled) ids(s *Step) error {
	if len(s.Num) != 2 {
		return syscall.EINVAL
	}
	uid, gid := uintptr(s.Num[0]), uintptr(s.Num[1])
	c.add(syscall.SYS_SETGROUPS)
	c.add(syscall.SYS_SETRESGID, gid, gid, gid)
	c.add(syscall.SYS_SETRESUID, uid, uid, uid)
	// Its files in /proc are of the memory's owner now, which in a fork is the caller's root, unless it may be dumped.
	// The next program decides about that anew.
	c.add(syscall.SYS_PRCTL, syscall.PR_SET_DUMPABLE, 1)
	return nil
}

// restrict adds attributes to a mount. Unlike a remount it needs no knowledge of the present ones, and reaches the
// mounts below it in the same call.
func (c *compiled) restrict(s *Step) {
	attr := struct{ set, clear, propagation, userns uint64 }{set: s.Bits}
	flags := uintptr(0)
	if s.Deep {
		flags = atRecursive
	}
	c.add(sysMountSetattr, here(), c.text(s.Path), flags, address(c, attr), unsafe.Sizeof(attr))
}

// pivot stacks the old root over the new one and detaches it, so that it needs no folder.
func (c *compiled) pivot() {
	dot := c.text(".")
	c.add(syscall.SYS_PIVOT_ROOT, dot, dot)
	c.add(syscall.SYS_UMOUNT2, dot, syscall.MNT_DETACH)
	c.add(syscall.SYS_CHDIR, c.text("/"))
}

// loopback sets the interface up. Of its flags the kernel changes no others by this call.
func (c *compiled) loopback() {
	req := struct {
		name  [16]byte
		flags uint16
		_     [22]byte
	}{name: [16]byte{'l', 'o'}, flags: iffUp}
	c.add(syscall.SYS_SOCKET, syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0).opens = true
	c.add(syscall.SYS_IOCTL, 0, siocSIfFlags, address(c, req)).fd = 0
	c.add(syscall.SYS_CLOSE).fd = 0
}

// rlimit lowers both limits of a resource; lower ones stay.
func (c *compiled) rlimit(s *Step) error {
	if len(s.Num) != 2 {
		return syscall.EINVAL
	}
	var now syscall.Rlimit
	if err := syscall.Getrlimit(int(s.Num[0]), &now); err != nil { //nolint:gosec // a small number
		return err
	}
	most := min(s.Num[1], now.Max)
	c.add(syscall.SYS_PRLIMIT64, 0, uintptr(s.Num[0]), address(c, syscall.Rlimit{Cur: most, Max: most}))
	return nil
}

// nobody permanently drops every capability except those in Bits.
func (c *compiled) nobody(s *Step) {
	known := func(capability uintptr) bool {
		_, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prCapbsetRead, capability, 0)
		return errno == 0
	}
	kept := func(capability uintptr) bool { return s.Bits&(1<<capability) != 0 }
	for one := uintptr(0); one < 64 && known(one); one++ {
		if !kept(one) {
			c.add(syscall.SYS_PRCTL, prCapbsetDrop, one)
		}
	}
	c.add(syscall.SYS_PRCTL, prCapAmbient, capAmbientClearAll)
	c.add(syscall.SYS_PRCTL, prSetNoNewPrivs, 1)
	header := struct{ version, pid uint32 }{version: capVersion3}
	low, high := uint32(s.Bits), uint32(s.Bits>>32) //nolint:gosec // the two halves
	data := [2]struct{ effective, permitted, inheritable uint32 }{{low, low, 0}, {high, high, 0}}
	if s.Deep {
		data[0].inheritable, data[1].inheritable = low, high
	}
	c.add(syscall.SYS_CAPSET, address(c, header), address(c, data))
	for one := uintptr(0); one < 64; one++ {
		if s.Deep && kept(one) {
			c.add(syscall.SYS_PRCTL, prCapAmbient, capAmbientRaise, one)
		}
	}
}

func (c *compiled) seccomp(s *Step) error {
	const size = 8 // of a struct sock_filter
	if len(s.Num) != 1 || len(s.Raw) == 0 || len(s.Raw)/size > 4096 {
		return syscall.EINVAL
	}
	prog := struct {
		length uint16
		filter uintptr
	}{uint16(len(s.Raw) / size), c.bytes(s.Raw)} //nolint:gosec // checked
	c.add(uintptr(s.Num[0]), seccompModeFilter, 0, address(c, prog))
	return nil
}

// fds has descriptors from one on close at Exec.
func (c *compiled) fds(s *Step) error {
	if len(s.Num) != 1 {
		return syscall.EINVAL
	}
	c.add(sysCloseRange, uintptr(s.Num[0]), everyFD, closeRangeCloexec)
	return nil
}

// pin binds this process to processors.
func (c *compiled) pin(s *Step) error {
	const most, bits = 1024, 8
	mask := make([]byte, most/bits)
	for _, cpu := range s.Num {
		if cpu >= most {
			return syscall.EINVAL
		}
		mask[cpu/bits] |= 1 << (cpu % bits)
	}
	if len(s.Num) == 0 {
		return syscall.EINVAL
	}
	c.add(syscall.SYS_SCHED_SETAFFINITY, 0, uintptr(len(mask)), c.bytes(mask))
	return nil
}

// keep opens a file as the wanted descriptor.
func (c *compiled) keep(s *Step) error {
	if len(s.Num) != 1 {
		return syscall.EINVAL
	}
	how := int(s.Bits) //nolint:gosec // flags of open
	if how == 0 {
		how = syscall.O_WRONLY
	}
	c.open(s.Path, how, 0)
	c.add(syscall.SYS_DUP3, 0, uintptr(s.Num[0])).fd = 0
	c.add(syscall.SYS_CLOSE).fd = 0
	return nil
}
