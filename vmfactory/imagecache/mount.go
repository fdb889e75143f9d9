package imagecache

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"drover/core"
)

// held are the flags of the mount for VMs. They belong to a mount of the host, so the kernel locks them in every
// container.
const held = unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV

// bound reports whether an image's folder has its mount, with all flags.
func bound(dir string) bool {
	var view unix.Statfs_t
	const want = unix.ST_RDONLY | unix.ST_NOSUID | unix.ST_NODEV
	if unix.Statfs(filepath.Join(dir, readOnly), &view) != nil || view.Flags&want != want {
		return false
	}
	from, err := os.Stat(filepath.Join(dir, writable))
	if err != nil {
		return false
	}
	to, err := os.Stat(filepath.Join(dir, readOnly))
	return err == nil && os.SameFile(from, to)
}

// bind makes the mount, or adds the flags if a crash prevented that.
func bind(dir string) error {
	from, to := filepath.Join(dir, writable), filepath.Join(dir, readOnly)
	mounted, err := mountinfo.Mounted(to)
	if err == nil && !mounted {
		err = unix.Mount(from, to, "", unix.MS_BIND, "")
	}
	if err == nil {
		err = unix.Mount("", to, "", unix.MS_BIND|unix.MS_REMOUNT|held, "")
	}
	switch {
	case errors.Is(err, unix.EPERM):
		return core.Wrap(err, core.CodeUnavailable, dir, "images cannot be mounted read-only: that needs root")
	case err != nil:
		return core.Wrap(err, core.CodeUnavailable, dir, "the read-only view %s of an image cannot be mounted", to)
	case !bound(dir):
		return core.Errorf(core.CodeUnavailable, dir, "the view %s of an image did not become read-only", to)
	}
	return nil
}

// unmount removes all mounts from an image's folder.
func unmount(dir string) error {
	to := filepath.Join(dir, readOnly)
	for {
		mounted, err := mountinfo.Mounted(to)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !mounted {
			return nil
		}
		if err == nil {
			err = unix.Unmount(to, unix.UMOUNT_NOFOLLOW)
		}
		if err != nil {
			return err
		}
	}
}
