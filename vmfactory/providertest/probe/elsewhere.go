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

func enough(what string, have int64) error {
	const moment = 500 * time.Millisecond // who only looks now and then shall have looked
	time.Sleep(moment)
	return fmt.Errorf("has %d bytes of %s", have, what)
}

// memoryFiles fills every place that can be written to.
func memoryFiles(t Target) error {
	block, have := make([]byte, 256<<10), int64(0)
	for _, folder := range t.Folders {
		for i := 0; ; i++ {
			path := filepath.Join(folder, "hoard"+strconv.Itoa(i))
			f, err := os.Create(path)
			if err != nil {
				break
			}
			defer os.Remove(path) //nolint:errcheck // of a VM
			n := int64(0)
			for err == nil && have < t.Most {
				var m int
				m, err = f.Write(block)
				n, have = n+int64(m), have+int64(m)
			}
			_ = f.Close()
			if have >= t.Most {
				return enough("files", have)
			}
			if n == 0 {
				break
			}
		}
	}
	return nil
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
			return nil // held; the rest goes with this process
		}
		_, _ = unix.FcntlInt(uintptr(p[1]), unix.F_SETPIPE_SZ, chunk)
		n, err := unix.Write(p[1], block)
		if err != nil {
			return nil // held
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
		return nil // held
	}
	_ = unix.Madvise(b, unix.MADV_NOHUGEPAGE)
	sum := byte(0)
	for i := 0; i < len(b); i += reach {
		sum += b[i]
	}
	return enough("page tables"+string(make([]byte, sum)), t.Most)
}
