package operator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core/cluster/operate"
)

// A bar shows what there is, however many there may be.
func TestScaleOfBars(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		load  operate.Load
		whole float64
	}{
		"few may be":             {operate.Load{Max: 6, Target: 4, Clean: 3}, 6},
		"far more may be":        {operate.Load{Max: 1000, Target: 4, Clean: 3}, 8},
		"there are more than to": {operate.Load{Max: 1000, Target: 4, Clean: 3, InUse: 9}, 24},
		"more than may be":       {operate.Load{Max: 2, InUse: 5}, 5},
		"nothing":                {operate.Load{}, 1},
	} {
		require.InDelta(t, c.whole, scale(&c.load), 0, name)
	}
	b := bars([]operate.Load{{Max: 1000, Target: 2, Clean: 1, InUse: 1}})[0]
	require.Equal(t, []part{{"good", 0, 25}, {"calm", 25, 25}}, b.Parts)
	require.InDelta(t, 50, b.Mark, 0)
}
