package probe

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// hostFiles tries to read what is the host's, and to see that it exists.
func hostFiles(t Target) error {
	for _, path := range t.Files {
		for _, way := range []string{"", "/proc/1/root", "/proc/self/root", "/proc/1/cwd", "/proc/self/cwd/../.."} {
			if _, err := os.Lstat(way + path); err == nil {
				return fmt.Errorf("%s is there", way+path)
			}
			f, err := os.Open(way + path)
			if err == nil {
				_ = f.Close()
				return fmt.Errorf("opened %s", way+path)
			}
		}
	}
	return nil
}

// systemFiles tries to write where all VMs would read it.
func systemFiles(t Target) error {
	for _, folder := range t.Folders {
		path := filepath.Join(folder, "drover-probe")
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, _ = f.Close(), os.Remove(path)
			return fmt.Errorf("made a file in %s", folder)
		}
		if err := os.Mkdir(path, 0o700); err == nil {
			_ = os.Remove(path)
			return fmt.Errorf("made a folder in %s", folder)
		}
		if err := os.Chmod(folder, 0o777); err == nil {
			return fmt.Errorf("changed the mode of %s", folder)
		}
		entries, _ := os.ReadDir(folder) // one that cannot be read has nothing to try
		for _, e := range entries {
			info, err := os.Stat(filepath.Join(folder, e.Name())) // not e's word: it may be covered by a mount
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			f, err := os.OpenFile(filepath.Join(folder, e.Name()), os.O_WRONLY|os.O_APPEND, 0)
			if err == nil {
				_ = f.Close()
				return fmt.Errorf("opened %s/%s for writing", folder, e.Name())
			}
		}
	}
	return nil
}

// mounts tries to change the file system.
func mounts(Target) error {
	tries := map[string]func() error{
		"mount a tmpfs on /mnt":    func() error { return unix.Mount("tmpfs", "/mnt", "tmpfs", 0, "") },
		"mount a tmpfs on /usr":    func() error { return unix.Mount("tmpfs", "/usr", "tmpfs", 0, "") },
		"bind /usr to /mnt":        func() error { return unix.Mount("/usr", "/mnt", "", unix.MS_BIND, "") },
		"mount another /proc":      func() error { return unix.Mount("proc", "/mnt", "proc", 0, "") },
		"mount /sys":               func() error { return unix.Mount("sysfs", "/mnt", "sysfs", 0, "") },
		"mount cgroups":            func() error { return unix.Mount("cgroup2", "/mnt", "cgroup2", 0, "") },
		"mount device files":       func() error { return unix.Mount("devtmpfs", "/mnt", "devtmpfs", 0, "") },
		"remount / writable":       func() error { return unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND, "") },
		"remount / writable whole": func() error { return unix.Mount("", "/", "", unix.MS_REMOUNT, "") },
		"remount /usr writable":    func() error { return unix.Mount("", "/usr", "", unix.MS_REMOUNT|unix.MS_BIND, "") },
		"clear /usr's read-only": func() error {
			return unix.MountSetattr(unix.AT_FDCWD, "/usr", 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY})
		},
		"unmount /proc":   func() error { return unix.Unmount("/proc", unix.MNT_DETACH) },
		"unmount /usr":    func() error { return unix.Unmount("/usr", unix.MNT_DETACH) },
		"unmount /tmp":    func() error { return unix.Unmount("/tmp", unix.MNT_DETACH) },
		"change the root": func() error { return unix.Chroot("/mnt") },
		"pivot the root":  func() error { return unix.PivotRoot("/tmp", "/tmp") },
		"copy a mount": func() error {
			fd, err := unix.OpenTree(unix.AT_FDCWD, "/usr", unix.OPEN_TREE_CLONE)
			if err == nil {
				_ = unix.Close(fd)
			}
			return err
		},
		"open a file system": func() error {
			fd, err := unix.Fsopen("tmpfs", 0)
			if err == nil {
				_ = unix.Close(fd)
			}
			return err
		},
	}
	for what, try := range tries {
		if err := try(); err == nil {
			return errors.New("could " + what)
		}
	}
	return nil
}

// devices tries to get at hardware and at what the kernel tells and is told.
func devices(Target) error {
	for _, path := range []string{
		"/dev/mem", "/dev/kmem", "/dev/kmsg", "/dev/kvm", "/dev/fuse", "/dev/net/tun", "/dev/sda", "/dev/vda", "/dev/nvme0n1",
		"/dev/loop-control", "/dev/tty", "/dev/console", "/dev/ptmx", "/proc/kcore", "/proc/kmsg", "/sys/kernel", "/sys/fs/cgroup",
	} {
		f, err := os.Open(path)
		if err == nil {
			n, _ := f.Read(make([]byte, 1))
			_ = f.Close()
			if n > 0 || !strings.HasPrefix(path, "/proc/") { // a hidden file is there and empty
				return fmt.Errorf("opened %s", path)
			}
		}
	}
	for _, path := range []string{
		"/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sys/kernel/modprobe",
		"/proc/sys/net/ipv4/ip_forward", "/proc/sys/vm/drop_caches", "/proc/1/oom_score_adj",
	} {
		if err := unix.Access(path, unix.W_OK); err != nil {
			continue
		}
		info, err := os.Stat(path)
		if err == nil && info.Mode()&fs.ModeDevice == 0 { // a hidden file is /dev/null
			return fmt.Errorf("could write %s", path)
		}
	}
	null := int(unix.Mkdev(1, 3))
	for _, folder := range []string{"/tmp", "/home/job/work", "/dev/shm"} {
		path := filepath.Join(folder, "device")
		if err := unix.Mknod(path, unix.S_IFCHR|0o666, null); err != nil {
			continue
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		_ = os.Remove(path)
		if err == nil {
			_ = f.Close()
			return fmt.Errorf("made a device in %s", folder)
		}
	}
	return nil
}
