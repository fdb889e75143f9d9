package local

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"drover/vmfactory/process"
	"drover/vmfactory/program"
	"drover/vmfactory/trace"

	"golang.org/x/sys/unix"

	"drover/vmfactory/enter"
)

// born are the namespaces of a VM's first process. It unshares its cgroup namespace itself, once it is in its cgroup.
const born = unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS

// spawner is our end of the small process that starts VMs' first processes. It starts with the first of them and ends
// with Close or with this process; the processes that it started live on.
type spawner struct {
	program string // the program of the spawner, and of VMs
	lays    bool   // it lays the ground of VMs
	ground  string // key of the ground that it has laid
	mu      sync.Mutex
	socket  int
	cmd     *exec.Cmd
	words   *os.File // what it said
	closed  bool
}

// lays are the namespaces of a spawner that lays the ground: a mount namespace with the ground, of which those of VMs
// are copies, and a network and IPC namespace that all first processes share. Making a network takes longer than all
// other namespaces. Agents use none, and may change nothing in one that belongs to the host's root; user code never runs
// in an agent's, as it gets new ones (agent.Config.Renews).
const lays = unix.CLONE_NEWNS | shared

const shared = unix.CLONE_NEWNET | unix.CLONE_NEWIPC

// mayLay reports whether this process can make them.
func mayLay() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	err := unix.Capget(&header, &data[0])
	return err == nil && data[0].Effective&(1<<unix.CAP_SYS_ADMIN) != 0
}

// itself is the path of our own program.
const itself = "/proc/self/exe"

// file returns the path of that program, or "" if it was removed: VMs are without drover-run then.
func (s *spawner) file() string {
	path := s.program
	if path == itself {
		var err error
		if path, err = os.Executable(); err != nil {
			return ""
		}
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return path
}

// agentProgram returns the program that VMs start: the small one if it exists and can be executed in VMs, else ours,
// which does the same but is larger. A small one of another version is an error: an upgrade is half done.
func agentProgram(path, version string) (string, error) {
	if path == "" {
		var err error
		if path, err = program.Beside(); err != nil {
			return itself, nil
		}
	}
	agent := program.Agent{Path: path, Version: version}
	defer agent.Close()
	switch _, err := agent.Open(); {
	case errors.Is(err, program.ErrVersion):
		return itself, err
	case err != nil:
		return itself, nil
	}
	return path, nil
}

var errClosed = errors.New("the provider is closed")

// start starts a VM's first process with that plan and these descriptors from 0 on, in the cgroup of the descriptor
// cgroup unless that is below 0. A spawner that was killed, or stands on another ground, is replaced.
func (s *spawner) start(files []int, cgroup int, plan enter.Plan, g ground) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lays && s.ground != g.key {
		s.stop()
	}
	req := enter.Request{Flags: s.born(), Cgroup: cgroup >= 0, Plan: plan}
	if req.Cgroup {
		files = append(append([]int{}, files...), cgroup)
	}
	var answer enter.Answer
	err := errClosed
	for try := 0; try < 2 && !s.closed; try++ {
		if err = s.open(g); err != nil {
			break
		}
		if answer, err = ask(s.socket, req, files); err == nil {
			break
		}
		if words := s.stop(); words != "" {
			err = errors.New(words)
		}
	}
	switch {
	case err != nil:
		return 0, fmt.Errorf("the process that starts VMs: %w", err)
	case answer.Errno != 0:
		return 0, answer.Errno
	case answer.PID <= 0:
		return 0, errors.New(answer.Text)
	}
	return answer.PID, nil
}

// born returns the namespaces that a VM's first process gets.
func (s *spawner) born() uintptr {
	if s.lays {
		return born &^ shared
	}
	return born
}

func (s *spawner) open(g ground) error {
	if s.cmd != nil {
		return nil
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	theirs := os.NewFile(uintptr(pair[1]), "spawner")
	cmd := &exec.Cmd{
		Path: s.program, Args: []string{enter.SpawnName}, Dir: "/", Env: []string{"GOMAXPROCS=1", "GOGC=10"}, // a fork copies the tables of what it has touched
		ExtraFiles: []*os.File{theirs}, SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if s.lays {
		cmd.SysProcAttr.Cloneflags = lays
		cmd.Stdin = bytes.NewReader(enter.Plan{Steps: g.lay()}.Encode())
	}
	var words *os.File
	if words, err = said(); err == nil {
		cmd.Stderr = words
		err = cmd.Start()
	}
	if err = errors.Join(err, theirs.Close()); err != nil {
		process.CloseFD(pair[0])
		return errors.Join(err, words.Close())
	}
	s.socket, s.cmd, s.ground, s.words = pair[0], cmd, g.key, words
	return nil
}

// said returns an unnamed file for what a process says on standard error.
func said() (*os.File, error) {
	fd, err := unix.MemfdCreate("drover-spawn", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "drover-spawn"), nil
}

func ask(socket int, req enter.Request, files []int) (enter.Answer, error) {
	var none enter.Answer
	if err := unix.Sendmsg(socket, req.Encode(), unix.UnixRights(files...), nil, unix.MSG_NOSIGNAL); err != nil {
		return none, err
	}
	reply := make([]byte, enter.MaxAnswer)
	for {
		n, err := unix.Read(socket, reply)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return none, err
		case n == 0:
			return none, errors.New("it ended without an answer")
		}
		return enter.DecodeAnswer(reply[:n])
	}
}

// stop ends the spawner, which dies when its socket is closed, and returns what it said.
func (s *spawner) stop() string {
	if s.cmd == nil {
		return ""
	}
	process.CloseFD(s.socket)
	_ = s.cmd.Wait() // the exit status does not matter
	const most = 300
	words := trace.Hear(io.NewSectionReader(s.words, 0, most))
	_ = s.words.Close()
	s.cmd, s.words = nil, nil
	return words
}

func (s *spawner) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.stop()
}
