package intake_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"
	"drover/core/requests/intake"
	"drover/core/store/sqlite"

	"github.com/stretchr/testify/require"
)

// BenchmarkSweepAfterWipe measures how soon waiting work is back in a Redis that lost all,
// against the raw limit: the same specs, at hand already, put into the same Redis. Half of them
// are submissions, which withdraw older ones.
func BenchmarkSweepAfterWipe(b *testing.B) {
	const submitters = 1000
	n := max(b.N, 10_000)
	ctx := context.Background()
	backend := coretest.Alone(b)
	redis := backend.Open(b)
	store, err := sqlite.Open(ctx, filepath.Join(b.TempDir(), "store.db"), sqlite.Options{})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, store.Close()) })
	in := &intake.Intake{Store: store, Queue: redis, Pools: redis, Tasks: redis}
	p := core.DefaultPool(pool)
	p.MaxWaiting = 1 << 20
	require.NoError(b, in.SetPool(ctx, p))
	specs := make([]core.Spec, n)
	var all sync.WaitGroup
	for worker := range 64 {
		all.Go(func() {
			for i := worker; i < n; i += 64 {
				s := spec()
				s.Submitter = fmt.Sprintf("u%d", i%submitters)
				if i%2 == 0 {
					s.Assignment, s.Supersede = fmt.Sprintf("hw%d", i), true
				}
				s, err := in.Check(ctx, s)
				require.NoError(b, err)
				_, _, err = store.Create(ctx, s)
				require.NoError(b, err)
				specs[i] = s
			}
		})
	}
	all.Wait()
	wipe := func() {
		require.NoError(b, backend.Admin.FlushDB(ctx).Err())
		_, err := in.RestorePools(ctx)
		require.NoError(b, err)
	}
	wipe()
	began := time.Now()
	verdicts, err := redis.Enqueue(ctx, specs)
	raw := time.Since(began)
	require.NoError(b, err)
	for _, v := range verdicts {
		require.NoError(b, v)
	}
	wipe()
	b.ResetTimer()
	began = time.Now()
	for back := 0; back < n; {
		queued, err := in.Sweep(ctx)
		require.NoError(b, err)
		back += queued
	}
	took := time.Since(began)
	b.StopTimer()
	b.ReportMetric(float64(n)/took.Seconds(), "requests/s")
	b.ReportMetric(float64(n)/raw.Seconds(), "raw-requests/s")
	b.ReportMetric(100*raw.Seconds()/took.Seconds(), "%-of-raw")
	b.ReportMetric(0, "ns/op")
}
