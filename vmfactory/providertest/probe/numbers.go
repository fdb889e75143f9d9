package probe

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"
)

// numbered makes what has a number that the kernel counts for the whole host.
var numbered = []struct {
	what string
	make func() (int, error)
}{
	{"pipes", func() (int, error) {
		var p [2]int
		err := unix.Pipe2(p[:], unix.O_CLOEXEC)
		_ = unix.Close(p[1])
		return p[0], err
	}},
	{"sockets", func() (int, error) { return unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0) }},
	{"files in memory", func() (int, error) { return unix.MemfdCreate("numbers", unix.MFD_CLOEXEC) }},
	{"descriptors of processes", func() (int, error) { return unix.PidfdOpen(os.Getpid(), 0) }},
}

// printNumbers prints those that the kernel counts for the whole host.
func printNumbers(Target) error {
	const batch = 1100 // a processor takes 1,024 numbers of inodes at a time
	for _, of := range numbered {
		var st unix.Stat_t
		for range batch {
			fd, err := of.make()
			if err != nil {
				break // refused here
			}
			_ = unix.Fstat(fd, &st)
			_ = unix.Close(fd)
		}
		fmt.Println(of.what, "=", st.Ino)
	}
	var st unix.Stat_t
	if err := unix.Stat("/proc", &st); err != nil {
		return err
	}
	fmt.Println("processes = ", st.Nlink)
	text, err := os.ReadFile("/proc/net/sockstat")
	if err != nil {
		return err
	}
	_, count, _ := bytes.Cut(text, []byte("alloc "))
	count, _, _ = bytes.Cut(count, []byte(" "))
	fmt.Printf("sockets of TCP = %s\n", count)
	cmd := exec.Command("/bin/cat", "/proc/self/autogroup")
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	group, _ := cmd.Output() // a kernel may have none
	number, _, _ := strings.Cut(strings.TrimPrefix(string(group), "/autogroup-"), " ")
	fmt.Println("sessions =", number)
	return nil
}

// moveNumbers makes Most of what printNumbers prints, or of what it has to keep ten each.
func moveNumbers(t Target) error {
	for _, of := range numbered {
		for range t.Most {
			if fd, err := of.make(); err == nil {
				_ = unix.Close(fd)
			}
		}
	}
	for range 10 { // more sessions would end a run
		if _, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
			return err
		}
		if err := session(t, 0); err != nil {
			return err
		}
	}
	fmt.Println("holding")
	stay()
	return nil
}
