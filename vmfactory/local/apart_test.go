package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/vmfactory/cgroup"
	"drover/vmfactory/providertest"
	"drover/vmfactory/trace"
)

// TestCutNotes destroys VMs whose notes were cut when the machine lost its power, at
// every length, and all that lives of them.
func TestCutNotes(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]func(text string) string{
		"empty":       func(string) string { return "" },
		"begun":       func(text string) string { return text[:1] },
		"in a number": func(text string) string { return text[:len(`{"pid":1`)] },
		"in a name":   func(text string) string { return text[:len(text)/2] },
		"at its end":  func(text string) string { return text[:len(text)-1] },
		"not written": func(text string) string { return strings.Repeat("\x00", len(text)) },
	} {
		for _, file := range []string{trace.FirstFile, trace.RecordFile} {
			t.Run(name+" "+file, func(t *testing.T) {
				t.Parallel()
				p := open(t, Config{Run: t.TempDir()})
				providertest.Need(t, p.cgroups.any(), "cgroups, by which processes are found that are not noted")
				who := started(t, p, "vm")
				path := filepath.Join(p.traces.Path("vm"), file)
				text, err := os.ReadFile(path)
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(path, []byte(cut(string(text))), 0o600))
				assert.True(t, core.Is(p.Check(t.Context(), "vm"), core.CodeBadVM))
				require.NoError(t, p.Destroy(t.Context(), "vm"))
				assert.False(t, isAlive(t, who))
				all, err := p.List(t.Context())
				require.NoError(t, err)
				assert.Empty(t, all)
			})
		}
	}
}

// TestFoldersShareNoUsers has two run folders look for users at the same place.
func TestFoldersShareNoUsers(t *testing.T) {
	t.Parallel()
	one, two := open(t, Config{Run: t.TempDir()}), open(t, Config{Run: t.TempDir()})
	providertest.Need(t, one.owners.mode != singleMode && one.cgroups.any(), "users to lend, and cgroups")
	started(t, one, "vm")
	r, err := one.traces.Read("vm")
	require.NoError(t, err)
	assert.True(t, two.others()[r.Place])
	assert.False(t, one.others()[r.Place], "its own are known to it")

	require.NoError(t, two.traces.Keep(trace.Record{VM: "late", Provider: Name, Pool: core.DefaultPool("p"), Place: r.Place}))
	two.traces.Places = nil
	require.NoError(t, two.traces.Sweep())
	assert.True(t, core.Is(two.Prepare(t.Context(), "late"), core.CodeBadVM), "who looked at the same moment")
	require.NoError(t, two.Destroy(t.Context(), "late"))
}

func TestHaving(t *testing.T) {
	t.Parallel()
	ranged := owners{mode: rangeMode, uids: extent{1000, 9}, gids: extent{1000, 9}}
	lent := owners{mode: subidMode, uids: extent{1000, 12}, gids: extent{1000, 12}}
	for name, c := range map[string]struct {
		o    owners
		u    cgroup.Users
		want []int
	}{
		"an agent":          {ranged, cgroup.Users{First: 1003, Count: 1}, []int{1}},
		"its job":           {ranged, cgroup.Users{First: 1004, Count: 1}, []int{1}},
		"its box":           {ranged, cgroup.Users{First: 1005, Count: 1}, []int{1}},
		"below":             {ranged, cgroup.Users{First: 0, Count: 1000}, nil},
		"above":             {ranged, cgroup.Users{First: 1009, Count: 5}, nil},
		"all, and more":     {ranged, cgroup.Users{First: 0, Count: 1 << 32}, []int{0, 1, 2}},
		"lent":              {lent, cgroup.Users{First: 1010, Count: 1}, []int{5}},
		"lent, a box":       {lent, cgroup.Users{First: 1011, Count: 1}, []int{5}},
		"lent, from itself": {lent, cgroup.Users{First: 42, Count: 1}, nil},
	} {
		assert.Equal(t, c.want, c.o.having(c.u), name)
	}
}
