package local

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent/wire"
	"drover/vmfactory/confine"
	"drover/vmfactory/trace"
)

func TestUnusedRange(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want extent
		code core.Code
	}{
		"a host":              {text: "         0          0 4294967295\n", want: extent{rangeStart, rangeEnd - rangeStart}},
		"a container":         {text: "0 100000 65536\n", want: extent{32768, 32767}},
		"of several pieces":   {text: "0 1000 1\n1 100000 65536\n", want: extent{32769, 32767}},
		"a very small one":    {text: "0 1000 1\n", code: core.CodeUnavailable},
		"no map that we know": {text: "what\n", code: core.CodeUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "uid_map")
			require.NoError(t, os.WriteFile(path, []byte(c.text), 0o600))
			got, err := unusedRange(path)
			assert.Equal(t, c.code, core.CodeOf(err))
			assert.Equal(t, c.want, got)
		})
	}
}

func TestLent(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "subuid")
	text := fmt.Sprintf("somebody:1:65536\n%d:5000:10\nbroken\n%d:6000:x\n%d:7000:20\n", os.Geteuid(), os.Geteuid(), os.Geteuid())
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	got, err := lent(path, "sh")
	require.NoError(t, err)
	assert.Equal(t, extent{7000, 20}, got, "the most of what is this user's")
	got, err = lent(path, "no-such-program")
	require.NoError(t, err)
	assert.Zero(t, got)
	got, err = lent(path+"-not", "sh")
	require.NoError(t, err)
	assert.Zero(t, got)
}

// TestPlaces shows that no two VMs of a run folder have a user in common.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]owners{
		"range": {mode: rangeMode, uids: extent{1000, 96}, gids: extent{1000, 97}},
		"subid": {mode: subidMode, uids: extent{1000, 64}, gids: extent{5000, 70}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &Provider{owners: o, traces: trace.Set{Run: t.TempDir(), Provider: Name}}
			require.NoError(t, p.traces.Sweep())
			users := map[int]string{}
			for i := range 32 {
				id := fmt.Sprint("vm-", i)
				place, err := p.takePlace(id)
				require.NoError(t, err)
				again, err := p.takePlace(id)
				require.NoError(t, err)
				assert.Equal(t, place, again, "the same VM keeps its place")
				uids, gids := o.maps(place)
				require.Len(t, uids, 3)
				for i := 1; i < 3; i++ { // user code, and the box
					user, group := uids[i].outside, gids[i].outside
					assert.Empty(t, users[user], "user %d", user)
					users[user] = id
					assert.Less(t, user, o.uids.start+o.uids.count)
					assert.Less(t, group, o.gids.start+o.gids.count)
					assert.NotEqual(t, uids[0].outside, user, "neither is the agent")
				}
			}
			_, err := p.takePlace("one-more")
			assert.True(t, core.Is(err, core.CodeFull))
			p.traces.Places.Free("vm-7")
			_, err = p.takePlace("one-more")
			require.NoError(t, err)
		})
	}
}

// What keeps a submission from its harness is told, and what is weaker.
func TestReach(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode     mode
		landlock int
		by, says string
	}{
		"root":                {rangeMode, 0, wire.HeldByUser, "drover-run"},
		"newuidmap":           {subidMode, 0, wire.HeldByUser, "drover-run"},
		"a user":              {singleMode, confine.LandlockScopes, wire.HeldByLandlock, "modes and times"},
		"a user, old kernel":  {singleMode, 1, wire.HeldByLandlock, "signal"},
		"a user, no Landlock": {singleMode, 0, "", "lsm="},
	} {
		l := owners{mode: c.mode}.reach(c.landlock)
		assert.Equal(t, c.by, l.HeldBy, name)
		assert.Contains(t, l.Note, c.says, name)
	}
}
