package probe

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// These are what a submission tries against its harness, process PID.

// harnessMemory looks into it, by whatever way there is.
func harnessMemory(t Target) error {
	if err := agentTracing(t); err != nil {
		return err
	}
	for fd := range 8 {
		for _, how := range []int{os.O_RDONLY, os.O_WRONLY} {
			if f, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/%d", t.PID, fd), how|unix.O_NONBLOCK, 0); err == nil {
				_ = f.Close()
				return fmt.Errorf("opened its descriptor %d", fd)
			}
		}
	}
	return nil
}

// harnessArguments reads what is for all to read of a process that can be seen.
func harnessArguments(t Target) error {
	if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", t.PID)); err == nil && len(text) > 0 {
		return errors.New("read its arguments")
	}
	return nil
}

func harnessSignals(t Target) error {
	if err := unix.Kill(t.PID, 0); err == nil {
		return errors.New("may signal it")
	}
	return agentSignals(t) // the caller checks whether it lives
}

// harnessFiles reads, changes and makes files in its folders.
func harnessFiles(t Target) error {
	for _, folder := range t.Folders {
		if err := systemFiles(Target{Folders: []string{folder}}); err != nil && !strings.HasPrefix(err.Error(), "changed the mode") {
			return err
		}
		if err := os.Symlink("/", filepath.Join(folder, "difflib.py")); err == nil {
			return fmt.Errorf("made a link in %s", folder)
		}
		if err := os.Rename(folder, folder+"-gone"); err == nil {
			return fmt.Errorf("moved %s away", folder)
		}
	}
	for i, path := range t.Files {
		if _, err := os.ReadFile(path); err == nil {
			return fmt.Errorf("read %s", path)
		}
		for _, how := range []int{os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_APPEND} {
			if openable(path, how) == nil {
				return fmt.Errorf("opened %s for writing", path)
			}
		}
		if err := os.Link(path, fmt.Sprintf("hard-%d", i)); err == nil {
			return fmt.Errorf("has a name of its own for %s", path)
		}
		if err := os.Remove(path); err == nil {
			return fmt.Errorf("removed %s", path)
		}
	}
	return nil
}

// harnessModes changes what its files say of themselves, without opening them.
func harnessModes(t Target) error {
	for _, path := range append(t.Files, t.Folders...) {
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err != nil {
			continue
		}
		if err := os.Chmod(path, fs.FileMode(st.Mode&0o777)); err == nil {
			return fmt.Errorf("may change the mode of %s", path)
		}
	}
	return nil
}

// harnessSocket asks for another run, as only its harness may.
func harnessSocket(t Target) error {
	for _, path := range t.Sockets {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			continue
		}
		err = unix.Connect(fd, &unix.SockaddrUnix{Name: path})
		_ = unix.Close(fd)
		if err == nil {
			return fmt.Errorf("reached %s", path)
		}
	}
	for _, program := range t.Files {
		cmd := exec.Command(program, "--wall", "1s", "--", "/bin/true")
		if err := cmd.Run(); err == nil {
			return fmt.Errorf("ran something by %s", program)
		}
	}
	return nil
}

// harnessDescriptors looks for what it has of its harness: descriptors and variables.
func harnessDescriptors(t Target) error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		to, err := os.Readlink("/proc/self/fd/" + e.Name())
		own := err != nil || strings.HasPrefix(to, "pipe:") || strings.HasPrefix(to, "anon_inode:") || to == os.DevNull || strings.HasPrefix(to, "/proc/")
		if !own {
			return fmt.Errorf("descriptor %s leads to %s", e.Name(), to)
		}
	}
	for _, v := range os.Environ() {
		if strings.Contains(v, t.Marker) {
			return fmt.Errorf("has the variable %s", v)
		}
	}
	return nil
}
