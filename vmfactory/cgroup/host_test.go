package cgroup

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"drover/core"
	"drover/core/agent/wire"
)

const (
	v1 = unix.CGROUP_SUPER_MAGIC
	v2 = unix.CGROUP2_SUPER_MAGIC
)

// machine makes a folder of cgroups as a kind of machine has it: folder → its file
// system, and file → what it says. Paths of other folders are of no cgroups.
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
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return root, func(path string) int64 { return known[path] }
}

// hybrid is a machine with controllers in both versions.
func hybrid(t *testing.T, has string, kinds map[string]int64) Host {
	t.Helper()
	kinds["unified"] = v2
	root, fsType := machine(t, kinds, map[string]string{"unified/cgroup.controllers": has + "\n"})
	return Find(root, fsType)
}

func TestFind(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kinds    map[string]int64
		files    map[string]string
		one, two []string
		tops     int
	}{
		"version 1": {kinds: map[string]int64{"memory": v1, "pids": v1, "cpu": v1, "freezer": v1, "systemd": v1}, one: Controllers(), tops: 5},
		"both, version 2 without controllers": {
			kinds: map[string]int64{"memory": v1, "pids": v1, "cpu": v1, "unified": v2}, files: map[string]string{"unified/cgroup.controllers": "hugetlb\n"},
			one: Controllers(), tops: 4,
		},
		"version 2": {kinds: map[string]int64{"": v2}, files: map[string]string{"cgroup.controllers": "cpuset cpu io memory pids\n"}, two: Controllers(), tops: 1},
		"both, memory and pids in version 2": {
			kinds: map[string]int64{"cpu": v1, "unified": v2}, files: map[string]string{"unified/cgroup.controllers": "pids memory\n"},
			one: []string{CPU}, two: []string{Memory, Pids}, tops: 2,
		},
		"both, pids in version 2": {
			kinds: map[string]int64{"cpu": v1, "memory": v1, "unified": v2}, files: map[string]string{"unified/cgroup.controllers": "pids\n"},
			one: []string{Memory, CPU}, two: []string{Pids}, tops: 3,
		},
		"a folder that is no controller": {kinds: map[string]int64{"cpu": 0, "unified": v2}, files: map[string]string{"unified/cgroup.controllers": "pids\n"}, two: []string{Pids}, tops: 1},
		"nothing":                        {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, fsType := machine(t, c.kinds, c.files)
			got := Find(root, fsType)
			assert.ElementsMatch(t, c.one, got.Of(1))
			assert.ElementsMatch(t, c.two, got.Of(2))
			assert.Len(t, got.Tops(), c.tops)
			assert.Len(t, got.Missing(), len(Controllers())-len(c.one)-len(c.two))
		})
	}
}

func TestBelow(t *testing.T) {
	t.Parallel()
	h := hybrid(t, "memory pids", map[string]int64{"cpu": v1})
	below := h.Below("a/b", []string{Pids})
	assert.Equal(t, []string{Memory}, below.Missing(), "it is not passed on")
	assert.Equal(t, []string{filepath.Join(h.V2(), "a/b"), filepath.Join(filepath.Dir(h.V2()), "cpu")}, below.Folders())
	assert.Equal(t, []string{CPU}, h.Below("", nil).Of(1))
	assert.Empty(t, h.Below("", nil).Of(2))
}

// kernel stands for what a kernel does when a cgroup is made: its files are there.
func kernel(t *testing.T, files map[string]string) {
	t.Helper()
	for path, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text+"\n"), 0o600))
	}
}

// TestHybrid has each controller of a VM where it is, by the names of its version.
func TestHybrid(t *testing.T) {
	t.Parallel()
	limits := core.Limits{Memory: 64<<20 + 1, Pids: 10}
	most := strconv.Itoa(64<<20 + wire.AgentMemory) // in whole pages
	for name, c := range map[string]struct {
		has          string
		kinds        map[string]int64
		whole, inner map[string]string // file, from the folder of all hierarchies → what it says
		controls     []int             // which are open
		bad          string            // one of the files that says too much
	}{
		"memory and pids in version 2": {
			has: "memory pids", kinds: map[string]int64{"cpu": v1},
			whole: map[string]string{
				"unified/vm/memory.max": most, "unified/vm/memory.swap.max": "0", "unified/vm/pids.max": "74",
				"cpu/vm/cpu.cfs_period_us": "100000", "cpu/vm/cpu.cfs_quota_us": "50000",
			},
			inner: map[string]string{
				"unified/vm/job/memory.max": "67108864", "unified/vm/job/pids.max": "26",
			},
			controls: []int{6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, bad: "unified/vm/job/memory.max",
		},
		"pids in version 2": {
			has: "pids", kinds: map[string]int64{"cpu": v1, "memory": v1},
			whole: map[string]string{
				"memory/vm/memory.limit_in_bytes": most, "memory/vm/memory.memsw.limit_in_bytes": most, "unified/vm/pids.max": "74",
				"cpu/vm/cpu.cfs_period_us": "100000", "cpu/vm/cpu.cfs_quota_us": "50000",
			},
			inner: map[string]string{
				"memory/vm/job/memory.limit_in_bytes": "67108864", "unified/vm/job/pids.max": "26",
			},
			controls: []int{0, 3, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, bad: "unified/vm/pids.max",
		},
		"processors in version 2": {
			has: "cpu", kinds: map[string]int64{"pids": v1, "memory": v1},
			whole: map[string]string{"memory/vm/memory.limit_in_bytes": most, "pids/vm/pids.max": "74", "unified/vm/cpu.max": "50000 100000"},
			inner: map[string]string{
				"memory/vm/job/memory.limit_in_bytes": "67108864", "pids/vm/job/pids.max": "26",
			},
			controls: []int{0, 1, 3, 4, 9, 10, 11, 12, 13, 14, 15}, bad: "unified/vm/cpu.max",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := hybrid(t, c.has, c.kinds)
			root := filepath.Dir(h.V2())
			g := h.At("vm", true)
			files := map[string]string{}
			for _, all := range []map[string]string{c.whole, c.inner} {
				for file, text := range all {
					files[filepath.Join(root, file)] = text
				}
			}
			require.ErrorIs(t, g.InForce(limits, 0.5), os.ErrNotExist)
			kernel(t, files)
			require.ErrorContains(t, g.InForce(limits, 0.5), "/job/own")
			for _, name := range g.inner() {
				require.NoError(t, os.MkdirAll(g.own(name), 0o755))
			}
			require.NoError(t, g.InForce(limits, 0.5))
			kernel(t, map[string]string{filepath.Join(root, c.bad): "max"})
			require.ErrorContains(t, g.InForce(limits, 0.5), c.bad)

			for _, folder := range []string{
				"memory/vm/job", "memory/vm/job/own", "pids/vm/job", "pids/vm/job/own", "unified/vm/job", "unified/vm/job/all", "unified/vm/job/own", "unified/vm/agent", "unified/vm", "cpu/vm",
			} {
				at := filepath.Join(root, folder)
				kernel(t, map[string]string{
					at + "/tasks": "", at + "/cgroup.procs": "4242", at + "/memory.peak": "0", at + "/memory.max_usage_in_bytes": "0",
				})
				for _, top := range []string{filepath.Join(root, "memory"), h.V2(), at} {
					kernel(t, map[string]string{top + "/" + cacheFile1: "", top + "/" + cacheFile2: ""})
				}
				if filepath.Base(at) == ownName { // without limits until the agent sets some
					kernel(t, map[string]string{at + "/memory.max": "max", at + "/memory.limit_in_bytes": "-1", at + "/pids.max": "max"})
				}
			}
			controls, err := g.Controls()
			require.NoError(t, err)
			var open []int
			for i, fd := range controls {
				if fd >= 0 {
					open = append(open, i)
					require.NoError(t, unix.Close(fd))
				}
			}
			assert.Equal(t, c.controls, open)
			folders, usage := g.Usage("/u")
			for _, seen := range []string{usage.MemoryPeak, usage.MemoryEvents, usage.PidsEvents, usage.MemoryAll, usage.MemoryJob, usage.Own.MemoryPeak, usage.Own.MemoryStat, usage.Own.PidsEvents} {
				require.Regexp(t, `^/u/[01]/`, seen)
				assert.DirExists(t, filepath.Join(folders[seen[3]-'0'], filepath.Dir(seen[4:])), seen)
			}
		})
	}
}
