package local

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"drover/core"
	"drover/vmfactory/enter"
)

// TestMountsOfTheGround shows which of a host's mounts are part of what VMs see.
func TestMountsOfTheGround(t *testing.T) {
	t.Parallel()
	const table = `21 1 8:1 / / rw - ext4 /dev/a rw
22 21 8:2 / /usr/local rw shared:1 - ext4 /dev/b rw
23 21 8:3 / /usrlocal rw - ext4 /dev/c rw
24 21 0:5 / /proc rw - proc proc rw
25 21 8:4 / /nix/store ro - ext4 /dev/d rw
`
	assert.Equal(t, "22:/usr/local 25:/nix/store", among(table, system))
	assert.Empty(t, among("", system))
}

// onGround returns all steps of a VM whose ground is part of its plan.
func onGround(t *testing.T, s shape, watched bool) []enter.Step {
	t.Helper()
	g := &grounds{watched: watched}
	defer g.close()
	on, err := g.tell("")
	require.NoError(t, err)
	return build(s, on)
}

// TestLayoutShowsNothingWritable reads the plan as a guard would: what is the host's is restricted at once, and comes
// from where it may.
func TestLayoutShowsNothingWritable(t *testing.T) {
	t.Parallel()
	steps := onGround(t, shape{host: "vm", limits: core.DefaultPool("p").Limits, cgroups: []string{"/sys/fs/cgroup/x"}}, false)
	seen, restricted := 0, map[string]bool{}
	for i, s := range steps {
		if s.Do == enter.Restrict {
			restricted[s.Path] = s.Bits&unix.MOUNT_ATTR_RDONLY != 0
		}
		if s.Do != enter.Mount || s.Bits&unix.MS_BIND == 0 {
			continue
		}
		if s.From == "dev/null" || s.From == "proc" { // the VM's own by then
			continue
		}
		seen++
		assert.True(t, within(s.From, append([]string{"/etc", "/dev", "/sys/fs/cgroup"}, slices.Concat(system, databases)...)), s.From)
		for _, secret := range []string{"shadow", "ssh", "sudo", "ssl", "passwd", "machine-id"} {
			assert.NotContains(t, s.From, secret)
		}
		next := steps[i+1]
		assert.Equal(t, enter.Restrict, next.Do, s.From)
		assert.Equal(t, s.Path, next.Path)
		assert.NotZero(t, next.Bits&unix.MOUNT_ATTR_RDONLY, s.From)
		assert.NotZero(t, next.Bits&unix.MOUNT_ATTR_NOSUID, s.From)
		assert.True(t, next.Deep, s.From)
	}
	assert.Greater(t, seen, len(devices))
	assert.Equal(t, enter.Pivot, steps[len(steps)-1].Do)
	assert.True(t, restricted["."], "the root folder")
	assert.True(t, restricted["run/vm"], "the VM's own files")
}

// TestLaidGroundIsAll shows that the root folder of a spawner's namespace has the ground, and of the host only what VMs
// need while they start; and that its VMs mount nothing of the host.
func TestLaidGroundIsAll(t *testing.T) {
	t.Parallel()
	var g grounds
	defer g.close()
	on, err := g.tell("")
	require.NoError(t, err)
	steps := on.lay()
	assert.Equal(t, enter.Pivot, steps[len(steps)-1].Do)
	var outside []string
	for _, s := range steps {
		if s.Do == enter.Chdir && s.Path == "tmp" { // into the ground, which another test reads
			break
		}
		if s.Do == enter.Mount {
			outside = append(outside, s.From+" at "+s.Path)
		}
	}
	assert.Equal(t, []string{"none at /", "tmpfs at /tmp", "/proc at proc", "/sys/fs/cgroup at sys/fs/cgroup", "tmpfs at tmp"}, outside)
	for _, s := range build(shape{host: "vm", limits: core.DefaultPool("p").Limits, cgroups: []string{"/sys/fs/cgroup/x"}, laid: true}, on) {
		if s.Do == enter.Mount && strings.HasPrefix(s.From, "/") {
			assert.Contains(t, []string{base, "/sys/fs/cgroup/x"}, s.From)
		}
	}
}

// TestGroundIsToldAnew shows that the ground changes with what it was put together from, and only then.
func TestGroundIsToldAnew(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "drover-agent")
	require.NoError(t, os.WriteFile(program, nil, 0o600))
	var g grounds
	defer g.close()
	first, err := g.tell(program)
	require.NoError(t, err)
	again, err := g.tell(program)
	require.NoError(t, err)
	assert.Equal(t, first.key, again.key)
	require.NoError(t, os.Chtimes(program, time.Time{}, time.Unix(1, 0)))
	replaced, err := g.tell(program)
	require.NoError(t, err)
	assert.NotEqual(t, first.key, replaced.key)
	without, err := g.tell("")
	require.NoError(t, err)
	assert.Less(t, len(without.parts), len(replaced.parts), "without drover-run")
	_, err = g.tell("/not/there")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestLayoutBoundsPlaces(t *testing.T) {
	t.Parallel()
	limits := core.DefaultPool("p").Limits
	limits.Disk = 20 << 20
	places := map[string]string{}
	for _, s := range onGround(t, shape{host: "vm", limits: limits}, false) {
		if s.Type == "tmpfs" {
			places[s.Path] = s.Text
			assert.Equal(t, uint64(tmpfsFlags), s.Bits, s.Path)
		}
	}
	assert.Len(t, places, 5)
	assert.Contains(t, places["tmp"], "size=20971520,nr_inodes=5120,mode=1777,uid=1000,gid=1000")
	assert.Contains(t, places["home/job"], "size=20971520,nr_inodes=5120,mode=755,uid=1000,gid=1000")
	assert.Contains(t, places["dev/shm"], "size=16777216,")
	assert.Contains(t, places["run/vm"], "size=65536,nr_inodes=2048,mode=755,uid=0,gid=0")
	assert.Contains(t, places["/tmp"], "size=1048576,nr_inodes=512", "the root folder, put together there")
}

// Where a watchdog holds memory, none is to be had by mapping a device.
func TestLayoutOfZero(t *testing.T) {
	t.Parallel()
	for watched, want := range map[bool]string{false: "/dev/zero", true: "/dev/full"} {
		var from []string
		for _, s := range onGround(t, shape{host: "vm", limits: core.DefaultPool("p").Limits}, watched) {
			if s.Path == "dev/zero" && s.Do == enter.Mount {
				from = append(from, s.From)
			}
		}
		assert.Equal(t, []string{want}, from)
	}
}

func TestLayoutMakesFoldersOnce(t *testing.T) {
	t.Parallel()
	var l layout
	l.folder("/a/b/c")
	l.folder("a/b")
	l.text("/a/b/x", "")
	var made []string
	for _, s := range l.steps {
		made = append(made, string(s.Do)+" "+s.Path)
	}
	assert.Equal(t, "mkdir a,mkdir a/b,mkdir a/b/c,write a/b/x", strings.Join(made, ","))
}

func TestStray(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		to, real string
		want     bool
	}{
		"another disk":         {"/data/local", "/data/local", true},
		"by way of a link":     {"/data/local", "/mnt/disk2/local", true},
		"inside the system":    {"/usr/share/man", "/usr/share/man", false},
		"a home":               {"/data/local", "/home/me/local", false},
		"root's":               {"/root/local", "/root/local", false},
		"everything":           {"/", "/", false},
		"everything, cleverly": {"/data/all", "/", false},
	} {
		assert.Equal(t, c.want, stray(c.to, c.real), name)
	}
}
