package drill

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
)

func TestWhatComesOrGoesIsNoDisagreement(t *testing.T) {
	t.Parallel()
	noted := []core.VMInfo{
		{ID: "both", State: core.VMClean},
		{ID: "new", State: core.VMClean},
		{ID: "old", State: core.VMDirty},
		{ID: "making", State: core.VMCreating},
		{ID: "ending", State: core.VMDestroying},
		{ID: "lost", State: core.VMClean},
	}
	require.Equal(t, []string{"lost of h1 is not there", "stray on h1 is not in Redis"},
		disagree("h1", []string{"both", "old", "gone", "stray"}, noted, []string{"both", "new", "made", "stray"}))
}
