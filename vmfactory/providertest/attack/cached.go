package attack

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"drover/core"
	"drover/core/agent"
	"drover/vmfactory/providertest"
	"drover/vmfactory/providertest/probe"
)

// set is what one job brings a random half of into the host's caches, and another one tells apart if it can.
type set struct {
	target probe.Target // with the bits of the half
}

const items = 400

// newSet returns a set that nobody has touched, with the pages of the n-th large file if there is one.
func (s *scene) newSet(t *testing.T, n int) set {
	t.Helper()
	var files []string
	if large := s.largeFiles(t); len(large) > 0 {
		one := large[n%len(large)]
		evict(t, one)
		files = []string{one.path}
	}
	return newSet(files)
}

func newSet(files []string) set {
	bits := []byte(strings.Repeat("01", items/2))
	rand.Shuffle(items, func(i, j int) { bits[i], bits[j] = bits[j], bits[i] })
	return set{probe.Target{Marker: providertest.Name(), Files: files, Folders: []string{"/usr"}, Bits: string(bits)}}
}

// file is a file that VMs see.
type file struct {
	path  string
	image bool // the host has another one there, or none
}

// evict takes the pages of a file out of the host's memory.
func evict(t *testing.T, one file) {
	t.Helper()
	if one.image {
		const pages = "1"
		require.NoError(t, os.WriteFile(dropCaches, []byte(pages), 0))
		return
	}
	f, err := os.Open(one.path)
	require.NoError(t, err)
	require.NoError(t, unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED))
	require.NoError(t, f.Close())
}

// largeFiles returns the largest files of the system that VMs see.
func (s *scene) largeFiles(t *testing.T) []file {
	t.Helper()
	v := s.Armed(t, providertest.Pool())
	o := v.Probe(t, "large-files", probe.Target{})
	s.end(t, v)
	var all []file
	for line := range strings.Lines(strings.TrimSuffix(o.Stdout, probe.Held)) {
		inode, path, _ := strings.Cut(strings.TrimSpace(line), " ")
		var st unix.Stat_t
		all = append(all, file{path, unix.Stat(path, &st) != nil || strconv.FormatUint(st.Ino, 10) != inode})
	}
	return all
}

// distinguished lists by which of a reader's measurements the half can be told from the rest, better than by chance.
func (s set) distinguished(t *testing.T, who, stdout string) []string {
	t.Helper()
	require.True(t, strings.HasSuffix(stdout, probe.Held), "%s", stdout)
	var leaks []string
	for line := range strings.Lines(strings.TrimSuffix(stdout, probe.Held)) {
		what, numbers, ok := strings.Cut(line, " = ")
		require.True(t, ok, "%s", line)
		var values []float64
		for _, word := range strings.Fields(numbers) {
			n, err := strconv.ParseFloat(word, 64)
			require.NoError(t, err)
			values = append(values, n)
		}
		z := rankSum(s.target.Bits, values)
		t.Logf("%s, %s: %.1f standard deviations from chance", who, what, z)
		if math.Abs(z) > surely {
			leaks = append(leaks, fmt.Sprintf("%s tells %s", who, what))
		}
	}
	return leaks
}

// surely is how many standard deviations are no chance: fewer than one in a million tests err.
const surely = 5

// rankSum is the test of Wilcoxon, Mann and Whitney: how many standard deviations the ranks of the values whose bit is 1
// are from where chance would have them.
func rankSum(bits string, values []float64) float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case values[a] < values[b]:
			return -1
		case values[a] > values[b]:
			return 1
		}
		return 0
	})
	var sum, ones, ties float64
	all := float64(len(values))
	for from := 0; from < len(order); {
		to := from
		for to < len(order) && values[order[to]] == values[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			if bits[i] == '1' {
				ones++
				sum += float64(from+to+1) / 2
			}
		}
		same := float64(to - from)
		ties += same*same*same - same
		from = to
	}
	variance := ones * (all - ones) / 12 * (all + 1 - ties/(all*(all-1)))
	if !(variance > 0) {
		return 0 // all are alike, or there are none
	}
	return (sum - ones*(all+1)/2) / math.Sqrt(variance)
}

// lockCaches keeps other tests from dropping caches, which would hide what is told.
func lockCaches(t *testing.T) (free func()) {
	t.Helper()
	free, err := lock(cachesLock, unix.LOCK_SH)
	require.NoError(t, err)
	return free
}

// laterTells has a test, a run in the box and a VM touch a half of a set, and a later one tell it.
func laterTells(t *testing.T, s *scene) []string {
	t.Helper()
	free := lockCaches(t)
	defer free()
	leaks := probeAt("cached")(t, s)
	pool := providertest.Pool()
	pool.Limits.Disk, pool.Limits.FileSize = 160<<20, 160<<20 // of the state that holds the probe
	v := s.Armed(t, pool)
	require.NoError(t, v.Keep(t.Context(), "probe"))
	run := func(v providertest.VM, name string, target probe.Target, run agent.Run) string {
		run.Args = v.ProbeArgs(name, target)
		o := v.Start(t, run)
		require.Zero(t, o.Code, "%+v", o)
		return o.Stdout
	}
	test := agent.Run{Share: core.Limits{Memory: pool.Limits.Memory / 2}}
	first := s.newSet(t, 0)
	run(v, "touch-items", first.target, test)
	require.NoError(t, v.Reset(t.Context(), "probe"))
	leaks = append(leaks, first.distinguished(t, "a later test", run(v, "measure-items", first.target, test))...)

	second := s.newSet(t, 1)
	run(v, "touch-items", second.target, agent.Run{})
	s.end(t, v)
	v = s.Armed(t, pool)
	leaks = append(leaks, second.distinguished(t, "a later VM", run(v, "measure-items", second.target, agent.Run{}))...)

	third := s.newSet(t, 2)
	o := v.Harness(t, harnessScript+"run -- "+quoted("touch-items", third.target)+" >/dev/null\nrun -- "+quoted("measure-items", third.target)+"\n")
	require.Zero(t, o.Code, "%+v", o)
	leaks = append(leaks, third.distinguished(t, "a later run in the box", o.Stdout)...)
	v.Alive(t)
	s.end(t, v)
	return leaks
}

// neighbourTells has a VM touch a half of a set, and another one tell it while the first one runs.
func neighbourTells(t *testing.T, s *scene) []string {
	t.Helper()
	free := lockCaches(t)
	defer free()
	set := s.newSet(t, 3)
	pool := providertest.Pool()
	v, other := s.Armed(t, pool), s.Armed(t, pool)
	holding := set.target
	holding.PID = 1
	var leaks []string
	s.holding(t, v, "touch-items", holding, func() {
		leaks = set.distinguished(t, "a VM beside it", other.Probe(t, "measure-items", set.target).Stdout)
	})
	s.end(t, other)
	return leaks
}
