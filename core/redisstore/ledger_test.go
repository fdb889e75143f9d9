package redisstore_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"drover/core"

	"github.com/stretchr/testify/require"
)

// The first result store that is named is the herd's, and no other is let in.
func TestOneLedger(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		its, err := x.Store.Ledger(ctx)
		require.NoError(t, err)
		require.Empty(t, its)
		require.NoError(t, x.Store.SameLedger(ctx, "b"), "nobody has joined yet, and to look is not to join")
		require.NoError(t, x.Store.Join(ctx, "a"))
		before := x.picture(t)
		for range 2 {
			require.NoError(t, x.Store.Join(ctx, "a"))
			require.NoError(t, x.Store.SameLedger(ctx, "a"))
			for _, call := range []func(context.Context, string) error{x.Store.Join, x.Store.SameLedger} {
				err := call(ctx, "b")
				refused(t, err, core.CodeConflict)
				require.ErrorContains(t, err, "its id is a")
			}
		}
		x.changed(t, before)

		// What a lost Redis knew is written anew.
		require.NoError(t, x.b.Admin.HDel(ctx, x.key("meta"), "store").Err())
		require.NoError(t, x.Store.Join(ctx, "a"))
		its, err = x.Store.Ledger(ctx)
		require.NoError(t, err)
		require.Equal(t, "a", its)
	})
}

func TestLedgersThatJoinAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		var all sync.WaitGroup
		errs := make([]error, 8)
		for i := range errs {
			all.Go(func() { errs[i] = x.Store.Join(context.Background(), fmt.Sprintf("store-%d", i)) })
		}
		all.Wait()
		its, err := x.Store.Ledger(t.Context())
		require.NoError(t, err)
		for i, err := range errs {
			if fmt.Sprintf("store-%d", i) == its {
				require.NoError(t, err)
				continue
			}
			refused(t, err, core.CodeConflict)
		}
	})
}

// A herd moves to another store only while nobody works with the one before.
func TestAdoptLedger(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		require.NoError(t, x.Store.Adopt(ctx, "a"), "there is none before")
		require.NoError(t, x.Store.Adopt(ctx, "a"), "it is the same")
		before := x.picture(t)
		err := x.Store.Adopt(ctx, "b")
		refused(t, err, core.CodeBusy)
		require.ErrorContains(t, err, "@h1#0")
		x.changed(t, before)

		x.due(t, -time.Second, x.Runner) // one is late
		refused(t, x.Store.Adopt(ctx, "b"), core.CodeBusy)
		require.NoError(t, x.Store.Deregister(ctx, x.Factory, x.Made))
		require.NoError(t, x.Store.Adopt(ctx, "b"))
		refused(t, x.Store.Join(ctx, "a"), core.CodeConflict)
		require.NoError(t, x.Store.Join(ctx, "b"))
	})
}

func TestLedgerNeedsTheSchema(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		x.unsound = true
		require.NoError(t, x.b.Admin.HSet(t.Context(), x.key("meta"), "schema", "999").Err())
		refused(t, x.Store.Join(t.Context(), "a"), core.CodeVersion)
		refused(t, x.Store.Adopt(t.Context(), "a"), core.CodeVersion)
	})
}
