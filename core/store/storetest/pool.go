package storetest

import (
	"fmt"
	"testing"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

func pools(t *testing.T, s school.ResultStore) {
	all, err := s.Pools(t.Context())
	require.NoError(t, err)
	require.Empty(t, all)
	b, a := core.DefaultPool("b"), core.DefaultPool("a")
	require.NoError(t, s.PutPool(t.Context(), b))
	require.NoError(t, s.PutPool(t.Context(), a))
	b.Paused, b.Warm = true, 3
	require.NoError(t, s.PutPool(t.Context(), b))
	all, err = s.Pools(t.Context())
	require.NoError(t, err)
	require.Equal(t, []core.Pool{a, b}, all)

	bad := core.DefaultPool("a")
	bad.Name = "A"
	requireCode(t, core.CodeInvalid, s.PutPool(t.Context(), bad))
	together(t, core.PoolQuota.Most-2, func(i int) error { return s.PutPool(t.Context(), core.DefaultPool(fmt.Sprintf("p%d", i))) })
	requireCode(t, core.CodeLimit, s.PutPool(t.Context(), core.DefaultPool("one-too-many")))
	require.NoError(t, s.PutPool(t.Context(), b), "those that are there can still be set")
}
