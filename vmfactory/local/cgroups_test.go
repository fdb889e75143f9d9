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

	"drover/core"
	"drover/vmfactory/cgroup"
	"drover/vmfactory/providertest"
)

// tree makes a tree of cgroups of version 2 out of files: folder → what it passes on.
func tree(t *testing.T, passes map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for folder, controllers := range passes {
		dir := filepath.Join(root, folder)
		require.NoError(t, os.MkdirAll(dir, 0o700))
		file := "cgroup.subtree_control"
		if folder == "" {
			file = "cgroup.controllers"
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(controllers+"\n"), 0o600))
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
		among              []string // what is of version 2; all if empty
		refused            bool
	}{
		"a service":                         {own: "0::/system.slice/drover.service\n", want: ""},
		"a delegated user":                  {own: "9:name=systemd:/x\n0::/user.slice/u/app\n", want: "user.slice/u"},
		"no version 2":                      {own: "4:memory:/x\n", refused: true},
		"named":                             {setting: root + "/user.slice/u", want: "user.slice/u"},
		"named short":                       {setting: "user.slice/u", want: "user.slice/u"},
		"both, the processors in version 2": {own: "0::/bare\n", among: []string{cgroup.CPU}, want: "bare"},
		"both, processes in version 2":      {own: "3:cpu:/x\n0::/user.slice/u/app\n", among: []string{cgroup.Pids}, want: "user.slice/u"},
		"named, passes too few":             {setting: "/bare", refused: true},
		"named, not there":                  {setting: "/none", refused: true},
		"named, outside of root":            {setting: "../../etc", refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			among := c.among
			if len(among) == 0 {
				among = cgroup.Controllers()
			}
			parent, has, why := delegated(root, c.setting, c.own, among)
			if c.refused {
				assert.NotEmpty(t, why)
				assert.Empty(t, has)
				return
			}
			assert.Empty(t, why)
			assert.Equal(t, c.want, parent)
			assert.NotEmpty(t, has)
			assert.Subset(t, among, has)
		})
	}
}

// ours marks the cgroups of this process's tests.
var ours = fmt.Sprint("test", os.Getpid())

// usable returns cgroups that hold something here.
func usable(t *testing.T) cgroups {
	t.Helper()
	c := findCgroups("", ours, true)
	providertest.Need(t, c.any(), "cgroups: "+c.why)
	return c
}

func TestSweepCgroups(t *testing.T) {
	t.Parallel()
	c := usable(t)
	tag := ours + "-sweep"
	small := core.Limits{Memory: 10 << 20, Pids: 5}
	for _, vm := range []string{"known", "lost"} {
		require.NoError(t, c.at(c.name(tag, vm)).Make(small, 1))
	}
	other := c.at(c.name("another", ours))
	require.NoError(t, other.Make(small, 1))
	defer func() { require.NoError(t, other.Remove(t.Context())) }()
	_, who := sleeper(t)
	require.NoError(t, c.at(c.name(tag, "lost")).Take(who.PID))

	require.NoError(t, c.sweep(t.Context(), tag, func(vm string) bool { return vm == "known" }))
	folder := func(name string) string { return filepath.Join(c.host.Folders()[0], name) }
	assert.NoDirExists(t, folder(c.name(tag, "lost")))
	assert.False(t, isAlive(t, who))
	assert.DirExists(t, folder(c.name(tag, "known")))
	assert.DirExists(t, folder(c.name("another", ours)), "another's may be about to be used")
	require.NoError(t, c.at(c.name(tag, "known")).End(t.Context()))
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
