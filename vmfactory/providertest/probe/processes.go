package probe

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pids lists the processes in /proc.
func pids() []int {
	entries, _ := os.ReadDir("/proc") // without it there are none to see
	var all []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

// unixSockets lists the unix sockets that /proc names.
func unixSockets() []string {
	text, _ := os.ReadFile("/proc/net/unix") // without it none is named
	var all []string
	for line := range strings.SplitSeq(string(text), "\n") {
		if f := strings.Fields(line); len(f) == 8 && f[7] != "Path" {
			all = append(all, f[7])
		}
	}
	return all
}

// hostProcesses looks for processes that are not the VM's.
func hostProcesses(t Target) error {
	for _, pid := range pids() {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		// The probe itself was told the marker.
		if err == nil && strings.Contains(string(text), t.Marker) && pid != os.Getpid() {
			return fmt.Errorf("saw process %d of the host", pid)
		}
	}
	// Pids of the host are unknown here, unless the VM has as many processes.
	if t.PID > 1000 && unix.Kill(t.PID, 0) != unix.ESRCH {
		return fmt.Errorf("process %d of the host can be named", t.PID)
	}
	return nil
}

// tasks lists a process's threads; each is a way to name it.
func tasks(pid int) []int {
	entries, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid)) // without it the pid alone has to do
	all := []int{pid}
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil && tid != pid {
			all = append(all, tid)
		}
	}
	return all
}

// agentThreads looks for threads of others that it may signal, by whatever number.
func agentThreads(Target) error {
	const most = 1000 // a VM's first numbers; those of its commands may be among them
	for id := 2; id < most; id++ {
		if unix.Kill(id, 0) == nil && !slices.Contains(tasks(os.Getpid()), id) { // its own come as its runtime likes
			return fmt.Errorf("may signal thread %d", id)
		}
	}
	return nil
}

// agentSignals sends the agent every signal in every way. Some may be let
// through: what counts is that the agent lives, which is not to be seen from
// here. So the probe is held if it ends; its caller asks the agent.
func agentSignals(t Target) error {
	for sig := unix.Signal(1); sig <= 64; sig++ {
		for _, id := range tasks(t.PID) {
			_ = unix.Kill(id, sig)
			_ = unix.Tgkill(t.PID, id, sig)
			_, _, _ = unix.RawSyscall(unix.SYS_TKILL, uintptr(id), uintptr(sig), 0)
			// A number that the kernel cuts to an int is another number to a filter.
			_, _, _ = unix.RawSyscall(unix.SYS_KILL, uintptr(id)|1<<32, uintptr(sig), 0)
			queueSignal(t.PID, id, sig)
		}
		if fd, err := unix.PidfdOpen(t.PID, 0); err == nil {
			_ = unix.PidfdSendSignal(fd, sig, nil, 0)
			_ = unix.Close(fd)
		}
		ownerSignal(t.PID, sig)
	}
	_ = unix.Kill(-1, unix.SIGCONT)
	return nil
}

// queueSignal sends a signal that claims to come from the kernel's timer.
func queueSignal(pid, tid int, sig unix.Signal) {
	info := [16]uint64{} // a siginfo, larger than any
	*(*int32)(unsafe.Pointer(&info[0])) = int32(sig)
	const siTimer = -2
	*(*int32)(unsafe.Add(unsafe.Pointer(&info[0]), 8)) = siTimer
	at := uintptr(unsafe.Pointer(&info))
	_, _, _ = unix.RawSyscall(unix.SYS_RT_SIGQUEUEINFO, uintptr(pid), uintptr(sig), at)
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_TGSIGQUEUEINFO, uintptr(pid), uintptr(tid), uintptr(sig), at, 0, 0)
	runtime.KeepAlive(&info)
}

// ownerSignal has the kernel send a signal for a pipe that becomes readable.
func ownerSignal(pid int, sig unix.Signal) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_NONBLOCK|unix.O_CLOEXEC); err != nil {
		return
	}
	defer func() { _, _ = unix.Close(p[0]), unix.Close(p[1]) }()
	_, _ = unix.FcntlInt(uintptr(p[0]), unix.F_SETOWN, pid)
	_, _ = unix.FcntlInt(uintptr(p[0]), unix.F_SETSIG, int(sig))
	_, _, _ = unix.RawSyscall(unix.SYS_FCNTL, uintptr(p[0]), unix.F_SETSIG|1<<32, uintptr(sig))
	_, _ = unix.FcntlInt(uintptr(p[0]), unix.F_SETFL, unix.O_ASYNC|unix.O_NONBLOCK)
	_, _ = unix.Write(p[1], []byte{1})
}

// agentTracing tries to look into the agent and to set what binds it.
func agentTracing(t Target) error {
	runtime.LockOSThread() // a tracer is a thread
	defer runtime.UnlockOSThread()
	pid := t.PID
	if err := unix.PtraceAttach(pid); err == nil {
		return errors.New("attached to it")
	}
	if err := unix.PtraceSeize(pid); err == nil {
		return errors.New("seized it")
	}
	for _, name := range []string{"mem", "environ", "maps", "auxv", "stack", "syscall", "io", "map_files", "fd/3", "cwd/", "root/", "exe"} {
		f, err := os.Open(fmt.Sprintf("/proc/%d/%s", pid, name))
		if err != nil {
			continue
		}
		_, rerr := f.Read(make([]byte, 1))
		_, derr := f.ReadDir(1)
		_ = f.Close()
		if rerr == nil || derr == nil {
			return fmt.Errorf("read its %s", name)
		}
	}
	if err := reach(pid); err != nil {
		return err
	}
	return rebind(pid)
}

// reach tries calls that take another process's memory and descriptors.
func reach(pid int) error {
	buf := make([]byte, 8)
	local := []unix.Iovec{{Base: &buf[0], Len: 8}}
	n, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: 0x400000, Len: 8}}, 0)
	if n > 0 || errors.Is(err, unix.EFAULT) {
		return errors.New("may read its memory")
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	if got, err := unix.PidfdGetfd(fd, 0, 0); err == nil {
		_ = unix.Close(got)
		return errors.New("took a descriptor of it")
	}
	return nil
}

// rebind tries to bind it by limits of its own.
func rebind(pid int) error {
	var limit unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &limit); err == nil {
		return errors.New("read its limits, so may set them")
	}
	var cpus unix.CPUSet
	cpus.Set(0)
	if err := unix.SchedSetaffinity(pid, &cpus); err == nil {
		return errors.New("bound it to one cpu")
	}
	if err := unix.Setpriority(unix.PRIO_PROCESS, pid, 19); err == nil {
		return errors.New("made it nice")
	}
	f, err := os.OpenFile(filepath.Join("/proc", strconv.Itoa(pid), "oom_score_adj"), os.O_WRONLY, 0)
	if err == nil {
		_ = f.Close()
		return errors.New("may offer it to the kernel when memory runs out")
	}
	return nil
}
