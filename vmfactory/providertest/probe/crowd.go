package probe

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// threads starts threads that stay, up to Most. Go ends the program when the
// kernel refuses one, which is to be held as well.
func threads(t Target) error {
	for range t.Most {
		begun := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			close(begun)
			stay()
		}()
		<-begun
	}
	return fmt.Errorf("has %d threads", t.Most)
}

// zombies leaves Most children of nobody that have ended, and is held if the init
// of the VM reaps them. It may be slower than they come, so who is refused waits.
func zombies(t Target) error {
	const pause = 10 * time.Millisecond
	looks := 10 * t.Most // of three times the pool's processes: together less than its timeout
	var left []int
	reap := func() {
		left = slices.DeleteFunc(left, func(pid int) bool { return unix.Kill(pid, 0) != nil })
	}
	for range t.Most {
		pid, err := orphan()
		for look := int64(0); err != nil && look < looks; look++ {
			time.Sleep(pause)
			reap()
			pid, err = orphan()
		}
		if err != nil {
			return fmt.Errorf("with %d dead nothing can be started: %w", len(left), err)
		}
		left = append(left, pid)
	}
	for range looks {
		if reap(); len(left) == 0 {
			return nil
		}
		time.Sleep(pause)
	}
	return fmt.Errorf("%d dead processes are not reaped", len(left))
}

// orphan returns a child of nobody that is about to end. It ends after its parent,
// which might reap it otherwise.
func orphan() (int, error) {
	wait, end, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer func() { _, _ = wait.Close(), end.Close() }() // nothing was written
	cmd := exec.Command("/bin/sh", "-c", "(read x) <&3 >&- 2>&- & echo $!")
	cmd.ExtraFiles = []*os.File{wait}
	out, err := cmd.Output()
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(out)))
}

// spin keeps Most processors busy for as long as it may.
func spin(t Target) error {
	var all []*exec.Cmd
	for range t.Most {
		cmd := exec.Command("/bin/sh", "-c", "while :; do :; done")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			return err
		}
		all = append(all, cmd)
	}
	for _, cmd := range all {
		_ = cmd.Wait() // it is killed
	}
	return nil
}

// deep makes a folder in a folder, Most times, and is held if it gets fewer. What
// it made it leaves for the caller to remove.
func deep(t Target) error {
	at, err := unix.Open(t.Folders[0], unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	for range t.Most {
		if err := unix.Mkdirat(at, "d", 0o700); err != nil {
			return nil //nolint:nilerr // held
		}
		next, err := unix.Openat(at, "d", unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		_ = unix.Close(at)
		at = next
	}
	return fmt.Errorf("made folders %d levels deep", t.Most)
}
