package sqlitetest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/store/sqlite/sqlitetest"
	"drover/core/store/storetest"
)

// Stores are empty, apart, and can be told from each other.
func TestOpen(t *testing.T) {
	t.Parallel()
	a, b := sqlitetest.Open(t), sqlitetest.Open(t)
	_, _, err := a.Create(t.Context(), storetest.Spec("ann"))
	require.NoError(t, err)
	rows, err := b.List(t.Context(), core.Filter{})
	require.NoError(t, err)
	require.Empty(t, rows)
	inA, err := a.ID(t.Context())
	require.NoError(t, err)
	inB, err := b.ID(t.Context())
	require.NoError(t, err)
	require.Len(t, inB, len(inA))
	require.NotEqual(t, inA, inB)
}
