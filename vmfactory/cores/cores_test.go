package cores

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// host makes a /sys with these threads of each core.
func host(t *testing.T, may func(int) bool, siblings ...string) *Host {
	t.Helper()
	sys := t.TempDir()
	for cpu, threads := range siblings {
		at := filepath.Join(sys, "devices/system/cpu", "cpu"+strconv.Itoa(cpu), "topology")
		require.NoError(t, os.MkdirAll(at, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(at, "thread_siblings_list"), []byte(threads+"\n"), 0o600))
	}
	return find(sys, may)
}

func upTo(n int) func(int) bool { return func(cpu int) bool { return cpu < n } }

// A VM has one thread of each of its cores, no two share a core, and the first core is left free.
func TestEachVMHasCoresOfItsOwn(t *testing.T) {
	t.Parallel()
	h := host(t, upTo(8), "0,4", "1,5", "2,6", "3,7", "0,4", "1,5", "2,6", "3,7")
	require.Equal(t, 4, h.Number())
	require.True(t, h.Spare())
	var taken []int
	take := func(n int) (got []int) {
		require.NoError(t, h.Take(n, func() ([]int, error) { return taken, nil }, func(cpus []int) error {
			got = cpus
			return nil
		}))
		taken = append(taken, got...)
		return got
	}
	require.Equal(t, []int{1}, take(1))
	require.Equal(t, []int{2, 3}, take(2))
	require.Equal(t, []int{1}, take(0), "where there are more VMs than cores, those that the fewest have")
	taken = []int{1, 2}
	require.Equal(t, []int{3}, take(1))
	require.Equal(t, []int{1, 2, 3}, take(9), "never the first")
	fault := errors.New("unreadable")
	require.ErrorIs(t, h.Take(1, func() ([]int, error) { return nil, fault }, nil), fault)
}

// What this process may not use is not given away, and a host with few cores, or of which they are not known, gives none.
func TestAHostWithoutCoresToSpare(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]*Host{
		"two cores":                       host(t, upTo(2), "0", "1"),
		"two cores with two threads each": host(t, upTo(4), "0-1", "0-1", "2-3", "2-3"),
		"it may use two of four":          host(t, func(cpu int) bool { return cpu == 1 || cpu == 3 }, "0", "1", "2", "3"),
		"threads of a core are not known": host(t, upTo(8)),
		"nobody has looked":               {},
	} {
		require.False(t, h.Spare(), name)
		require.NoError(t, h.Take(1, nil, func(cpus []int) error {
			require.Empty(t, cpus, name)
			return nil
		}), name)
	}
	require.Equal(t, []int{1, 3}, host(t, func(cpu int) bool { return cpu == 1 || cpu == 3 }, "0", "1", "2", "3").first)
}
