package mongo

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"drover/core"
	"drover/core/store/mongo/mongotest"
	"drover/core/store/storetest"
)

// BenchmarkRecord records results of requests with 1 and with 64 writers, and does so in turns with what the server does
// at best: a bare update of a document of the same size in a collection of the same number, and a bare insert of one.
// "x_update" and "x_insert" are how many results are recorded in the time of one. Each is acknowledged after its journal.
func BenchmarkRecord(b *testing.B) {
	server := mongotest.Alone(b, "-durable")
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			s, err := Open(b.Context(), server.URL(fmt.Sprintf("bench%d", callers)), Options{Timeout: 2 * time.Minute})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			const n = 128
			bare := s.in("bare")
			var record, update, insert time.Duration
			done := 0
			for b.Loop() {
				results := make([]core.Result, n)
				for i := range results {
					spec := storetest.Spec("ann")
					if _, _, err := s.Create(b.Context(), spec); err != nil {
						b.Fatal(err)
					}
					results[i] = storetest.Result(spec, "1.1")
				}
				doc := m{"spec": string(make([]byte, 400))}
				insert += together(b, n, callers, func(i int) error {
					_, err := bare.InsertOne(b.Context(), m{"_id": results[i].ID, "state": "queued", "spec": doc})
					return err
				})
				update += together(b, n, callers, func(i int) error {
					_, err := bare.UpdateOne(b.Context(), m{"_id": results[i].ID, "state": "queued"}, m{"$set": m{"state": "completed", "result": doc}})
					return err
				})
				record += together(b, n, callers, func(i int) error {
					_, err := s.Record(b.Context(), results[i])
					return err
				})
				done += n
			}
			b.ReportMetric(float64(done)/record.Seconds(), "records/s")
			b.ReportMetric(float64(done)/update.Seconds(), "updates/s")
			b.ReportMetric(float64(done)/insert.Seconds(), "inserts/s")
			b.ReportMetric(update.Seconds()/record.Seconds(), "x_update")
			b.ReportMetric(insert.Seconds()/record.Seconds(), "x_insert")
		})
	}
}

// together does something n times from several goroutines and returns how long that took.
func together(b *testing.B, n, callers int, do func(i int) error) time.Duration {
	b.Helper()
	var all sync.WaitGroup
	var next atomic.Int64
	begun := time.Now()
	for range callers {
		all.Go(func() {
			for i := next.Add(1) - 1; int(i) < n; i = next.Add(1) - 1 {
				if err := do(int(i)); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
	return time.Since(begun)
}
