package lxc

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"drover/core"
)

// machine makes a folder of cgroups as a kind of machine has it. Folders of
// version 1 and 2 are those whose path the returned function knows.
func machine(t *testing.T, kinds map[string]int64, files map[string]string) (root string, fsType func(string) int64) {
	t.Helper()
	root = t.TempDir()
	known := map[string]int64{}
	for name, kind := range kinds {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(path, 0o755))
		known[path] = kind
	}
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	return root, func(path string) int64 { return known[path] }
}

func TestFindCgroups(t *testing.T) {
	t.Parallel()
	const v1, v2 = unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC
	for name, c := range map[string]struct {
		kinds map[string]int64
		files map[string]string
		use   string
		why   string
	}{
		"version 1":                          {kinds: map[string]int64{"memory": v1, "pids": v1, "cpu": v1, "freezer": v1}, use: "memory,pids,cpu"},
		"version 2":                          {kinds: map[string]int64{"": v2}, files: map[string]string{"cgroup.controllers": "cpuset cpu io memory pids\n"}},
		"both, memory and pids in version 2": {kinds: map[string]int64{"cpu": v1, "unified": v2}, files: map[string]string{"unified/cgroup.controllers": "pids memory"}, use: "cpu"},
		"version 2 without memory":           {kinds: map[string]int64{"": v2}, files: map[string]string{"cgroup.controllers": "cpu pids\n"}, why: "controller memory in"},
		"nothing":                            {why: "memory, pids, cpu"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, fsType := machine(t, c.kinds, c.files)
			got := findCgroups(root, fsType)
			assert.Equal(t, c.use, got.use())
			if c.why == "" {
				assert.Empty(t, got.why)
			} else {
				assert.Contains(t, got.why, c.why)
			}
		})
	}
}

// TestConfigText shows what liblxc is told, of which limits are no part.
func TestConfigText(t *testing.T) {
	t.Parallel()
	l := core.Limits{Memory: 64 << 20, Pids: 10, Disk: 8 << 20}
	text := container{vm: "vm", payload: "p", monitor: "m", firstID: 1000, limits: l}.text()
	assert.NotContains(t, text, "lxc.cgroup2.")
	for _, line := range []string{
		"lxc.idmap = u 0 1000 65536", "lxc.idmap = g 0 1000 65536", "lxc.net.0.type = empty", "lxc.no_new_privs = 1",
		"lxc.cgroup.dir.container = p/init", "lxc.cgroup.dir.monitor = m",
		"lxc.mount.entry = tmpfs tmp tmpfs size=8388608,nr_inodes=2048,mode=1777,uid=1000,gid=1000,nosuid,nodev 0 0",
	} {
		assert.Contains(t, text, line+"\n")
	}
}

func TestAccount(t *testing.T) {
	t.Parallel()
	const root, job = "root:x:0:0:root:/:/bin/sh", "job:x:1000:1000:job:/home/job:/bin/sh"
	const box = "box:x:1001:1001:box:/home/job/box:/bin/sh"
	assert.Equal(t, root+"\n"+job+"\n"+box+"\n", account(root+"\nann:x:1000:1000::/:\nbox:x:5:5::/:\nbob:x:1001:1001::/:\n", root, job, box))
	for list, want := range map[string]string{
		"":                                   root + "\n" + job + "\n",
		"root:x:0:0::/root:/bin/bash\n":      "root:x:0:0::/root:/bin/bash\n" + job + "\n",
		root + "\njob:x:7:7::/:/bin/sh\n":    root + "\n" + job + "\n",
		root + "\nubuntu:x:1000:1000::/:\n":  root + "\n" + job + "\n",
		root + "\nno account\nbin:x:2:2::/:": root + "\nbin:x:2:2::/:\n" + job + "\n",
	} {
		assert.Equal(t, want, account(list, root, job))
	}
}

// TestImageFile shows that a link in an image leads nowhere but into it.
func TestImageFile(t *testing.T) {
	t.Parallel()
	image, secret := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("secret"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(image, "etc"), 0o755))
	require.NoError(t, os.Symlink(secret, filepath.Join(image, "etc", "passwd")))
	require.NoError(t, unix.Mkfifo(filepath.Join(image, "etc", "group"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(image, "etc", "hosts"), []byte("plain"), 0o600))
	for name, want := range map[string]string{"etc/passwd": "", "etc/group": "", "etc/hosts": "plain", "etc/none": ""} {
		text, err := imageFile(image, name)
		require.NoError(t, err)
		assert.Equal(t, want, text, name)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	images := oneImage{"/"}
	for name, cfg := range map[string]Config{
		"no run folder": {Images: images}, "no images": {Run: t.TempDir()}, "no processors": {Run: t.TempDir(), Images: images, CPUs: -1},
		"too few users": {Run: t.TempDir(), Images: images, FirstID: 1, IDs: idsEach - 1}, "root's": {Run: t.TempDir(), Images: images, IDs: idsEach},
		"too many users": {Run: t.TempDir(), Images: images, FirstID: 1 << 31, IDs: 1 << 32},
	} {
		_, err := New(cfg)
		assert.True(t, core.Is(err, core.CodeInvalid), "%s: %v", name, err)
	}
	p, err := New(Config{Run: t.TempDir(), Images: images})
	require.NoError(t, err)
	_, err = p.Image(t.Context(), core.DefaultPool("p"))
	assert.True(t, core.Is(err, core.CodeInvalid), "a pool without an image: %v", err)
	require.NoError(t, p.Close())
}
