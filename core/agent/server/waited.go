package server

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// mostWaits bounds the threads that are asked how long they waited: a run may have thousands.
const mostWaits = 256

// waited returns for how long the thread of a run waited that waited longest for a processor while it could have run;
// 0 if the kernel does not count it. Not the sum: the more threads there are, the more of it they do to each other.
func (t *tree) waited(of func(process) bool) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	var pids []int
	if err := t.each(func(p process) {
		if of(p) {
			pids = append(pids, p.pid)
		}
	}); err != nil {
		return 0
	}
	most, asked := time.Duration(0), 0
	for _, pid := range pids {
		for _, thread := range t.threads(pid) {
			if asked++; asked > mostWaits {
				return most
			}
			text, err := t.top(strconv.Itoa(pid) + "/task/" + thread + "/schedstat")
			if err == nil {
				most = max(most, waitedOf(text))
			}
		}
	}
	return most
}

// threads lists some threads of a process.
func (t *tree) threads(pid int) []string {
	fd, err := syscall.Openat(t.proc, strconv.Itoa(pid)+"/task", syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	folder := os.NewFile(uintptr(fd), "task")
	defer folder.Close()                       //nolint:errcheck // only read from
	names, _ := folder.Readdirnames(mostWaits) // fewer, or none, are waited less
	return names
}

// waitedOf reads a schedstat file: time on a processor, time of waiting for one, both in ns, and how often.
func waitedOf(text []byte) time.Duration {
	fields := bytes.Fields(text)
	const all = 3
	if len(fields) != all {
		return 0
	}
	return time.Duration(max(number(fields[1]), 0))
}
