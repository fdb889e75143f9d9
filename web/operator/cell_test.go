package operator_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
)

// The page of a pool, and the list, say in which cell it is, unless it is the first.
func TestThePagesNameAPoolsCell(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Mini(t))
	require.NotContains(t, w.shows(t, "otto", "/cluster/pools/p1"), "It is in cell")
	p := core.DefaultPool("p2")
	p.Cell = "north"
	require.NoError(t, w.Store.SetPool(t.Context(), p))
	w = w.anew(t)
	require.Contains(t, w.shows(t, "otto", "/cluster/pools"), `<small class="soft">Cell north</small>`)
	require.Contains(t, w.shows(t, "otto", "/cluster/pools/p2"), "It is in cell north, and stays there")
}
