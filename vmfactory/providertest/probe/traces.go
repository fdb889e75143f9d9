package probe

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// mark is the name of what traces leaves.
const mark = "drover-trace"

// traces looks for what an earlier run of it left, and leaves it again: in every
// folder that it can write to, which it finds out by writing unless it is of a read-only
// mount, and in shared memory.
func traces(Target) error {
	var found, folders []string
	mounts := mountPoints()
	look := func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fs.SkipDir
		case path == "/proc" || path == "/sys":
			return fs.SkipDir
		case strings.HasPrefix(d.Name(), mark):
			found = append(found, path)
			return skip(d)
		case d.IsDir() && closed(path, mounts):
			return fs.SkipDir
		case d.IsDir():
			folders = append(folders, path)
		}
		return nil
	}
	tops := []string{"/"}
	if _, err := os.ReadDir("/"); err != nil { // what it may open lies below
		here, _ := os.Getwd()
		tops = []string{here, "/home/job", "/tmp", "/var/tmp", "/dev/shm", "/run", "/mnt"}
	}
	for _, top := range tops {
		_ = filepath.WalkDir(top, look) // what cannot be looked into has nothing for us
	}
	const key = 0x64726f76
	if _, err := unix.SysvShmGet(key, 1, 0); err == nil {
		found = append(found, "shared memory")
	}
	left := 0
	for _, dir := range folders {
		if os.MkdirAll(filepath.Join(dir, mark, "below"), 0o700) != nil {
			continue
		}
		left++
		_ = os.WriteFile(filepath.Join(dir, mark, "below", "file"), []byte("x"), 0o600)
		_ = os.Symlink("/", filepath.Join(dir, mark+"-link"))
		_ = os.Chmod(filepath.Join(dir, mark, "below"), 0)
	}
	_, _ = unix.SysvShmGet(key, 1, unix.IPC_CREAT|0o600) // refused in some VMs
	switch {
	case left == 0:
		return errors.New("nothing could be left anywhere: this probe proves nothing")
	case len(found) > 0:
		return fmt.Errorf("found %v", found)
	}
	return nil
}

// mountPoints lists where something is mounted; nil if that cannot be told.
func mountPoints() []string {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	var all []string
	for line := range strings.Lines(string(text)) {
		const at = 4 // the place of the mount point
		if f := strings.Fields(line); len(f) > at {
			all = append(all, f[at])
		}
	}
	return all
}

// closed reports whether nothing can be written below a folder: it is of a mount that is
// read-only, and nothing else is mounted below it. System folders are, with all that the
// host or the image has there.
func closed(path string, mounts []string) bool {
	var space unix.Statfs_t
	if len(mounts) == 0 || unix.Statfs(path, &space) != nil || space.Flags&unix.ST_RDONLY == 0 {
		return false
	}
	below := strings.TrimSuffix(path, "/") + "/"
	return !slices.ContainsFunc(mounts, func(at string) bool { return strings.HasPrefix(at, below) })
}

func skip(d fs.DirEntry) error {
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
}
