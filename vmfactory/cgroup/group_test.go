package cgroup

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"drover/core"
	"drover/core/agent/wire"
	"drover/vmfactory/process"
	"drover/vmfactory/providertest"
)

// mounted returns the host's cgroups, where one can be made.
func mounted(t *testing.T) Host {
	t.Helper()
	h := Find(Root, FSType)
	providertest.Need(t, os.Geteuid() == 0 && len(h.Missing()) == 0, "root, and cgroups")
	return h
}

// ours is a name that only this test's cgroups have.
func ours(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("drover-test%d-%s", os.Getpid(), strings.ToLower(t.Name()))
}

func sleeper(t *testing.T) (*exec.Cmd, process.Process) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/bin/sleep", "1000")
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	who, err := process.Identify(cmd.Process.Pid)
	require.NoError(t, err)
	return cmd, who
}

func TestLimits(t *testing.T) {
	t.Parallel()
	g := mounted(t).At(ours(t), true)
	limits := core.Limits{Memory: 10 << 20, Pids: 5}
	require.NoError(t, g.Make(limits, 0.5))
	defer func() { require.NoError(t, g.End(t.Context())) }()
	require.NoError(t, g.InForce(limits, 0.5))
	require.NoError(t, g.Inherited(), "what is set for the VM alone holds for what is below it")
	for name, less := range map[string]core.Limits{"memory": {Memory: 9 << 20, Pids: 5}, "pids": {Memory: 10 << 20, Pids: 4}} {
		require.Error(t, g.InForce(less, 0.5), "less %s than what is set is not held", name)
	}
	require.Error(t, g.InForce(limits, 0.4))
	require.NoError(t, g.Make(limits, 0.5), "again: what a killed maker left goes")
}

// TestEnd kills what is in a VM's cgroups, wherever in there it is.
func TestEnd(t *testing.T) {
	t.Parallel()
	h := mounted(t)
	g := h.At(ours(t), true)
	require.NoError(t, g.Make(core.Limits{Memory: 10 << 20, Pids: 5}, 1))
	agent, asAgent := sleeper(t)
	job, _ := sleeper(t)
	require.NoError(t, g.Take(asAgent.PID))
	require.Error(t, g.Take(os.Getpid()+1<<22), "a process that is not there")
	for _, name := range g.inner() {
		require.NoError(t, process.WriteFile(filepath.Join(g.job(name), "cgroup.procs"), fmt.Sprint(job.Process.Pid)))
	}
	h.Clear(ours(t))
	assert.DirExists(t, g.job(Memory), "somebody lives there")
	require.NoError(t, g.End(t.Context()))
	require.Error(t, agent.Wait())
	require.Error(t, job.Wait())
	for _, folder := range h.Folders() {
		assert.NoDirExists(t, filepath.Join(folder, ours(t)))
	}
	require.NoError(t, g.End(t.Context()), "again")
	require.NoError(t, g.Make(core.Limits{Memory: 10 << 20, Pids: 5}, 1))
	h.Clear(ours(t))
	for _, folder := range h.Folders() {
		assert.NoDirExists(t, filepath.Join(folder, ours(t)), "nobody lives there")
	}
}

// The environment that makes TestControls who goes through the controls.
const (
	passer = "DROVER_TEST_CONTROLS" // a file that it must not open by its path
	passed = "DROVER_TEST_PASSED"   // the controls that it has
)

// TestControls sends another user through the controls of a VM, by descriptors alone: of
// version 1 what the thread starts that went in is there, of version 2 the process.
func TestControls(t *testing.T) {
	t.Parallel()
	if os.Getenv(passer) != "" {
		runtime.LockOSThread() // the tasks of version 1 are threads
		for _, control := range []int{wire.ControlThreads, wire.ControlThreads + 1, wire.ControlIn} {
			if slices.Contains(strings.Fields(os.Getenv(passed)), strconv.Itoa(control)) { // else it is some file of the runtime's
				_, err := syscall.Write(wire.ControlFD+control, []byte("0"))
				require.NoError(t, err)
			}
		}
		_, err := os.OpenFile(os.Getenv(passer), os.O_WRONLY, 0)
		require.ErrorIs(t, err, os.ErrPermission, "by its path it is closed")
		out, err := exec.Command("/bin/cat", "/proc/self/cgroup").Output()
		require.NoError(t, err)
		_, err = os.Stdout.Write(out)
		require.NoError(t, err)
		return
	}
	h := mounted(t)
	g := h.At(ours(t), true)
	require.NoError(t, g.Make(core.Limits{Memory: 64 << 20, Pids: 50}, 1))
	defer func() { require.NoError(t, g.End(t.Context())) }()
	controls, err := g.Controls()
	require.NoError(t, err)
	var files []*os.File
	for range wire.ControlFD - 3 {
		files = append(files, nil)
	}
	var open []string
	for control, fd := range controls {
		if fd < 0 {
			files = append(files, nil)
			continue
		}
		open = append(open, strconv.Itoa(control))
		f := os.NewFile(uintptr(fd), "control")
		t.Cleanup(func() { require.NoError(t, f.Close()) })
		files = append(files, f)
	}
	const nobody = 65534
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestControls$", "-test.cpu=1")
	cmd.Env = append(os.Environ(), passer+"="+filepath.Join(g.job(Memory), "cgroup.procs"), passed+"="+strings.Join(open, " "))
	cmd.Dir, cmd.ExtraFiles = "/", files
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), ours(t)+"/job\n", "a command that it started: %s", out)
}

// TestVersion2 has the agent go in and out in a real tree of version 2, with those
// controllers that version 2 has here, be it none of ours.
func TestVersion2(t *testing.T) {
	t.Parallel()
	h := Find(Root, FSType)
	providertest.Need(t, h.V2() != "" && os.Geteuid() == 0, "cgroups of version 2, and root")
	folder := filepath.Join(h.V2(), ours(t))
	passes, before := words(h.V2(), "cgroup.controllers"), words(h.V2(), "cgroup.subtree_control")
	defer func() {
		for _, name := range passes {
			if !slices.Contains(before, name) {
				require.NoError(t, process.WriteFile(filepath.Join(h.V2(), "cgroup.subtree_control"), "-"+name))
			}
		}
	}()
	require.NoError(t, enable(h.V2(), passes))
	require.NoError(t, os.Mkdir(folder, 0o755))
	defer func() { require.NoError(t, Remove(t.Context(), folder)) }()
	require.NoError(t, enable(folder, passes), "nothing is in there")
	job, agent := filepath.Join(folder, jobName), filepath.Join(folder, agentName)
	require.NoError(t, errors.Join(mkdir(job), mkdir(agent)))
	at, err := unix.Open(agent, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	defer process.CloseFD(at)

	in, err := os.OpenFile(filepath.Join(job, "cgroup.procs"), os.O_WRONLY, 0)
	require.NoError(t, err)
	defer in.Close()
	out, err := os.OpenFile(filepath.Join(agent, "cgroup.procs"), os.O_WRONLY, 0)
	require.NoError(t, err)
	defer out.Close()
	script := "grep ^0:: /proc/self/cgroup; echo 0 >&3; grep ^0:: /proc/self/cgroup; echo 0 >&4; grep ^0:: /proc/self/cgroup"
	const nobody = 65534
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", script)
	cmd.ExtraFiles = []*os.File{in, out}
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: at, Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", said)
	assert.Equal(t, []string{"0::/" + ours(t) + "/agent", "0::/" + ours(t) + "/job", "0::/" + ours(t) + "/agent"}, strings.Fields(string(said)))

	_, who := sleeper(t)
	require.NoError(t, process.WriteFile(filepath.Join(job, "cgroup.procs"), fmt.Sprint(who.PID)))
	require.NoError(t, Empty(t.Context(), folder))
	alive, err := who.Alive()
	require.NoError(t, err)
	assert.False(t, alive, "the end of a cgroup is the end of what is below it")
}

// TestRefusalsAreCounted has more processes than user code may, and finds it told
// where the agent looks.
func TestRefusalsAreCounted(t *testing.T) {
	t.Parallel()
	g := mounted(t).At(ours(t), true)
	require.NoError(t, g.Make(core.Limits{Memory: 64 << 20, Pids: 4}, 1))
	defer func() { require.NoError(t, g.End(t.Context())) }()
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", "echo $$ >"+filepath.Join(g.job(Pids), "cgroup.procs")+"; for i in $(seq 40); do sleep 1000 & done")
	require.Error(t, cmd.Run(), "it is refused a process")
	_, usage := g.Usage("/u")
	text, err := os.ReadFile(filepath.Join(g.folder(Pids), strings.SplitN(usage.PidsEvents, "/", 4)[3]))
	require.NoError(t, err)
	assert.Regexp(t, `max [1-9]`, string(text))
}

// clearing, in the environment, makes TestClearFromElsewhere who clears it.
const clearing = "DROVER_TEST_CLEARING"

// TestClearFromElsewhere has somebody in another pid namespace, as a vmfactory in a
// container is, clear the cgroups of a VM that waits: of version 1 he sees no process
// in there, and in the cgroup of user code there is none yet.
func TestClearFromElsewhere(t *testing.T) {
	t.Parallel()
	if name := os.Getenv(clearing); name != "" {
		Find(Root, FSType).Clear(name)
		return
	}
	h := mounted(t)
	g := h.At(ours(t), true)
	limits := core.Limits{Memory: 10 << 20, Pids: 5}
	require.NoError(t, g.Make(limits, 1))
	defer func() { require.NoError(t, g.End(t.Context())) }()
	_, agent := sleeper(t)
	require.NoError(t, g.Take(agent.PID))
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestClearFromElsewhere$")
	cmd.Env = append(os.Environ(), clearing+"="+ours(t))
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NoError(t, g.InForce(limits, 1))
}
