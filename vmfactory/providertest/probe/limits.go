package probe

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// forks starts processes that stay, up to Most, and is held if it gets fewer.
func forks(t Target) error {
	var started []int
	defer func() {
		for _, pid := range started {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			_, _ = syscall.Wait4(pid, nil, 0, nil)
		}
	}()
	for range t.Most {
		pid, err := syscall.ForkExec("/bin/sleep", []string{"sleep", "1000"}, &syscall.ProcAttr{})
		if err != nil {
			return nil
		}
		started = append(started, pid)
	}
	return fmt.Errorf("has %d processes", len(started)+1)
}

const chunk = 1 << 20

// memory touches Most bytes.
func memory(t Target) error {
	var all [][]byte
	for have := int64(0); have < t.Most; have += chunk {
		b, err := unix.Mmap(-1, 0, chunk, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			return nil //nolint:nilerr // held
		}
		for i := 0; i < chunk; i += os.Getpagesize() {
			b[i] = byte(i>>12) | 1
		}
		all = append(all, b)
	}
	return fmt.Errorf("has %d bytes of memory", len(all)*chunk)
}

// sharedZero has Most bytes by mapping /dev/zero shared, and lets go of each page
// after touching it: it stays, and is on no process's account.
func sharedZero(t Target) error {
	fd, err := unix.Open("/dev/zero", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil // held
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	for have := int64(0); have < t.Most; have += chunk {
		b, err := unix.Mmap(fd, 0, chunk, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			return nil // held
		}
		for i := 0; i < chunk; i += os.Getpagesize() {
			b[i] = 1
		}
		if err := unix.Madvise(b, unix.MADV_DONTNEED); err != nil {
			return err
		}
	}
	return fmt.Errorf("has %d bytes of memory on no account", t.Most)
}

// memoryByMany has Most bytes touched by several processes, none of which has much.
func memoryByMany(t Target) error {
	const many = 8
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var all []*exec.Cmd
	defer func() {
		for _, cmd := range all {
			_, _ = cmd.Process.Kill(), cmd.Wait()
		}
	}()
	for range many {
		part := Target{Most: t.Most / many}
		cmd := exec.Command(self, Args("memory-and-wait", part)...)
		out, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return nil
		}
		all = append(all, cmd)
		if n, err := out.Read(make([]byte, 1)); n == 0 || err != nil {
			return nil
		}
	}
	time.Sleep(moment)
	for _, cmd := range all {
		if pid, _ := syscall.Wait4(cmd.Process.Pid, nil, syscall.WNOHANG, nil); pid != 0 {
			return nil // held: it was killed for the others
		}
	}
	return fmt.Errorf("%d processes have %d bytes of memory", len(all), t.Most)
}

// memoryAndWait is one of many.
func memoryAndWait(t Target) error {
	err := memory(t)
	if err == nil {
		return nil
	}
	if _, werr := os.Stdout.WriteString("x"); werr != nil {
		return werr
	}
	stay()
	return nil
}

// stay waits until somebody kills the process. A pause alone ends by the signals
// that Go's runtime sends itself.
func stay() {
	for {
		_ = unix.Pause()
	}
}

// disk fills each folder, and is held if none takes more than Most bytes.
func disk(t Target) error {
	for _, folder := range t.Folders {
		f, err := os.Create(filepath.Join(folder, "fill"))
		if err != nil {
			continue // nothing can be written there
		}
		n, b := int64(0), make([]byte, 64<<10)
		for i := 0; n <= t.Most; i++ {
			m, err := f.Write(b)
			n += int64(m)
			if errors.Is(err, unix.EFBIG) { // the limit of one file: go on in another
				if err := f.Close(); err != nil {
					return err
				}
				if f, err = os.Create(filepath.Join(folder, "fill"+strconv.Itoa(i))); err != nil {
					break
				}
				continue
			}
			if err != nil {
				break
			}
		}
		if f != nil {
			_ = f.Close()
		}
		left, _ := filepath.Glob(filepath.Join(folder, "fill*"))
		for _, path := range left {
			_ = os.Remove(path)
		}
		if n > t.Most {
			return fmt.Errorf("wrote %d bytes to %s", n, folder)
		}
	}
	return nil
}

// inodes makes empty files, and is held if no folder takes more than Most.
func inodes(t Target) error {
	for _, folder := range t.Folders {
		in := filepath.Join(folder, "inodes")
		if err := os.Mkdir(in, 0o700); err != nil {
			continue // nothing can be written there
		}
		n := int64(0)
		for n <= t.Most {
			if err := unix.Mknod(filepath.Join(in, strconv.FormatInt(n, 10)), unix.S_IFREG|0o600, 0); err != nil {
				break
			}
			n++
		}
		if err := os.RemoveAll(in); err != nil {
			return err
		}
		if n > t.Most {
			return fmt.Errorf("made %d files in %s", n, folder)
		}
	}
	return nil
}

// fileSize makes a sparse file of Most bytes.
func fileSize(t Target) error {
	path := filepath.Join(os.TempDir(), "large")
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _, _ = f.Close(), os.Remove(path) }()
	if err := f.Truncate(t.Most); err == nil {
		return fmt.Errorf("made a file of %d bytes", t.Most)
	}
	if _, err := f.WriteAt([]byte{1}, t.Most-1); err == nil {
		return fmt.Errorf("wrote at the end of a file of %d bytes", t.Most)
	}
	return nil
}

// openFiles opens files, up to Most, and is held if it gets fewer.
func openFiles(t Target) error {
	limit := unix.Rlimit{Cur: uint64(t.Most) + 16, Max: uint64(t.Most) + 16}
	_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
	var all []int
	defer func() {
		for _, fd := range all {
			_ = unix.Close(fd)
		}
	}()
	for range t.Most {
		fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil
		}
		all = append(all, fd)
	}
	return fmt.Errorf("has %d files open", len(all))
}

// watchers makes instances that watch files, up to Most, and is held if it gets
// fewer. The host has so many for all of a user's programs.
func watchers(t Target) error {
	var all []int
	defer func() {
		for _, fd := range all {
			_ = unix.Close(fd)
		}
	}()
	for range t.Most {
		fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
		if err != nil {
			return nil
		}
		all = append(all, fd)
	}
	if len(all) == 0 {
		return errors.New("nothing was tried")
	}
	return fmt.Errorf("has %d watchers", len(all))
}

// orphans leaves processes behind that left its session, ignore what can be
// ignored, and carry Marker in their command line. The caller looks for them.
func orphans(t Target) error {
	script := "trap '' HUP INT TERM QUIT USR1 USR2; : " + t.Marker + "; while :; do sleep 1000; done"
	for range 3 {
		cmd := exec.Command("/bin/sh", "-c", script, t.Marker)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			return err
		}
	}
	return nil
}

// sharedMemory looks for what another VM, or the host, left under Marker, and
// leaves the same for the next.
func sharedMemory(t Target) error {
	path := filepath.Join("/dev/shm", t.Marker)
	if _, err := os.Stat(path); err == nil {
		return fmt.Errorf("%s is there already", path)
	}
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		return err
	}
	const size = 4096
	key := uintptr(0xd40e) // known to all
	id, _, errno := unix.RawSyscall(unix.SYS_SHMGET, key, size, unix.IPC_CREAT|unix.IPC_EXCL|0o666)
	switch errno {
	case unix.EEXIST:
		return errors.New("the shared memory of another is there already")
	case 0:
		if t.PID != 0 { // asked to leave nothing behind
			_, _, _ = unix.RawSyscall(unix.SYS_SHMCTL, id, unix.IPC_RMID, 0)
		}
	}
	if t.PID != 0 {
		return os.Remove(path)
	}
	return nil
}
