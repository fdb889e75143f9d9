package probe

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// litter leaves in Folders[0] all that a program can make and nobody should read.
// The caller looks what becomes of it; what the kernel refuses is not there.
func litter(t Target) error {
	in := t.Folders[0]
	if err := os.MkdirAll(in, 0o700); err != nil {
		return err
	}
	at := func(name string) string { return filepath.Join(in, name) }
	null, disk := int(unix.Mkdev(1, 3)), int(unix.Mkdev(8, 0))
	_ = unix.Mknod(at("null"), unix.S_IFCHR|0o666, null)
	_ = unix.Mknod(at("disk"), unix.S_IFBLK|0o666, disk)
	_ = os.Link("/etc/passwd", at("hard"))
	if err := unix.Mkfifo(at("pipe"), 0o600); err != nil {
		return err
	}
	if err := unix.Mknod(at("socket"), unix.S_IFSOCK|0o600, 0); err != nil {
		return err
	}
	if err := os.Symlink("pipe", at("link")); err != nil {
		return err
	}
	if err := os.WriteFile(at("own"), []byte("own\n"), 0o600); err != nil {
		return err
	}
	hole, err := os.Create(at("hole"))
	if err != nil {
		return err
	}
	defer hole.Close() //nolint:errcheck // nothing was written
	return hole.Truncate(t.Most)
}
