package local

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"drover/vmfactory/process"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"drover/core"
	"drover/vmfactory/enter"
)

// need skips a test at a desk that lacks something, and fails it in CI, which must not.
func need(t *testing.T, ok bool, what string) {
	t.Helper()
	switch {
	case ok:
	case os.Getenv("CI") == "true":
		require.Fail(t, "CI must have "+what)
	default:
		t.Skip("this test needs " + what)
	}
}

// tree makes a tree of cgroups of version 2 out of files: folder → what it passes on.
func tree(t *testing.T, passes map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for folder, controllers := range passes {
		dir := filepath.Join(root, folder)
		require.NoError(t, os.MkdirAll(dir, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte(controllers+"\n"), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "cgroup.procs"), nil, 0o600))
	}
	return root
}

func TestDelegated(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{
		"": "cpu memory pids io", "user.slice": "", "user.slice/u": "memory pids", "user.slice/u/app": "", "bare": "cpu",
	})
	for name, c := range map[string]struct {
		setting, own, want string
		refused            bool
	}{
		"a service":              {own: "0::/system.slice/drover.service\n", want: ""},
		"a delegated user":       {own: "9:name=systemd:/x\n0::/user.slice/u/app\n", want: "user.slice/u"},
		"no version 2":           {own: "4:memory:/x\n", refused: true},
		"named":                  {setting: root + "/user.slice/u", want: "user.slice/u"},
		"named short":            {setting: "user.slice/u", want: "user.slice/u"},
		"named, passes too few":  {setting: "/bare", refused: true},
		"named, not there":       {setting: "/none", refused: true},
		"named, outside of root": {setting: "../../etc", refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parent, has, why := delegated(root, c.setting, c.own)
			if c.refused {
				assert.NotEmpty(t, why)
				assert.Empty(t, has.Names())
				return
			}
			assert.Empty(t, why)
			assert.Equal(t, c.want, parent)
			assert.True(t, has.Memory && has.Pids)
		})
	}
}

// ours marks the cgroups of this process's tests.
var ours = fmt.Sprint("test", os.Getpid())

// usable returns cgroups that hold something here.
func usable(t *testing.T) cgroups {
	t.Helper()
	c := findCgroups("", ours)
	need(t, c.any(), "cgroups: "+c.why)
	return c
}

func TestGroupLimits(t *testing.T) {
	t.Parallel()
	c := usable(t)
	g, err := c.make(c.name(ours, "limits"), core.Limits{Memory: 10 << 20, Pids: 5}, 0.5)
	require.NoError(t, err)
	defer func() { require.NoError(t, g.remove(t.Context())) }()
	require.NoError(t, g.inForce(10<<20+agentMemory, "memory", "memory.max", "memory.limit_in_bytes"))
	require.Error(t, g.inForce(10<<20, "memory", "memory.max", "memory.limit_in_bytes"), "less than what is set is not held")
	require.NoError(t, g.inForce(5+agentPids, "pids", "pids.max", "pids.max"))
	_, who := sleeper(t)
	require.NoError(t, g.take(who.PID))
	in, err := g.processes()
	require.NoError(t, err)
	assert.Contains(t, in, who)
	require.NoError(t, c.end(t.Context(), c.name(ours, "limits")))
	assert.False(t, isAlive(t, who), "the end of a cgroup is the end of what is in it")
}

func TestSweepCgroups(t *testing.T) {
	t.Parallel()
	c := usable(t)
	tag := ours + "-sweep"
	for _, vm := range []string{"known", "lost"} {
		_, err := c.make(c.name(tag, vm), core.Limits{Memory: 10 << 20, Pids: 5}, 1)
		require.NoError(t, err)
	}
	other, err := c.make(c.name("another", ours), core.Limits{Memory: 10 << 20, Pids: 5}, 1)
	require.NoError(t, err)
	defer func() { require.NoError(t, other.remove(t.Context())) }()
	_, who := sleeper(t)
	require.NoError(t, c.at(c.name(tag, "lost")).take(who.PID))

	require.NoError(t, c.sweep(t.Context(), tag, func(vm string) bool { return vm == "known" }))
	assert.NoDirExists(t, c.at(c.name(tag, "lost")).folders[0])
	assert.False(t, isAlive(t, who))
	assert.DirExists(t, c.at(c.name(tag, "known")).folders[0])
	assert.DirExists(t, other.folders[0], "another's may be about to be used")
	require.NoError(t, c.end(t.Context(), c.name(tag, "known")))
}

// TestBornInCgroup shows that a process can be born in a cgroup of version 2,
// where one can be made, be it without controllers.
func TestBornInCgroup(t *testing.T) {
	t.Parallel()
	var top string
	for _, at := range []string{cgroupRoot, cgroupRoot + "/unified"} {
		var st unix.Statfs_t
		if err := unix.Statfs(at, &st); err == nil && st.Type == unix.CGROUP2_SUPER_MAGIC && writable(at) {
			top = at
		}
	}
	need(t, top != "", "cgroups of version 2, and root")
	folder := filepath.Join(top, cgroupPrefix+ours+"-born")
	require.NoError(t, os.Mkdir(folder, 0o700))
	defer func() { require.NoError(t, (&group{folders: []string{folder}}).remove(t.Context())) }()
	g := &group{v2: true, folders: []string{folder}}
	fd, err := g.open()
	require.NoError(t, err)
	defer process.CloseFD(fd)
	in, err := process.NewPipe()
	require.NoError(t, err)
	defer func() { process.CloseFD(in.Read); process.CloseFD(in.Write) }()
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	defer process.CloseFD(null)
	var s spawner
	defer s.close()
	pid, err := s.start([]int{in.Read, null, null}, fd)
	require.NoError(t, err)
	require.NoError(t, g.take(pid), "it is in there")
	who, err := process.Identify(pid)
	require.NoError(t, err)
	require.NoError(t, in.Send(enter.Plan{}.Encode()[:1]), "a plan that is cut short")
	pidfd, err := who.Open()
	require.NoError(t, err)
	if pidfd >= 0 {
		defer process.CloseFD(pidfd)
		ended, err := process.WaitEnd(pidfd, startLimit)
		require.NoError(t, err)
		assert.True(t, ended)
	}
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

func isAlive(t *testing.T, p process.Process) bool {
	t.Helper()
	alive, err := p.Alive()
	require.NoError(t, err)
	return alive
}
