package redisstore_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"
	"drover/core/redisstore"

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

// Marks of tests are the newest ones, and beside output they are found as well.
func TestMarks(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		none, last, err := x.Store.Marks(ctx, "a-1", "1.1")
		require.NoError(t, err)
		require.Empty(t, none.Data)
		require.Empty(t, last)
		require.NoError(t, x.Store.Append(ctx, "a-1", "1.1", []core.OutputChunk{
			{Stream: core.StreamTests, Data: []byte("f..")},
			{Stream: "stdout", Data: []byte("one")},
			{Stream: core.StreamTests, Data: []byte("fx.")},
			{Stream: "stdout", Data: []byte("two")},
		}))
		got, last, err := x.Store.Marks(ctx, "a-1", "1.1")
		require.NoError(t, err)
		require.Equal(t, "fx.", string(got.Data))
		require.Greater(t, last, got.ID)
		more, err := x.Store.Read(ctx, "a-1", "1.1", last, 0)
		require.NoError(t, err)
		require.Empty(t, more)
		other, _, err := x.Store.Marks(ctx, "a-1", "2.1")
		require.NoError(t, err)
		require.Empty(t, other.Data, "another attempt begins anew")
		coretest.RequireSound(t, x.Store)
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

// Live output has a budget in sum, of each submitter's and of all; what ended goes first, the
// oldest before others. What is counted is what is there.
func TestOutputHasABudget(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		opts := x.b.Options()
		opts.MaxOutputBytes = 80_000 // 10,000 of each submitter
		s, err := redisstore.Open(ctx, opts)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		var all []core.Spec
		for u := range 12 {
			all = append(all, specs(fmt.Sprintf("u%d-", u), 5, fmt.Sprintf("u%d", u))...)
		}
		x.Submit(t, all...)
		data := []byte(strings.Repeat("x", 3000-128))
		print := func(u, i int, ends bool) {
			t.Helper()
			x.pass(t)
			chunks := []core.OutputChunk{{Stream: "stdout", Data: data}}
			if ends {
				chunks = append(chunks, core.OutputChunk{Stream: "end", Data: []byte("completed")})
			}
			require.NoError(t, s.Append(ctx, fmt.Sprintf("u%d-%d-1", u, i), "1.1", chunks))
		}
		left := func(u int) (out []int) {
			for i := range 5 {
				if n, err := x.b.Admin.Exists(ctx, x.key("output", fmt.Sprintf("u%d-%d-1", u, i), "1.1")).Result(); err == nil && n == 1 {
					out = append(out, i)
				}
			}
			return out
		}
		print(0, 0, false)
		print(0, 1, true)
		print(0, 2, true)
		require.Equal(t, []int{0, 1, 2}, left(0))
		print(0, 3, false)
		require.Equal(t, []int{0, 2, 3}, left(0), "what ended first went, and not what is older and goes on")
		print(0, 4, false)
		require.Equal(t, []int{0, 3, 4}, left(0))
		print(0, 2, false)
		require.Equal(t, []int{2, 3, 4}, left(0), "of those that go on the one that said nothing for longest")
		for u := 1; u < 12; u++ {
			print(u, 0, true)
			print(u, 1, true)
			print(u, 2, false)
		}
		require.Equal(t, []int{2, 3, 4}, left(0))
		require.Equal(t, []int{2}, left(1), "there is too much in all")
		require.Equal(t, []int{0, 1, 2}, left(11))
		sum, err := x.b.Admin.HGet(ctx, x.key("outputs_sums"), "*").Int()
		require.NoError(t, err)
		require.LessOrEqual(t, sum, 80_000)
		require.Greater(t, sum, 70_000)
		coretest.RequireSound(t, x.Store)

		// One alone is bounded too, and what went by itself makes room when others are written.
		for range 20 {
			print(5, 4, false)
		}
		got, err := s.Read(ctx, "u5-4-1", "1.1", "", 0)
		require.NoError(t, err)
		require.Len(t, got, 3)
		coretest.RequireSound(t, x.Store)
		ids, err := x.b.Admin.HKeys(ctx, x.key("outputs_sizes")).Result()
		require.NoError(t, err)
		for _, id := range ids {
			request, token, _ := strings.Cut(id, ":")
			require.NoError(t, x.b.Admin.Del(ctx, x.key("output", request, token)).Err())
		}
		coretest.RequireSound(t, x.Store)
		for range ids {
			print(9, 3, false)
		}
		left9, err := x.b.Admin.HLen(ctx, x.key("outputs_sizes")).Result()
		require.NoError(t, err)
		require.EqualValues(t, 1, left9)
		coretest.RequireSound(t, x.Store)
	})
}

// pass lets the server's clock go on by a millisecond at least.
func (x *suite) pass(t *testing.T) {
	t.Helper()
	for before := x.now(t).UnixMilli(); x.now(t).UnixMilli() == before; {
	}
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

// The feed of events is capped nearly where it says.
func TestEventsAreCapped(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		require.NoError(t, x.b.Admin.Eval(ctx, `for i = 1, 12000 do redis.call('XADD', KEYS[1], '*', 'op', 'old', 'by', '-', 'moved', '-') end return 1`,
			[]string{x.key("events")}).Err())
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
