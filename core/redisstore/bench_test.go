package redisstore_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"drover/core"
	"drover/core/coretest"

	"github.com/stretchr/testify/require"
)

// BenchmarkExchange measures what the hot path costs the server: submit in
// batches, then finish n and claim n in one call. One op is one job; redis-us/op
// is the server's own account of the time in scripts.
func BenchmarkExchange(b *testing.B) {
	for _, batch := range []int{1, 64} {
		for _, submitters := range []int{1, 10_000} {
			b.Run(fmt.Sprintf("batch=%d/submitters=%d", batch, submitters), func(b *testing.B) {
				benchExchange(b, batch, submitters)
			})
		}
	}
}

func benchExchange(b *testing.B, batch, submitters int) {
	backend := coretest.Real(b)
	h := coretest.NewCluster(b, backend.Open(b), "h1", "p1")
	pool := core.DefaultPool("p1")
	pool.MaxWaiting, pool.Max = 1<<30, core.MaxPoolVMs
	ctx := context.Background()
	require.NoError(b, h.Store.SetPool(ctx, pool))
	for range b.N/1000 + 1 {
		h.AddVMs(b, 1000)
	}
	before := serverMicros(b, backend)
	for at := 0; at < b.N; at += 64 {
		specs := make([]core.Spec, min(64, b.N-at))
		for i := range specs {
			specs[i] = coretest.Spec(fmt.Sprintf("r%d", at+i), "p1", fmt.Sprintf("s%d", (at+i)%submitters))
		}
		h.Submit(b, specs...)
	}
	submitted := serverMicros(b, backend)
	b.ResetTimer()
	var finish []core.Finish
	done := 0
	for seq := int64(1); done < b.N; seq++ {
		got := h.Exchange(b, seq, batch, finish...)
		done += len(finish)
		finish = finish[:0]
		for _, c := range got.Claims {
			finish = append(finish, core.Finish{Key: c.Key, Token: c.Token, Outcome: core.OutcomeDone})
		}
	}
	b.StopTimer()
	ended := serverMicros(b, backend)
	b.ReportMetric((submitted-before)/float64(b.N), "submit-redis-us/op")
	b.ReportMetric((ended-submitted)/float64(b.N), "redis-us/op")
}

var cpuSeconds = regexp.MustCompile(`used_cpu_(?:user|sys)_main_thread:([0-9.]+)`)

// serverMicros is the processor time that the server's main thread has used: its
// whole work, and less noisy than wall time on a shared machine.
func serverMicros(b *testing.B, backend *coretest.Backend) float64 {
	text, err := backend.Admin.Info(context.Background(), "cpu").Result()
	require.NoError(b, err)
	total := 0.0
	for _, m := range cpuSeconds.FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseFloat(m[1], 64)
		require.NoError(b, err)
		total += n * 1e6
	}
	return total
}
