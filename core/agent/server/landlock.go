package server

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"drover/core/agent/wire"
)

// System calls that package syscall does not have; the numbers are the same on all architectures.
const (
	sysLandlockCreate   = 444
	sysLandlockAddRule  = 445
	sysLandlockRestrict = 446
	sysPidfdOpen        = 434
)

// Rights of Landlock, and other restrictions of a domain.
const (
	llExecute  = 1 << 0
	llWrite    = 1 << 1
	llRead     = 1 << 2
	llReadDir  = 1 << 3
	llTruncate = 1 << 14
	llSignals  = 1 << 1           // signals to processes outside
	llScopes   = 1<<0 | llSignals // and their abstract sockets

	llVersion   = 1 // queries the version
	llBeneath   = 1 // kind of a rule
	llHasRefer  = 2 // first versions with rules for: a link or a move to another folder,
	llHasTrunc  = 3 // the length of a file,
	llHasScopes = 6 // scopes
)

// confined puts the calling thread, and all that it starts, into the domain of the box, if that has the harness's
// user: it cannot open the harness's files or inspect its processes, nor signal them if the kernel has scopes (Linux
// 6.12). It returns what protects the harness; "" is nothing: without Landlock only the filter is added, by which the
// box's processes are recognized.
func (a *Agent) confined() (string, error) {
	held, err := a.landlock()
	if err != nil {
		return "", fmt.Errorf("make a Landlock domain: %w", err)
	}
	filter := []instruction{{code: 0x06, value: allowed}}
	if n := len(a.cfg.BoxBPF) / int(unsafe.Sizeof(instruction{})); n > 0 {
		filter = unsafe.Slice((*instruction)(unsafe.Pointer(&a.cfg.BoxBPF[0])), n)
	}
	return held, addFilter(filter)
}

const allowed = 0x7fff0000 // SECCOMP_RET_ALLOW

// addFilter adds a filter to those of the calling thread.
func addFilter(filter []instruction) error {
	program := struct {
		length uint16
		filter *instruction
	}{uint16(len(filter)), &filter[0]} //nolint:gosec // the kernel has a bound far below
	const modeFilter = 2 // SECCOMP_MODE_FILTER
	_, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_SECCOMP, modeFilter, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return fmt.Errorf("add a filter: %w", errno)
	}
	return nil
}

// instruction is a struct sock_filter.
type instruction struct {
	code      uint16
	then, els uint8
	value     uint32
}

// domain is the definition of a Landlock domain: a struct landlock_ruleset_attr.
type domain struct{ files, network, scopes uint64 }

// landlockVersion returns 0 if the kernel has no Landlock, or it is switched off.
func landlockVersion() int {
	version, _, errno := syscall.RawSyscall(sysLandlockCreate, 0, 0, llVersion)
	if errno != 0 {
		return 0
	}
	return int(version)
}

// mutes returns how many filters a starter of commands has in addition to the agent's.
func (a *Agent) mutes() int {
	if a.cred.sys != nil {
		return 0
	}
	return 1
}

// muted prevents the calling thread, and all that it starts, from signalling an agent with the same user: a domain
// protects all the agent's threads except the calling one, which is inside; a filter protects that one. Kernels
// without scopes let signals through; the agent has handlers for all signals that can be caught.
func (a *Agent) muted() error {
	if a.mutes() == 0 {
		return nil
	}
	const number, first, denied = 0, 16, 0x00050000 | uint32(syscall.EPERM) // parts of struct seccomp_data; SECCOMP_RET_ERRNO
	const load, equal, give = 0x20, 0x15, 0x06                              // BPF's LD+W+ABS, JMP+JEQ+K, RET+K
	low := uint32(first)
	if *(*byte)(unsafe.Pointer(&[]uint16{1}[0])) == 0 {
		low += 4 // the lower half of an argument comes last
	}
	if err := addFilter([]instruction{
		{code: load, value: number},
		{code: equal, then: 2, value: syscall.SYS_KILL},
		{code: equal, then: 1, value: syscall.SYS_TKILL},
		{code: equal, els: 3, value: sysPidfdOpen},
		{code: load, value: low},
		{code: equal, els: 1, value: uint32(syscall.Gettid())}, //nolint:gosec // a number of a thread
		{code: give, value: denied},
		{code: give, value: allowed},
	}); err != nil {
		return err
	}
	if landlockVersion() < llHasScopes {
		return nil
	}
	attr := domain{scopes: llSignals}
	fd, _, errno := syscall.RawSyscall(sysLandlockCreate, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return fmt.Errorf("make a Landlock domain: %w", errno)
	}
	defer syscall.Close(int(fd)) //nolint:errcheck // nothing was written
	if _, _, errno := syscall.RawSyscall(sysLandlockRestrict, fd, 0, 0); errno != 0 {
		return fmt.Errorf("enter a Landlock domain: %w", errno)
	}
	return nil
}

func (a *Agent) landlock() (string, error) {
	version := landlockVersion()
	if version == 0 {
		return "", nil
	}
	attr := domain{files: 1<<13 - 1}
	size := unsafe.Sizeof(attr.files)
	if version >= llHasRefer {
		attr.files |= 1 << 13
	}
	if version >= llHasTrunc {
		attr.files |= llTruncate
	}
	if version >= llHasScopes {
		attr.scopes, size = llScopes, unsafe.Sizeof(attr)
	}
	fd, _, errno := syscall.RawSyscall(sysLandlockCreate, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return "", errno
	}
	defer syscall.Close(int(fd)) //nolint:errcheck // nothing was written
	if err := a.allow(int(fd), attr.files); err != nil {
		return "", err
	}
	if _, _, errno := syscall.RawSyscall(sysLandlockRestrict, fd, 0, 0); errno != 0 {
		return "", errno
	}
	return wire.HeldByLandlock, nil
}

// allow lists what the box may open: the system, its own folder, and the submitted files. Everything else is
// forbidden.
func (a *Agent) allow(rules int, all uint64) error {
	const look = llRead | llReadDir | llExecute
	own := append([]string{a.cfg.Home}, a.cfg.Scratch...)
	top, err := os.ReadDir("/")
	if err != nil {
		return err
	}
	for _, e := range top {
		at := "/" + e.Name()
		private := slices.Contains([]string{"dev", "home", "root", "run", "tmp", "var"}, e.Name()) ||
			slices.ContainsFunc(own, func(dir string) bool { return dir == at || strings.HasPrefix(dir, at+"/") })
		if private {
			continue
		}
		if err := beneath(rules, at, look&all); err != nil {
			return err
		}
	}
	for _, name := range []string{"null", "zero", "full", "random", "urandom"} {
		if err := beneath(rules, "/dev/"+name, (llRead|llWrite|llTruncate)&all); err != nil {
			return err
		}
	}
	return errors.Join(beneath(rules, path.Join(a.cfg.Home, wire.Submission), look&all), beneath(rules, path.Join(a.cfg.Home, wire.Box), all))
}

// beneath adds a rule for a folder and everything below it, or for a file, if it exists.
func beneath(rules int, at string, rights uint64) error {
	fd, err := syscall.Open(at, oPath|syscall.O_CLOEXEC, 0)
	if errors.Is(err, syscall.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer syscall.Close(fd) //nolint:errcheck // only named
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&syscall.S_IFMT != syscall.S_IFDIR {
		rights &= llExecute | llRead | llWrite | llTruncate
	}
	// Twelve bytes without padding: the rights, and the descriptor.
	var rule [12]byte
	*(*uint64)(unsafe.Pointer(&rule[0])) = rights
	*(*int32)(unsafe.Pointer(&rule[8])) = int32(fd) //nolint:gosec // a descriptor
	if _, _, errno := syscall.RawSyscall6(sysLandlockAddRule, uintptr(rules), llBeneath, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
		return fmt.Errorf("allow %s: %w", at, errno)
	}
	return nil
}
