package server

import (
	"bytes"
	"strconv"
	"syscall"
)

// Each process may have some 65,000 mappings. One keeps a file open when its descriptor is closed, beyond every limit on
// descriptors, and a host has a number of open files for all its programs (fs.file-max). And each takes some 200 bytes of
// the kernel's memory, which a cgroup counts and a watchdog over processes does not see.
const (
	mostMapped   = 16384    // mappings of files
	mostMappings = 131072   // of anything
	slabNoticed  = 16 << 20 // bytes by which the kernel's memory has grown
)

// stocks are what the whole host has that mappings use up: the cheap sign that it may be worth counting them.
type stocks struct{ files, slab int64 }

// stocks reads them; the kernel's memory, which takes longer, only where it is watched.
func (t *tree) stocks(watched bool) stocks {
	t.mu.Lock()
	defer t.mu.Unlock()
	var s stocks
	if text, err := t.top("sys/fs/file-nr"); err == nil {
		s.files = number(text)
	}
	if !watched {
		return s
	}
	if text, err := t.top("meminfo"); err == nil {
		_, slab, _ := bytes.Cut(text, []byte("SUnreclaim:"))
		s.slab = number(bytes.TrimSpace(slab)) << 10
	}
	return s
}

// mapsTooMuch reports whether the run's processes have more mappings than any program needs. A process that the agent may
// not look into is taken to have as many as it can.
func (j *job) mapsTooMuch(watched bool) bool {
	t := j.agent.tree
	now := t.stocks(watched)
	manyFiles := now.files-j.stocks.files > mostMapped
	if !manyFiles && (!watched || now.slab-j.stocks.slab <= slabNoticed) {
		return false
	}
	var pids []int
	if err := t.scan(func(p process) {
		if j.has(p) {
			pids = append(pids, p.pid)
		}
	}); err != nil {
		return false // the next look may do better
	}
	files, all := 0, 0
	for _, pid := range pids {
		if files > mostMapped || all > mostMappings {
			break
		}
		ofFiles, ofAny := t.mappings(pid)
		files, all = files+ofFiles, all+ofAny
	}
	return manyFiles && files > mostMapped || watched && all > mostMappings
}

// mappings counts the mappings of files, and of anything, in a process, as far as they matter.
func (t *tree) mappings(pid int) (files, all int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fd, err := syscall.Openat(t.proc, strconv.Itoa(pid)+"/maps", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err == syscall.EACCES || err == syscall.EPERM {
		return mostMapped + 1, mostMappings / 2
	}
	if err != nil {
		return 0, 0 // it has ended
	}
	defer syscall.Close(fd) //nolint:errcheck // nothing was written
	for files <= mostMapped && all <= mostMappings {
		n, err := syscall.Read(fd, t.text) // whole lines
		if err != nil || n <= 0 {
			break
		}
		for line := range bytes.Lines(t.text[:n]) {
			const inodeAt = 4
			all++
			if f := bytes.Fields(line); len(f) > inodeAt && string(f[inodeAt]) != "0" {
				files++
			}
		}
	}
	return files, all
}
