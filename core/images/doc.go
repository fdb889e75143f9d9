// Package images packs a root file system into one file, the same file for the same content on any machine, and
// unpacks it on hosts.
//
// The file is a tar, compressed with zstd. Its names are sorted, every folder precedes its content, all files belong
// to root, and modes say only whether a file is executable. Set-uid bits, owners, devices, extended attributes and
// the folders that a machine fills itself (dev, proc, sys, run, tmp) are left out. Symbolic links stay as they are:
// they are resolved only inside a VM, and this package follows none. Times are kept, in seconds.
//
// Read accepts a tar from any source, including hostile ones; it never writes a name from it to a disk. Unpack
// accepts only what Write can have written.
package images

import (
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"drover/core"
)

// Limits bound a root file system.
type Limits struct {
	Entries int   // files, folders and links
	Bytes   int64 // content of all files together
	Packed  int64 // of the file in the blob store
}

// Defaults are bounds that an image should not come near.
func Defaults() Limits { return Limits{Entries: 500_000, Bytes: 16 << 30, Packed: 8 << 30} }

// check returns LIMIT beyond the limits.
func (l Limits) check(entries int, bytes int64) error {
	if entries > l.Entries || bytes > l.Bytes {
		return core.Errorf(core.CodeLimit, "", "the root file system is too large: at most %d files, folders and links and %d bytes are allowed", l.Entries, l.Bytes)
	}
	return nil
}

// Summary says what a root file system holds.
type Summary struct {
	Entries int   // files, folders and links
	Bytes   int64 // content of all files
}

// Modes of what is packed.
const (
	modeFolder = 0o755
	modeFile   = 0o644
	modeRun    = 0o755
	modeLink   = 0o777
)

// The longest path and target of a link, in bytes; one more and no system call takes it.
const maxPath = 4095

// latest is the greatest time that is kept, so that a tar needs no extended header for it.
const latest = 1<<33 - 1

// Places are folders that every image has and that are empty in it, for a VM to
// mount on.
func Places() []string {
	return []string{"dev", "proc", "sys", "run", "tmp", "var/tmp", "home", "mnt"}
}

// volatile are the places whose content is never taken: a VM has its own.
var volatile = []string{"dev", "proc", "sys", "run", "tmp", "var/tmp", "mnt"}

// own are files that machines write for themselves; every image has them in this form, so that a VM can mount its own
// on them.
var own = map[string]string{
	"etc/hostname":    "",
	"etc/machine-id":  "",
	"etc/resolv.conf": "",
	"etc/hosts":       "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n",
}

// secret are files that nobody in a VM may read, so they are left out.
var secret = []string{"etc/shadow", "etc/shadow-", "etc/gshadow", "etc/gshadow-", ".dockerenv"}

// within reports whether a name lies below one of the folders.
func within(name string, folders []string) bool {
	for _, f := range folders {
		if strings.HasPrefix(name, f) && strings.HasPrefix(name[len(f):], "/") {
			return true
		}
	}
	return false
}

// checkPath returns INVALID for a path or target that not every host can hold.
func checkPath(what, p string) error {
	switch {
	case !utf8.ValidString(p) || strings.ContainsRune(p, 0):
		return core.Errorf(core.CodeInvalid, p, "%s %q is not UTF-8 text: rename it", what, p)
	case len(p) > maxPath || len(path.Base(p)) > 255:
		return core.Errorf(core.CodeInvalid, p, "%s %.80q… is longer than a path or a name may be", what, p)
	}
	return nil
}

// climbs reports whether a link at name with this target leads above the root. An absolute target begins at the VM's
// root.
func climbs(name, target string) bool {
	if path.IsAbs(target) {
		name, target = "x", target[1:]
	}
	depth := strings.Count(name, "/")
	for part := range strings.SplitSeq(target, "/") {
		switch part {
		case "", ".":
		case "..":
			if depth--; depth < 0 {
				return true
			}
		default:
			depth++
		}
	}
	return false
}

// stamp converts a time to the form that is kept.
func stamp(t time.Time) int64 { return min(max(t.Unix(), 0), latest) }
