package core_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"drover/core"
)

func TestCapacity(t *testing.T) {
	t.Parallel()
	const gib = int64(1) << 30
	whole := core.Size{CPU: 2000, Memory: 8 * gib, Disk: 1000 * gib}
	for name, c := range map[string]struct {
		settings core.HostSettings
		whole    core.Size
		want     core.Size
	}{
		"defaults": {core.HostSettings{}, whole, core.Size{CPU: 8000, Memory: 8*gib - 8*gib/10, Disk: 990 * gib}},
		"a large host keeps no more than 2 GiB of memory": {
			core.HostSettings{}, core.Size{CPU: 1000, Memory: 100 * gib, Disk: 10 * gib}, core.Size{CPU: 4000, Memory: 98 * gib, Disk: 9 * gib},
		},
		"a figure that was not reported is no bound": {
			core.HostSettings{}, core.Size{}, core.Size{CPU: core.Unlimited, Memory: core.Unlimited, Disk: core.Unlimited},
		},
		"all is given away": {
			core.HostSettings{Reserve: &core.Size{}, Overcommit: core.Overcommit{CPU: 1}}, whole, whole,
		},
		"the reserve goes first, and what is left is overcommitted": {
			core.HostSettings{Reserve: &core.Size{CPU: 1000, Memory: 4 * gib, Disk: 900 * gib}, Overcommit: core.Overcommit{CPU: 2, Memory: 1.5, Disk: 1}},
			whole,
			core.Size{CPU: 2000, Memory: 6 * gib, Disk: 100 * gib},
		},
		"a reserve larger than the host": {
			core.HostSettings{Reserve: &core.Size{Memory: 9 * gib}}, whole, core.Size{CPU: 8000, Memory: 0, Disk: 1000 * gib},
		},
	} {
		require.Equal(t, c.want, c.settings.Capacity(c.whole), name)
	}
}

func TestLacks(t *testing.T) {
	t.Parallel()
	has := core.Size{CPU: 1000, Memory: 100, Disk: -1}
	require.Empty(t, has.Lacks(core.Size{CPU: 1000, Memory: 100}), "exactly is enough, and nothing fits where nothing is left")
	require.Equal(t, "memory", has.Lacks(core.Size{Memory: 101, CPU: 9999}))
	require.Equal(t, "disk", has.Lacks(core.Size{Disk: 1}))
	require.Equal(t, "processors", has.Lacks(core.Size{CPU: 1001}))
}

func TestCheckHostSettings(t *testing.T) {
	t.Parallel()
	many := make(map[string]string)
	for range core.MaxHostLabels + 1 {
		many["a"+strings.Repeat("b", len(many))] = "x"
	}
	for text, s := range map[string]core.HostSettings{
		"label":              {Labels: map[string]string{"GPU": "yes"}},
		"value of label gpu": {Labels: map[string]string{"gpu": "y,zone=b"}},
		"labels are more":    {Labels: many},
		"must not be below":  {Reserve: &core.Size{Disk: -1}},
		"overcommit of cpu":  {Overcommit: core.Overcommit{CPU: math.NaN()}},
		"between 1 and 100":  {Overcommit: core.Overcommit{Disk: 101}},
	} {
		err := s.Check("h1")
		require.True(t, core.Is(err, core.CodeInvalid), text)
		require.ErrorContains(t, err, text)
	}
	require.NoError(t, core.HostSettings{Labels: map[string]string{"gpu": "yes"}, Overcommit: core.Overcommit{CPU: 1}}.Check("h1"))
}

func TestLabelsReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching("[a-z0-9]{1,5}")
		labels := rapid.MapOfN(word, word, 0, 5).Draw(t, "labels")
		got, err := core.ParseLabels(core.FormatLabels(labels))
		require.NoError(t, err)
		require.Equal(t, labels, got)
		p := core.Pool{Requires: core.FormatLabels(labels)}
		require.Empty(t, p.Wants(labels))
		for k, v := range labels {
			require.Equal(t, k+"="+v, core.Pool{Requires: k + "=" + v}.Wants(map[string]string{"other": "x"}))
		}
	})
	for _, bad := range []string{"gpu", "gpu=yes,gpu=no", "=", "gpu=YES", "g pu=yes"} {
		_, err := core.ParseLabels(bad)
		require.True(t, core.Is(err, core.CodeInvalid), bad)
	}
}
