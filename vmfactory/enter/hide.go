package enter

import (
	"syscall"
	"unsafe"
)

// longestName is the most bytes of a file's name.
const longestName = 255

// hiding covers what a /proc shows beyond the allowed: files by an empty file, folders by an empty, read-only one.
// What there is is found out when it runs: modules of the kernel add to it.
type hiding struct {
	path, from     uintptr // the /proc, and the empty file
	allowed        []string
	tmpfs, options uintptr
	entries        [16 << 10]byte               // room for what the kernel lists
	at             [1024 + longestName + 1]byte // path of the entry that is covered, after the first base bytes
	base           int
	empty          [1024 + longestName + 1]byte // path of the first folder that was covered, once there is one
	covers         bool
}

// prepare prepares a step of that verb, of which a plan has at most one.
func (h *hiding) prepare(c *compiled, s *Step) {
	h.path, h.from, h.tmpfs, h.options = c.text(s.Path), c.text(s.From), c.text("tmpfs"), c.text("size=4096,nr_inodes=1,mode=555")
	h.allowed, h.covers = s.Args, false
	h.base = copy(h.at[:len(h.at)-longestName-1], s.Path+"/")
}

// run covers everything once.
//
//go:nosplit
//go:norace
func (h *hiding) run() syscall.Errno {
	fd, _, errno := syscall.RawSyscall6(syscall.SYS_OPENAT, here(), h.path, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	for errno == 0 {
		var n uintptr
		n, _, errno = syscall.RawSyscall(syscall.SYS_GETDENTS64, fd, uintptr(unsafe.Pointer(&h.entries[0])), uintptr(len(h.entries)))
		if n == 0 || errno != 0 {
			break
		}
		errno = h.listed(int(n))
	}
	_, _, _ = syscall.RawSyscall(syscall.SYS_CLOSE, fd, 0, 0) // it was only read
	return errno
}

// listed covers the entries in the first n bytes of what was listed: structs linux_dirent64.
//
//go:nosplit
//go:norace
func (h *hiding) listed(n int) syscall.Errno {
	const length, kind, name = 16, 18, 19 // offsets
	for from := 0; from+name < n && n <= len(h.entries); {
		size := int(h.entries[from+length]) | int(h.entries[from+length+1])<<8
		if size <= name || from+size > n {
			return syscall.EIO
		}
		if !h.shows(from+name, h.entries[from+kind]) {
			if errno := h.cover(h.entries[from+kind] == syscall.DT_DIR); errno != 0 && errno != syscall.ENOENT { // a module removed it in the meantime
				return errno
			}
		}
		from += size
	}
	return 0
}

// shows reports whether the entry whose name begins there stays visible; otherwise it is the one at h.at.
//
//go:nosplit
//go:norace
func (h *hiding) shows(from int, kind byte) bool {
	size := 0
	for ; from+size < len(h.entries) && h.entries[from+size] != 0; size++ {
		if h.base+size < len(h.at) {
			h.at[h.base+size] = h.entries[from+size]
		}
	}
	if h.base+size < len(h.at) {
		h.at[h.base+size] = 0
	}
	first := h.entries[from]
	dots := first == '.' && (size == 1 || size == 2 && h.entries[from+1] == '.')
	if dots || kind == syscall.DT_LNK || '0' <= first && first <= '9' {
		return true
	}
	for i := 0; i < len(h.allowed); i++ {
		same := len(h.allowed[i]) == size
		for k := 0; same && k < size; k++ {
			same = h.allowed[i][k] == h.entries[from+k]
		}
		if same {
			return true
		}
	}
	return false
}

// cover covers the entry at h.at.
//
//go:nosplit
//go:norace
func (h *hiding) cover(folder bool) syscall.Errno {
	at := uintptr(unsafe.Pointer(&h.at[0]))
	var errno syscall.Errno
	switch {
	case !folder:
		_, _, errno = syscall.RawSyscall6(syscall.SYS_MOUNT, h.from, at, 0, syscall.MS_BIND, 0, 0)
	case h.covers:
		_, _, errno = syscall.RawSyscall6(syscall.SYS_MOUNT, uintptr(unsafe.Pointer(&h.empty[0])), at, 0, syscall.MS_BIND, 0, 0)
	default:
		_, _, errno = syscall.RawSyscall6(syscall.SYS_MOUNT, h.tmpfs, at, h.tmpfs,
			syscall.MS_RDONLY|syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, h.options, 0)
		for i := 0; errno == 0 && i < len(h.at) && i < len(h.empty); i++ {
			h.empty[i], h.covers = h.at[i], true
		}
	}
	return errno
}
