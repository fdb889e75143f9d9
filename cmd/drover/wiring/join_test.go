package wiring

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cluster/join"
	"drover/core/store/sqlite/sqlitetest"
)

// A machine whose token is read by others makes them no other host.
func TestTheTokenOfAnInstanceIsForItsHost(t *testing.T) {
	t.Parallel()
	store := sqlitetest.Open(t)
	joins := &join.Service{Store: store, Groups: func(context.Context) ([]core.HostGroup, error) { return []core.HostGroup{{Name: "spot"}}, nil }}
	_, err := joinSecret(joins)(t.Context(), core.Instance{ID: "i-1", Group: "spot"})
	require.NoError(t, err)
	made, err := store.JoinTokens(t.Context())
	require.NoError(t, err)
	require.Len(t, made, 1)
	require.Equal(t, "i-1", made[0].Host)
	require.Equal(t, 1, made[0].Uses)
}
