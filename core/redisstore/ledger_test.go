package redisstore_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"drover/core"
	"drover/core/redisstore"

	"github.com/stretchr/testify/require"
)

// The first result store that is named is the cluster's, and no other is let in.
func TestOneLedger(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		its, err := x.Store.Ledger(ctx)
		require.NoError(t, err)
		require.Empty(t, its)
		ours := redisstore.Stores{Results: "a", Blobs: "b"}
		require.NoError(t, x.Store.SameLedger(ctx, ours), "nobody has joined yet, and to look is not to join")
		require.NoError(t, x.Store.Join(ctx, ours))
		before := x.picture(t)
		for range 2 {
			for _, call := range []func(context.Context, redisstore.Stores) error{x.Store.Join, x.Store.SameLedger} {
				require.NoError(t, call(ctx, ours))
				require.NoError(t, call(ctx, redisstore.Stores{Results: "a"}), "its blob store does not answer")
				for want, other := range map[string]redisstore.Stores{
					"result store is another one (its id is a, that of the one named is c)": {Results: "c", Blobs: "b"},
					"result store is another one (its id is a, that of the one named is d)": {Results: "d"},
					"blob store is another one (its id is b, that of the one named is c)":   {Results: "a", Blobs: "c"},
				} {
					err := call(ctx, other)
					refused(t, err, core.CodeConflict)
					require.ErrorContains(t, err, want)
				}
			}
		}
		x.changed(t, before)

		// What a lost Redis knew is written anew.
		for _, lost := range []string{"store", "blobs"} {
			require.NoError(t, x.b.Admin.HDel(ctx, x.key("meta"), lost).Err())
			require.NoError(t, x.Store.Join(ctx, ours))
			its, err = x.Store.Ledger(ctx)
			require.NoError(t, err)
			require.Equal(t, ours, its)
		}
	})
}

// A cluster whose blob store was not known learns it while others work.
func TestBlobStoreIsLearnt(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		require.NoError(t, x.Store.Join(ctx, redisstore.Stores{Results: "a"}))
		its, err := x.Store.Ledger(ctx)
		require.NoError(t, err)
		require.Equal(t, redisstore.Stores{Results: "a"}, its)
		require.NoError(t, x.Store.Join(ctx, redisstore.Stores{Results: "a", Blobs: "b"}))
		refused(t, x.Store.Join(ctx, redisstore.Stores{Results: "a", Blobs: "c"}), core.CodeConflict)
		require.NoError(t, x.Store.Adopt(ctx, redisstore.Stores{Results: "a"}), "nothing changes")
		refused(t, x.Store.Adopt(ctx, redisstore.Stores{Results: "a", Blobs: "c"}), core.CodeBusy)
	})
}

func TestLedgersThatJoinAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		var all sync.WaitGroup
		errs := make([]error, 8)
		for i := range errs {
			all.Go(func() { errs[i] = x.Store.Join(context.Background(), numbered(i)) })
		}
		all.Wait()
		its, err := x.Store.Ledger(t.Context())
		require.NoError(t, err)
		for i, err := range errs {
			if numbered(i) == its {
				require.NoError(t, err)
				continue
			}
			refused(t, err, core.CodeConflict)
		}
	})
}

func numbered(i int) redisstore.Stores {
	return redisstore.Stores{Results: fmt.Sprintf("store-%d", i), Blobs: fmt.Sprintf("blobs-%d", i)}
}

// A cluster moves to another store only while nobody works with the one before.
func TestAdoptLedger(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		require.NoError(t, x.Store.Adopt(ctx, redisstore.Stores{Results: "a", Blobs: "of-a"}), "there is none before")
		require.NoError(t, x.Store.Adopt(ctx, redisstore.Stores{Results: "a", Blobs: "of-a"}), "it is the same")
		before := x.picture(t)
		err := x.Store.Adopt(ctx, redisstore.Stores{Results: "b", Blobs: "of-b"})
		refused(t, err, core.CodeBusy)
		require.ErrorContains(t, err, "@h1#0")
		x.changed(t, before)

		x.due(t, -2*time.Minute, x.Runner) // one is dead
		refused(t, x.Store.Adopt(ctx, redisstore.Stores{Results: "b", Blobs: "of-b"}), core.CodeBusy)
		x.due(t, -30*time.Second, x.Factory) // late, and it goes on
		refused(t, x.Store.Adopt(ctx, redisstore.Stores{Results: "b", Blobs: "of-b"}), core.CodeBusy)
		require.NoError(t, x.Store.Deregister(ctx, x.Factory, x.Made))
		require.NoError(t, x.Store.Adopt(ctx, redisstore.Stores{Results: "b", Blobs: "of-b"}))
		refused(t, x.Store.Join(ctx, redisstore.Stores{Results: "a", Blobs: "of-a"}), core.CodeConflict)
		require.NoError(t, x.Store.Join(ctx, redisstore.Stores{Results: "b", Blobs: "of-b"}))
	})
}

func TestLedgerNeedsTheSchema(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		x.unsound = true
		require.NoError(t, x.b.Admin.HSet(t.Context(), x.key("meta"), "schema", "999").Err())
		refused(t, x.Store.Join(t.Context(), redisstore.Stores{Results: "a", Blobs: "of-a"}), core.CodeVersion)
		refused(t, x.Store.Adopt(t.Context(), redisstore.Stores{Results: "a", Blobs: "of-a"}), core.CodeVersion)
	})
}
