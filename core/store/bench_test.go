package store_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"drover/core/school"
	"drover/core/store"
	"drover/core/store/mongo/mongotest"
	"drover/core/store/storetest"
)

// BenchmarkCreateRecord makes requests and records their results in both kinds of store, in turns
// in the same run, each with its fsyncs: "x_sqlite" is how many MongoDB takes in the time that
// SQLite takes one.
func BenchmarkCreateRecord(b *testing.B) {
	server := mongotest.Alone(b, "-durable")
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			const n = 256
			urls := []string{"sqlite://" + filepath.Join(b.TempDir(), "drover.db"), server.URL(fmt.Sprintf("bench%d", callers))}
			var took [2]time.Duration
			done := 0
			for b.Loop() {
				for i, url := range urls {
					s, err := store.Open(b.Context(), url)
					if err != nil {
						b.Fatal(err)
					}
					took[i] += createRecord(b, s, n, callers)
					if err := s.Close(); err != nil {
						b.Fatal(err)
					}
				}
				done += n
			}
			b.ReportMetric(float64(done)/took[0].Seconds(), "sqlite/s")
			b.ReportMetric(float64(done)/took[1].Seconds(), "mongo/s")
			b.ReportMetric(took[0].Seconds()/took[1].Seconds(), "x_sqlite")
		})
	}
}

// createRecord takes n requests from their beginning to their end and returns how long that took.
func createRecord(b *testing.B, s school.ResultStore, n, callers int) time.Duration {
	b.Helper()
	var all sync.WaitGroup
	var left atomic.Int64
	left.Store(int64(n))
	begun := time.Now()
	for range callers {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				spec := storetest.Spec("ann")
				_, _, err := s.Create(b.Context(), spec)
				if err == nil {
					_, err = s.Record(b.Context(), storetest.Result(spec, "1.1"))
				}
				if err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
	return time.Since(begun)
}
