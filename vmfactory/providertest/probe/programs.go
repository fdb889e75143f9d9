package probe

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

// agentFiles tries to change the program that is the agent, process PID, by any
// name it has, as the next VM would then run it, and with it the host.
func agentFiles(t Target) error {
	of := fmt.Sprintf("/proc/%d/", t.PID)
	paths := []string{of + "exe", "/proc/self/exe", "/proc/thread-self/exe"}
	for fd := range 128 {
		paths = append(paths, fmt.Sprintf("%sfd/%d", of, fd))
	}
	if exe, err := os.Readlink(of + "exe"); err == nil {
		paths = append(paths, exe)
	}
	own, err := os.Executable() // put here by the agent for the job: its own to change
	if err != nil {
		return err
	}
	for _, path := range paths {
		if to, err := filepath.EvalSymlinks(path); err == nil && to == own {
			continue
		}
		if openable(path, os.O_WRONLY) == nil {
			return fmt.Errorf("opened %s for writing", path)
		}
		// The way around "text file busy": keep a name of it, write when nobody runs it.
		name, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		err = openable(fmt.Sprintf("/proc/self/fd/%d", name), os.O_WRONLY)
		_ = unix.Close(name)
		if err == nil || errors.Is(err, unix.ETXTBSY) {
			return fmt.Errorf("could write %s once nobody runs it", path)
		}
	}
	return nil
}

// openable returns nil if a file can be opened so.
func openable(path string, how int) error {
	f, err := os.OpenFile(path, how, 0)
	if err == nil {
		_ = f.Close()
	}
	return err
}

// setuidPrograms looks for programs that would run as their owner.
func setuidPrograms(Target) error {
	for _, folder := range []string{"/usr/bin", "/usr/sbin", "/bin", "/sbin", "/usr/lib"} {
		entries, _ := os.ReadDir(folder) // one that is not there has none
		for _, e := range entries {
			path := filepath.Join(folder, e.Name())
			info, err := os.Stat(path)
			if err != nil || info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) == 0 {
				continue
			}
			var at unix.Statfs_t
			if err := unix.Statfs(path, &at); err == nil && at.Flags&unix.ST_NOSUID == 0 {
				return fmt.Errorf("%s would run as its owner", path)
			}
		}
	}
	// One of its own making must not become root's either.
	own := filepath.Join(os.TempDir(), "setuid")
	if err := os.WriteFile(own, []byte("#!/bin/true\n"), 0o600); err != nil {
		return err
	}
	defer os.Remove(own) //nolint:errcheck // of a VM
	if os.Chown(own, 0, 0) == nil && os.Chmod(own, fs.ModeSetuid|0o755) == nil {
		return errors.New("made a program that root owns")
	}
	return nil
}

// terminal tries to type into whatever terminal the host's side may have.
func terminal(Target) error {
	for _, path := range []string{"/dev/tty", "/dev/console", "/dev/ptmx", "/dev/pts/ptmx", "/dev/pts/0", "/dev/tty0", "/dev/vcs"} {
		if openable(path, os.O_RDONLY) == nil {
			return fmt.Errorf("opened %s", path)
		}
	}
	key := byte('\n')
	for fd := range uintptr(3) {
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, unix.TIOCSTI, uintptr(unsafe.Pointer(&key))); errno == 0 {
			return fmt.Errorf("typed into descriptor %d", fd)
		}
		if _, err := unix.IoctlGetTermios(int(fd), unix.TCGETS); err == nil {
			return fmt.Errorf("descriptor %d is a terminal", fd)
		}
	}
	return nil
}
