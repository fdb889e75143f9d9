package probe

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The host keeps names that were looked up, and pages of files that were read, for all its VMs. The probe touch brings
// in those items of a set whose bit is 1; the probe measure-items measures all items, and prints what it measured.

// lookUps is how often an item of names is tried: each has so many names, because a look-up brings its name in.
const lookUps = 9

// touchItems brings in the half of the names and pages that Bits has, and keeps the pages mapped, as a neighbour would, if
// PID is set.
func touchItems(t Target) error {
	pages, err := mapPages(t.Files, len(t.Bits))
	if err != nil {
		return err
	}
	names := newNames(t)
	for i, bit := range t.Bits {
		if bit != '1' {
			continue
		}
		for r := range lookUps {
			names.lookUp(i, r)
		}
		if i < len(pages) {
			load(pages[i])
		}
	}
	if t.PID != 0 {
		fmt.Println("holding")
		stay()
	}
	return nil
}

// load reads a byte, whatever becomes of it.
//
//go:noinline
func load(at *byte) byte { return *at }

// measureItems prints a line for each way to tell items apart: its name and a number for each item.
func measureItems(t Target) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	count := len(t.Bits)
	pages, err := mapPages(t.Files, count)
	if err != nil {
		return err
	}
	names := newNames(t)
	for i := range count { // as the kernel does it the first time, for names that nobody else uses
		names.lookUp(i, lookUps)
	}
	said := map[string][]int64{}
	say := func(what string, n int64) { said[what] = append(said[what], n) }
	for i := range count {
		var times []int64
		for r := range lookUps {
			times = append(times, names.lookUp(i, r))
		}
		slices.Sort(times)
		say("names by time", times[lookUps/2])
	}
	pagemap, err := unix.Open("/proc/self/pagemap", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		pagemap = -1 // as in a kernel without
	}
	var before, after unix.Rusage
	for _, page := range pages {
		_ = unix.Getrusage(unix.RUSAGE_THREAD, &before)
		began := time.Now()
		load(page)
		say("pages by time", int64(time.Since(began)))
		_ = unix.Getrusage(unix.RUSAGE_THREAD, &after)
		say("pages by faults", after.Majflt-before.Majflt)
		if pagemap >= 0 {
			say("mappings by pagemap", isAlone(pagemap, page))
		}
	}
	for _, what := range slices.Sorted(func(yield func(string) bool) {
		for what := range said {
			if !yield(what) {
				return
			}
		}
	}) {
		fmt.Println(what, "=", strings.Trim(fmt.Sprint(said[what]), "[]"))
	}
	return nil
}

// isAlone is 1 if no other process maps the page.
func isAlone(pagemap int, page *byte) int64 {
	const entry, exclusive = 8, 1 << 56
	var b [entry]byte
	if _, err := unix.Pread(pagemap, b[:], int64(uintptr(unsafe.Pointer(page)))/int64(os.Getpagesize())*entry); err != nil {
		return 0
	}
	if *(*uint64)(unsafe.Pointer(&b))&exclusive != 0 {
		return 1
	}
	return 0
}

// names are names that are not there, in a folder that all VMs have.
type names struct {
	folder int
	marker string
}

func newNames(t Target) names {
	fd, err := unix.Open(t.Folders[0], unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		fd = unix.AT_FDCWD
	}
	return names{fd, t.Marker}
}

// lookUp looks the r-th name of an item up, and returns how long that took.
func (n names) lookUp(i, r int) int64 {
	name := append(fmt.Appendf(nil, "%s-%d-%d-is-not-there", n.marker, i, r), 0)
	var st unix.Stat_t
	began := time.Now()
	_, _, _ = unix.RawSyscall6(unix.SYS_NEWFSTATAT, uintptr(n.folder), uintptr(unsafe.Pointer(&name[0])), uintptr(unsafe.Pointer(&st)), 0, 0, 0)
	return int64(time.Since(began))
}

// mapPages maps the files, without read-ahead, and returns the first byte of up to so many of their pages.
func mapPages(files []string, count int) ([]*byte, error) {
	const apart = 2 // pages
	var all []*byte
	for _, path := range files {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, err
		}
		var st unix.Stat_t
		err = unix.Fstat(fd, &st)
		var b []byte
		if err == nil {
			b, err = unix.Mmap(fd, 0, int(st.Size), unix.PROT_READ, unix.MAP_SHARED)
		}
		_ = unix.Close(fd)
		if err == nil {
			err = unix.Madvise(b, unix.MADV_RANDOM)
		}
		if err != nil {
			return nil, fmt.Errorf("map %s: %w", path, err)
		}
		for at := 0; at < len(b) && len(all) < count; at += apart * os.Getpagesize() {
			all = append(all, &b[at])
		}
	}
	return all, nil
}

// printLargeFiles prints the largest files of the system, each with its inode number.
func printLargeFiles(Target) error {
	const most = 4
	type file struct {
		path string
		stat unix.Stat_t
	}
	var found []file
	for _, pattern := range []string{"/usr/bin/*", "/usr/lib/*", "/usr/lib/*-linux-*/*", "/bin/*", "/lib/*"} {
		paths, _ := filepath.Glob(pattern) // the pattern is right
		for _, path := range paths {
			f := file{path: path}
			if unix.Lstat(path, &f.stat) == nil && f.stat.Mode&unix.S_IFMT == unix.S_IFREG && unix.Access(path, unix.R_OK) == nil {
				found = append(found, f)
			}
		}
	}
	slices.SortFunc(found, func(a, b file) int { return int(b.stat.Size - a.stat.Size) })
	for _, f := range found[:min(most, len(found))] {
		fmt.Println(f.stat.Ino, f.path)
	}
	return nil
}
