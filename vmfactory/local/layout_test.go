package local

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"drover/core"
	"drover/vmfactory/enter"
)

// TestLayoutShowsNothingWritable reads the plan as a guard would: what is the
// host's is restricted at once, and comes from where it may.
func TestLayoutShowsNothingWritable(t *testing.T) {
	t.Parallel()
	steps, err := build(shape{host: "vm", limits: core.DefaultPool("p").Limits, cgroups: []string{"/sys/fs/cgroup/x"}})
	require.NoError(t, err)
	seen := 0
	for i, s := range steps {
		if s.Do != enter.Mount || s.Bits&unix.MS_BIND == 0 {
			continue
		}
		if s.From == "dev/null" || s.From == "proc" { // the VM's own by then
			continue
		}
		seen++
		assert.True(t, within(s.From, append([]string{"/etc", "/dev", "/sys/fs/cgroup"}, system...)), s.From)
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
	assert.Equal(t, enter.Pivot, steps[len(steps)-2].Do)
	assert.Equal(t, enter.Step{Do: enter.Restrict, Path: "/", Bits: readOnly | unix.MOUNT_ATTR_NODEV}, steps[len(steps)-1])
}

func TestLayoutBoundsPlaces(t *testing.T) {
	t.Parallel()
	limits := core.DefaultPool("p").Limits
	limits.Disk = 20 << 20
	steps, err := build(shape{host: "vm", limits: limits})
	require.NoError(t, err)
	places := map[string]string{}
	for _, s := range steps {
		if s.Type == "tmpfs" {
			places[s.Path] = s.Text
			assert.Equal(t, uint64(tmpfsFlags), s.Bits, s.Path)
		}
	}
	assert.Len(t, places, 4)
	assert.Contains(t, places["tmp"], "size=20971520,nr_inodes=5120,mode=1777,uid=1000,gid=1000")
	assert.Contains(t, places["home/job"], "size=20971520,nr_inodes=5120,mode=755,uid=1000,gid=1000")
	assert.Contains(t, places["dev/shm"], "size=16777216,")
	assert.Contains(t, places["/tmp"], "size=1048576,nr_inodes=512", "the root folder, put together there")
}

// Where a watchdog holds memory, none is to be had by mapping a device.
func TestLayoutOfZero(t *testing.T) {
	t.Parallel()
	for watched, want := range map[bool]string{false: "/dev/zero", true: "/dev/full"} {
		steps, err := build(shape{host: "vm", limits: core.DefaultPool("p").Limits, watched: watched})
		require.NoError(t, err)
		var from []string
		for _, s := range steps {
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
