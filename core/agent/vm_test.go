package agent_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"drover/core/agent"
	_ "drover/core/agent/boot"   // the test binary is the agent, too
	_ "drover/core/agent/boxrun" // and drover-run
)

const (
	secret   = "a-secret-of-the-tests"
	initName = "drover-test-init" // argv[0] of the step between the test and an agent that is init
	diskEnv  = "DROVER_TEST_DISK" // where that step mounts a disk of 1 MB

	eventually = 5 * time.Minute // more than anything here takes
)

func TestMain(m *testing.M) {
	if os.Args[0] == initName {
		becomeInit()
	}
	goleak.VerifyTestMain(m)
}

// agentCaps is all that an agent with a uid of its own needs: to start commands as
// another user, to end them, to give files to them and take them away, and to see
// which memory they share.
const agentCaps = 1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID | 1<<unix.CAP_KILL | 1<<unix.CAP_CHOWN |
	1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_SYS_PTRACE

// becomeInit runs in fresh namespaces: it gives them their own /proc and becomes the agent.
func becomeInit() {
	err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "")
	if err == nil {
		err = syscall.Mount("proc", "/proc", "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, "")
	}
	if disk := os.Getenv(diskEnv); err == nil && disk != "" {
		err = syscall.Mount("disk", disk, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "size=1m,mode=711")
	}
	for c := uintptr(0); err == nil && os.Getuid() == 0 && c <= unix.CAP_LAST_CAP; c++ {
		if agentCaps&(1<<c) == 0 {
			err = unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		}
	}
	if err == nil {
		err = syscall.Exec("/proc/self/exe", []string{agent.AgentName}, agent.AgentEnv())
	}
	fmt.Fprintln(os.Stderr, "become an agent:", err)
	os.Exit(1)
}

// Kinds of VMs that the tests run in.
const (
	plain  = "plain"  // the agent is a process among others; user code has another uid if the test is root
	inside = "inside" // the agent is init of its own namespaces, user code has another uid; needs root
	single = "single" // the same, but all have one uid: what somebody without root gets
)

var uids atomic.Int32

// vm is an agent with the folder that its host sees.
type vm struct {
	dir      string
	home     string
	uid      int
	box      int // the user of the box; 0 is uid
	client   *agent.Client
	cmd      *exec.Cmd
	lifeline *os.File
	config   agent.Config
	stopped  bool
}

// start starts a VM and stops it when the test ends.
func start(t testing.TB, kind string, change func(*agent.Config)) *vm {
	t.Helper()
	v := prepare(t, kind, change)
	v.boot(t)
	return v
}

// boot starts a prepared VM and stops it when the test ends.
func (v *vm) boot(t testing.TB) {
	t.Helper()
	v.launch(t)
	t.Cleanup(func() { v.stop(t) })
	client, err := agent.Dial(v.dir)
	require.NoError(t, err)
	v.client = client
	t.Cleanup(client.Close)
}

// prepare makes a VM's folder and decides how it will run.
func prepare(t testing.TB, kind string, change func(*agent.Config)) *vm {
	t.Helper()
	v := &vm{dir: filepath.Join(t.TempDir(), "vm-1"), uid: os.Getuid()}
	require.NoError(t, os.Mkdir(v.dir, 0o711))
	require.NoError(t, os.WriteFile(filepath.Join(v.dir, agent.SecretFile), []byte(secret+"\n"), 0o600))
	v.home = filepath.Join(v.dir, "home")
	require.NoError(t, os.Mkdir(v.home, 0o711))
	for dir := v.dir; len(dir) > len(os.TempDir()); dir = filepath.Dir(dir) {
		require.NoError(t, os.Chmod(dir, 0o711))
	}
	v.cmd = &exec.Cmd{Path: "/proc/self/exe", Args: []string{agent.AgentName}, Env: agent.AgentEnv(), Stderr: os.Stderr, SysProcAttr: &syscall.SysProcAttr{}}
	v.config = agent.Config{VM: "vm-1", Secret: secret, Home: v.home, Lifeline: true, Alone: kind != plain}
	v.shape(t, kind)
	v.config.UID, v.config.GID = v.uid, v.uid
	v.config.BoxUID, v.config.BoxGID = v.box, v.box
	if change != nil {
		change(&v.config)
	}
	return v
}

// shape sets up who the VM's users are and which namespaces it gets.
func (v *vm) shape(t testing.TB, kind string) {
	t.Helper()
	root := v.uid == 0
	if kind == plain {
		if root {
			v.uid = int(20000 + uids.Add(1)) // its own, so that RLIMIT_NPROC counts this VM alone
			v.box = v.uid + 10000
			v.config.Alone = true
		}
		return
	}
	attr := v.cmd.SysProcAttr
	v.cmd.Args = []string{initName}
	attr.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWNET
	one := func(id int) []syscall.SysProcIDMap {
		return []syscall.SysProcIDMap{{ContainerID: id, HostID: id, Size: 1}}
	}
	switch {
	case kind == inside && !root:
		lacking(t, "a VM whose users have different uids needs root")
	case kind == inside:
		v.uid, v.box = 1000, 1001
		attr.UidMappings = slices.Concat(one(0), one(v.uid), one(v.box))
		attr.GidMappings = slices.Clone(attr.UidMappings)
		attr.GidMappingsEnableSetgroups = true
	default:
		if root {
			v.uid = 1000
			require.NoError(t, os.Chown(v.home, v.uid, v.uid))
			attr.Credential = &syscall.Credential{Uid: 1000, Gid: 1000, NoSetGroups: true}
		}
		attr.UidMappings, attr.GidMappings = one(v.uid), one(v.uid)
		attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN} // to mount /proc
	}
}

// lacking skips the test on a person's machine and fails it where everything must be there.
func lacking(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// launch starts the agent as a provider does.
func (v *vm) launch(t testing.TB) {
	t.Helper()
	dir, err := os.Open(v.dir)
	require.NoError(t, err)
	sock, err := net.ListenUnix("unix", &net.UnixAddr{Name: fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), agent.SocketFile)})
	require.NoError(t, err)
	sock.SetUnlinkOnClose(false)
	listener, err := sock.File()
	require.NoError(t, err)
	config, configIn, err := os.Pipe()
	require.NoError(t, err)
	life, lifeIn, err := os.Pipe()
	require.NoError(t, err)
	v.lifeline = lifeIn
	text := v.config.Encode()
	v.cmd.ExtraFiles = []*os.File{listener, config, life}
	if v.config.Anchor > 0 {
		fd, err := unix.Open(filepath.Join(v.dir, agent.SocketFile), unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		require.NoError(t, err)
		anchor := os.NewFile(uintptr(fd), "anchor")
		defer anchor.Close()
		v.cmd.ExtraFiles = append(v.cmd.ExtraFiles, anchor)
	}
	if err := v.cmd.Start(); errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) {
		lacking(t, "user namespaces are not to be had here: "+err.Error())
	} else {
		require.NoError(t, err)
	}
	for _, f := range []interface{ Close() error }{listener, sock, config, life, dir} {
		require.NoError(t, f.Close())
	}
	go func() { // a large configuration is more than a pipe holds
		_, _ = configIn.Write(text)
		_ = configIn.Close()
	}()
}

// stop cuts the lifeline and waits for the agent's end.
func (v *vm) stop(t testing.TB) {
	if v.stopped {
		return
	}
	v.stopped = true
	_ = v.lifeline.Close()
	ended := make(chan error, 1)
	go func() { ended <- v.cmd.Wait() }()
	select {
	case err := <-ended:
		if v.cmd.ProcessState.ExitCode() > 0 {
			t.Errorf("the agent ended badly: %v", err)
		}
	case <-time.After(30 * time.Second):
		_ = v.cmd.Process.Kill()
		<-ended
		t.Error("the agent did not end with its lifeline")
	}
}

// assigned starts a VM that has its assignment.
func assigned(t testing.TB, kind string, change func(*agent.Config)) *vm {
	t.Helper()
	v := start(t, kind, change)
	require.NoError(t, v.client.Assign(context.Background(), "r1-1.t1"))
	return v
}

// output is what a run wrote.
type output struct{ out, err []byte }

func (o *output) sink(stream string, data []byte) {
	if stream == agent.Stdout {
		o.out = append(o.out, data...)
		return
	}
	o.err = append(o.err, data...)
}

// sh runs a shell script in the VM.
func (v *vm) sh(t testing.TB, script string, change func(*agent.Run)) (agent.Exit, output) {
	t.Helper()
	run := agent.Run{Args: []string{"/bin/sh", "-c", script}}
	if change != nil {
		change(&run)
	}
	var o output
	exit, err := v.client.Run(context.Background(), run, o.sink)
	require.NoError(t, err)
	return exit, o
}

// each runs a test in every kind of VM that this machine can make.
func each(t *testing.T, test func(t *testing.T, kind string)) {
	t.Helper()
	for _, kind := range []string{plain, inside, single} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, kind)
		})
	}
}
