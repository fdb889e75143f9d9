package enter

import (
	"syscall"
	"unsafe"
)

// What is in this file runs in a fork of this process that has one thread and whose memory may be in any state: it
// makes system calls and changes memory that was prepared for it. It must not allocate, lock, or grow its stack, so
// nothing here calls a function that may.

// errnos are the errors of system calls as texts, by number.
var errnos [134]string

// run makes the calls one after the other; usually the last executes another program. If one fails, it says so on
// standard error and exits.
//
//go:nosplit
//go:norace
func (c *compiled) run() {
	opened := uintptr(0)
	for i := 0; i < len(c.calls); i++ {
		one := &c.calls[i]
		if one.fd >= 0 && one.fd < len(one.args) {
			one.args[one.fd] = opened
		}
		var result uintptr
		var errno syscall.Errno
		if one.hide != nil {
			errno = one.hide.run()
		} else {
			result, _, errno = syscall.RawSyscall6(one.number, one.args[0], one.args[1], one.args[2], one.args[3], one.args[4], one.args[5])
		}
		switch {
		case errno == syscall.ENOENT && one.skip >= 0:
			i += one.skip
			continue
		case errno == 0 && one.whole && result != one.args[2]:
			errno = syscall.EIO
		}
		if errno != 0 {
			say(one.do)
			say(" ")
			say(one.on)
			say(": ")
			if int(errno) < len(errnos) {
				say(errnos[errno])
			}
			say("\n")
			exit(1)
		}
		if one.opens {
			opened = result
		}
	}
}

//go:nosplit
//go:norace
func say(text string) {
	if len(text) > 0 {
		_, _, _ = syscall.RawSyscall(syscall.SYS_WRITE, 2, uintptr(unsafe.Pointer(unsafe.StringData(text))), uintptr(len(text))) // there is nobody to tell
	}
}

//go:nosplit
//go:norace
func exit(code uintptr) {
	for {
		_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT_GROUP, code, 0, 0) // never returns
	}
}
