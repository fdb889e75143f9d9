package probe

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// stains tries to leave what another job could see, in every way that is known. What
// the kernel refuses is not there; a later check finds what is.
func stains(Target) error {
	spots := []func(){stainNetwork, stainFolders, stainObjects, stainProcess, stainSettings, stainAgent}
	for _, stain := range spots {
		stain()
	}
	return nil
}

// stainNetwork leaves connections that wait, and counts.
func stainNetwork() {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return
	}
	for range 20 {
		c, err := net.Dial("tcp4", l.Addr().String())
		if err != nil {
			break
		}
		far, err := l.Accept()
		_ = c.Close() // first: this end waits
		if err == nil {
			_ = far.Close()
		}
	}
	for _, how := range []string{"udp4", "udp6"} {
		p, err := net.ListenPacket(how, "localhost:0")
		if err != nil {
			continue
		}
		for range 100 {
			_, _ = p.WriteTo([]byte("counted"), p.LocalAddr())
		}
		_ = p.Close()
	}
	_, _ = net.DialTimeout("tcp4", "127.0.0.1:9", time.Second) // refused
	_, _ = net.Listen("unix", "@drover-stain")
	for _, args := range [][]string{
		{"ip", "address", "add", "10.9.8.7/24", "dev", "lo"}, {"ip", "link", "set", "lo", "mtu", "1400"}, {"ip", "neighbour", "add", "10.9.8.6", "lladdr", "2:2:2:2:2:2", "dev", "lo"},
	} {
		_ = exec.Command(args[0], args[1:]...).Run()
	}
}

// stainFolders changes all that can be said of every folder that is there, and fills it.
func stainFolders() {
	const noDump = 0x40
	long := strings.Repeat("x", 200)
	for _, dir := range []string{"/tmp", "/var/tmp", "/dev/shm", "/home", "/home/job", "/home/job/work", "/home/job/harness", "/home/job/submission", "/home/job/box", "/run", "/", "/mnt", "/dev"} {
		for _, name := range []string{"user.stain", "trusted.stain", "security.stain", "system.posix_acl_access", "system.posix_acl_default"} {
			_ = unix.Setxattr(dir, name, []byte("stain"), 0)
		}
		_ = exec.Command("setfacl", "-d", "-m", "u:12345:rwx", dir).Run()
		if fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err == nil {
			_ = unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, noDump)
			_ = unix.Close(fd)
		}
		for i := range 50 {
			_ = os.WriteFile(filepath.Join(dir, fmt.Sprint(".stain", i, long)), []byte("stain"), 0o600)
		}
		_ = os.MkdirAll(filepath.Join(dir, "stain", "below"), 0o700)
		_ = os.Symlink("/", filepath.Join(dir, "stain-link"))
		_ = unix.Mkfifo(filepath.Join(dir, "stain-pipe"), 0o600)
		_ = os.Chtimes(dir, time.Unix(1234567890, 1), time.Unix(1234567891, 2))
		_ = os.Chmod(filepath.Join(dir, "stain", "below"), 0)
		_ = os.Chmod(dir, 0o700)
	}
}

// stainObjects leaves what has no file.
func stainObjects() {
	for i := range 10 {
		_, _ = unix.SysvShmGet(0x57410000+i, 4096, unix.IPC_CREAT|0o600)
		_, _, _ = unix.RawSyscall(unix.SYS_SEMGET, uintptr(0x57410000+i), 1, unix.IPC_CREAT|0o600)
		_, _, _ = unix.RawSyscall(unix.SYS_MSGGET, uintptr(0x57410000+i), unix.IPC_CREAT|0o600, 0)
		_, _ = unix.MemfdCreate("stain", 0)
		_ = queues(Target{Marker: fmt.Sprint("stain", i)})
	}
	_, _ = unix.AddKey("user", "stain", []byte("stain"), -4)
	if fd, err := unix.Open("/usr/bin/env", unix.O_RDONLY, 0); err == nil {
		_ = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	}
}

// stainProcess changes what the process is, starts many, and leaves some.
func stainProcess() {
	for range 150 {
		if pid, err := syscall.ForkExec("/bin/true", []string{"true"}, &syscall.ProcAttr{}); err == nil {
			_, _ = syscall.Wait4(pid, nil, 0, nil)
		}
	}
	for range 3 {
		_, _ = syscall.ForkExec("/bin/sleep", []string{"sleep", "1000"}, &syscall.ProcAttr{Sys: &syscall.SysProcAttr{Setsid: true}})
	}
	for resource := range 16 {
		l := unix.Rlimit{Cur: 7, Max: 7}
		if resource != unix.RLIMIT_NOFILE && resource != unix.RLIMIT_AS && resource != unix.RLIMIT_DATA && resource != unix.RLIMIT_STACK && resource != unix.RLIMIT_CPU && resource != unix.RLIMIT_NPROC {
			_ = unix.Setrlimit(resource, &l)
		}
	}
	unix.Umask(0o777)
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, 19)
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 12345, 0, 0, 0)
	_ = unix.Prctl(unix.PR_SET_THP_DISABLE, 1, 0, 0, 0)
	one := unix.CPUSet{}
	one.Set(0)
	for _, pid := range []int{0, 1} {
		_ = unix.SchedSetaffinity(pid, &one)
		_ = unix.Setpriority(unix.PRIO_PROCESS, pid, 19)
	}
	_, _, _ = unix.RawSyscall(unix.SYS_PERSONALITY, 0x0040000, 0, 0)
	_, _, _ = unix.RawSyscall(unix.SYS_IOPRIO_SET, 1, 0, 3<<13)
	var timer int32
	_, _, _ = unix.RawSyscall(unix.SYS_TIMER_CREATE, unix.CLOCK_MONOTONIC, 0, uintptr(unsafe.Pointer(&timer)))
}

// stainSettings writes to whatever the kernel lets be written to.
func stainSettings() {
	for _, dir := range []string{"/proc/sys", "/proc/self", "/proc/1", "/sys"} {
		_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() && filepath.Base(path) != "mem" {
				if fd, err := unix.Open(path, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err == nil {
					_, _ = unix.Write(fd, []byte("7\n"))
					_ = unix.Close(fd)
				}
			}
			return nil
		})
	}
	_ = unix.Sethostname([]byte("stain"))
	_ = unix.Mount("none", "/tmp", "tmpfs", 0, "")
	_ = unix.Unshare(unix.CLONE_NEWNET)
}

// stainAgent has the agent do a lot, which its own counts would tell.
func stainAgent() {
	for range 50 {
		_, _ = os.Stdout.WriteString(strings.Repeat("s", 1000) + "\n")
	}
}
