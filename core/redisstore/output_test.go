package redisstore_test

import (
	"strings"
	"testing"
	"time"

	"drover/core"

	"github.com/stretchr/testify/require"
)

func TestOutput(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		none, err := x.Store.Read(ctx, "a-1", "1.1", "", 0)
		require.NoError(t, err)
		require.Empty(t, none)
		binary := []byte{0, 0xff, '\n', '|'}
		require.NoError(t, x.Store.Append(ctx, "a-1", "1.1", []core.OutputChunk{{Stream: "stdout", Data: []byte("one")}, {Stream: "stderr", Data: binary}}))
		require.NoError(t, x.Store.Append(ctx, "a-1", "2.1", []core.OutputChunk{{Stream: "stdout", Data: []byte("a zombie's")}}))
		got, err := x.Store.Read(ctx, "a-1", "1.1", "", 0)
		require.NoError(t, err)
		require.Len(t, got, 2, "rule 16: what another claim writes is apart")
		require.Equal(t, []any{"stdout", "one", "stderr", binary}, []any{got[0].Stream, string(got[0].Data), got[1].Stream, got[1].Data})
		rest, err := x.Store.Read(ctx, "a-1", "1.1", got[0].ID, 0)
		require.NoError(t, err)
		require.Equal(t, got[1:], rest)
		ttl, err := x.b.Admin.PTTL(ctx, x.key("output", "a-1", "1.1")).Result()
		require.NoError(t, err)
		require.Greater(t, ttl, 50*time.Minute)
		require.LessOrEqual(t, ttl, time.Hour)
	})
}

func TestOutputIsBounded(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		var chunks []core.OutputChunk
		for range 3000 {
			chunks = append(chunks, core.OutputChunk{Stream: "stdout", Data: []byte("x")})
		}
		require.NoError(t, x.Store.Append(ctx, "a-1", "1.1", chunks))
		n, err := x.b.Admin.XLen(ctx, x.key("output", "a-1", "1.1")).Result()
		require.NoError(t, err)
		require.LessOrEqual(t, n, int64(1200))
	})
}

func TestReadWaitsForOutput(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		type answer struct {
			chunks []core.OutputChunk
			err    error
		}
		done := make(chan answer, 1)
		go func() {
			chunks, err := x.Store.Read(ctx, "a-1", "1.1", "", time.Hour)
			done <- answer{chunks, err}
		}()
		require.NoError(t, x.Store.Append(ctx, "a-1", "1.1", []core.OutputChunk{{Stream: "end"}}))
		got := <-done
		require.NoError(t, got.err)
		require.Equal(t, "end", got.chunks[0].Stream)
	})
}

// The feed of events is capped, by miniredis exactly and by Redis nearly.
func TestEventsAreCapped(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		p := x.b.Admin.Pipeline()
		for range 12_000 {
			p.Do(ctx, "XADD", x.key("events"), "*", "op", "old", "by", "-", "moved", "-")
		}
		_, err := p.Exec(ctx)
		require.NoError(t, err)
		x.AddVMs(t, 1)
		n, err := x.b.Admin.XLen(ctx, x.key("events")).Result()
		require.NoError(t, err)
		require.Less(t, n, int64(10_200))
		last, err := x.b.Admin.XRevRangeN(ctx, x.key("events"), "+", "-", 1).Result()
		require.NoError(t, err)
		require.Equal(t, "ready", last[0].Values["op"])
		require.True(t, strings.HasPrefix(last[0].Values["moved"].(string), "vm-h1-1=1"))
	})
}
