package probe

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Memory that a limit on what processes have of their own may forget. Each probe
// is held if it gets less than Most bytes; it keeps what it has for a moment.

// moment is for how long a probe keeps what it got: who only looks now and then shall have looked.
const moment = 2 * time.Second

func enough(what string, have int64) error {
	time.Sleep(moment)
	return fmt.Errorf("has %d bytes of %s", have, what)
}

// memoryFiles fills every place that can be written to.
func memoryFiles(t Target) error {
	var made []string
	defer func() {
		for _, path := range made {
			_ = os.Remove(path)
		}
	}()
	have := int64(0)
	for _, folder := range t.Folders {
		for n := int64(1); n > 0 && have < t.Most; have += n {
			path := filepath.Join(folder, "hoard"+strconv.Itoa(len(made)))
			made = append(made, path)
			n = fill(path, t.Most-have)
		}
	}
	if have < t.Most {
		return nil
	}
	return enough("files", have)
}

// fill writes a file until it is refused or has so many bytes, and returns them.
func fill(path string, most int64) (n int64) {
	f, err := os.Create(path)
	if err != nil {
		return 0
	}
	defer f.Close() //nolint:errcheck // of a VM
	for block := make([]byte, 256<<10); err == nil && n < most; {
		var m int
		m, err = f.Write(block)
		n += int64(m)
	}
	return n
}

// memoryFile fills a file that is in no folder.
func memoryFile(t Target) error {
	fd, err := unix.MemfdCreate("hoard", unix.MFD_CLOEXEC)
	if err != nil {
		return nil // held
	}
	defer unix.Close(fd) //nolint:errcheck // of a VM
	block := make([]byte, chunk)
	for have := int64(0); have < t.Most; have += chunk {
		if n, err := unix.Write(fd, block); err != nil || n < len(block) {
			return nil // held
		}
	}
	return enough("a file without a folder", t.Most)
}

// memorySystemV touches shared memory of the old kind.
func memorySystemV(t Target) error {
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, int(t.Most), unix.IPC_CREAT|0o600)
	if err != nil {
		return nil // held
	}
	at, err := unix.SysvShmAttach(id, 0, 0)
	_, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
	if err != nil {
		return nil // held
	}
	defer unix.SysvShmDetach(at) //nolint:errcheck // of a VM
	for i := 0; i < len(at); i += os.Getpagesize() {
		at[i] = 1
	}
	return enough("shared memory", t.Most)
}

// memoryPipes fills pipes that nobody reads.
func memoryPipes(t Target) error {
	have, block := int64(0), make([]byte, chunk)
	for have < t.Most {
		var p [2]int
		if err := unix.Pipe2(p[:], unix.O_NONBLOCK|unix.O_CLOEXEC); err != nil {
			return nil //nolint:nilerr // held; the rest goes with this process
		}
		_, _ = unix.FcntlInt(uintptr(p[1]), unix.F_SETPIPE_SZ, chunk)
		n, err := unix.Write(p[1], block)
		if err != nil {
			return nil //nolint:nilerr // held
		}
		have += int64(n)
	}
	return enough("pipes", have)
}

// memoryTables makes the kernel keep page tables for memory that holds nothing.
func memoryTables(t Target) error {
	const reach = 2 << 20 // what one page of a table leads to
	tables := int(t.Most) / os.Getpagesize()
	b, err := unix.Mmap(-1, 0, tables*reach, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return nil //nolint:nilerr // held
	}
	_ = unix.Madvise(b, unix.MADV_NOHUGEPAGE)
	sum := byte(0)
	for i := 0; i < len(b); i += reach {
		sum += b[i]
	}
	return enough("page tables"+string(make([]byte, sum)), t.Most)
}
