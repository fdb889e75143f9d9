package storetest

import (
	"testing"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

// id shows that nothing changes a store's id.
func id(t *testing.T, s school.ResultStore) {
	first := mustID(t, s)
	require.NoError(t, core.CheckName("store", first))
	spec := mustCreate(t, s, Spec("ann"))
	mustRecord(t, s, Result(spec, "1.1"), true)
	_, err := s.Purge(t.Context(), soon(), 10)
	require.NoError(t, err)
	require.Equal(t, first, mustID(t, s))
}

// bindings are made once, and moved on purpose only.
func bindings(t *testing.T, s school.ResultStore) {
	its, err := s.Bindings(t.Context())
	require.NoError(t, err)
	require.Empty(t, its)
	for _, c := range []struct {
		kind core.Binding
		id   string
		move bool
		want string
	}{
		{core.BindBlobs, "b", false, "b"},
		{core.BindBlobs, "c", false, "b"},
		{core.BindNamespace, "drover", true, "drover"},
		{core.BindBlobs, "c", true, "c"},
		{core.BindBlobs, "c", false, "c"},
	} {
		now, err := s.PutBinding(t.Context(), c.kind, c.id, c.move)
		require.NoError(t, err)
		require.Equal(t, c.want, now, "%+v", c)
	}
	its, err = s.Bindings(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[core.Binding]string{core.BindBlobs: "c", core.BindNamespace: "drover"}, its)
}

// Identity shows that a store has the same id however often it is opened, also by several at once that all find it
// new, and that another store has another id. Open opens the n-th store; the test closes it.
func Identity(t *testing.T, open func(n int) (school.ResultStore, error)) {
	t.Helper()
	var stores [6]school.ResultStore
	var ids [len(stores)]string
	together(t, len(stores), func(i int) (err error) {
		if stores[i], err = open(i % 2); err == nil {
			ids[i], err = stores[i].ID(t.Context())
		}
		return err
	})
	for i, s := range stores {
		require.Equal(t, ids[i%2], ids[i])
		require.NoError(t, s.Close())
	}
	require.NotEqual(t, ids[0], ids[1])
	for n := range 2 {
		s, err := open(n)
		require.NoError(t, err)
		require.Equal(t, ids[n], mustID(t, s), "after it was closed by all")
		require.NoError(t, s.Close())
	}
}

func mustID(t *testing.T, s school.ResultStore) string {
	t.Helper()
	id, err := s.ID(t.Context())
	require.NoError(t, err)
	return id
}
