package redisstore_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"drover/core"

	"github.com/stretchr/testify/require"
)

func TestCache(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		put := func(name, field, text string) error { return x.Store.Put(ctx, name, field, text, 2, time.Hour) }
		got, err := x.Store.Fields(ctx, "a")
		require.NoError(t, err)
		require.Empty(t, got)
		require.NoError(t, put("a", "x", "1"))
		require.NoError(t, put("a", "\x00*", "2"))
		require.NoError(t, put("a", "x", "3"), "it is there already")
		require.Equal(t, core.CodeLimit, core.CodeOf(put("b", strings.Repeat("x", 1025), "4")))
		require.NoError(t, put("b", "z", "4"), "each name has its own")
		got, err = x.Store.Fields(ctx, "a")
		require.NoError(t, err)
		require.Equal(t, map[string]string{"x": "3", "\x00*": "2"}, got)
		require.NoError(t, put("a", "z", "4"))
		got, err = x.Store.Fields(ctx, "a")
		require.NoError(t, err)
		require.Equal(t, map[string]string{"x": "3", "z": "4"}, got, "what was put first is forgotten")
		require.NoError(t, x.Store.Put(ctx, "a", "gone", "5", 2, -time.Second))
		got, err = x.Store.Fields(ctx, "a")
		require.NoError(t, err)
		require.NotContains(t, got, "gone")
		require.NoError(t, put("a", "z", "4"))
		for i := range 3 {
			n, err := x.Store.Count(ctx, "a", time.Hour)
			require.NoError(t, err)
			require.Equal(t, int64(i+1), n)
		}
		keys, err := x.b.Admin.Keys(ctx, x.b.Namespace+":cache:*").Result()
		require.NoError(t, err)
		require.Len(t, keys, 3)
		for _, key := range keys {
			left, err := x.b.Admin.PTTL(ctx, key).Result()
			require.NoError(t, err)
			require.InDelta(t, time.Hour, left, float64(time.Minute), fmt.Sprint(key))
		}
	})
}
