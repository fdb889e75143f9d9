package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"drover/core"
	"drover/core/store/storetest"
)

// BenchmarkRecord compares Record with a bare loop of one-row transactions on
// the same settings, in turns in the same run: "x_bare" is how many results the
// store records in the time of one such transaction.
func BenchmarkRecord(b *testing.B) {
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			s, err := Open(b.Context(), filepath.Join(b.TempDir(), "drover.db"), Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			bare := bareLoop(b)
			var ours, theirs time.Duration
			var done int
			var commits int64
			for b.Loop() {
				const n = 256
				results := make([]core.Result, n)
				for i := range results {
					spec := storetest.Spec("ann")
					if _, _, err := s.Create(b.Context(), spec); err != nil {
						b.Fatal(err)
					}
					results[i] = storetest.Result(spec, "1.1")
					results[i].Stdout = "ok\n"
				}
				commits -= s.commits.Load()
				ours += together(b, s, results, callers)
				commits += s.commits.Load()
				begun := time.Now()
				for range n {
					bare(context.WithoutCancel(b.Context())) // a watched context costs a goroutine a statement
				}
				theirs += time.Since(begun)
				done += n
			}
			b.ReportMetric(float64(done)/ours.Seconds(), "records/s")
			b.ReportMetric(float64(done)/theirs.Seconds(), "bare/s")
			b.ReportMetric(theirs.Seconds()/ours.Seconds(), "x_bare")
			b.ReportMetric(float64(done)/float64(commits), "records/commit")
		})
	}
}

// together records the results from several goroutines and returns how long it took.
func together(b *testing.B, s *Store, results []core.Result, callers int) time.Duration {
	b.Helper()
	var all sync.WaitGroup
	var next atomic.Int64
	begun := time.Now()
	for range callers {
		all.Go(func() {
			for i := next.Add(1); int(i) <= len(results); i = next.Add(1) {
				if _, err := s.Record(b.Context(), results[i-1]); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
	return time.Since(begun)
}

// bareLoop returns one transaction with one insert, in a file of its own.
func bareLoop(b *testing.B) func(ctx context.Context) {
	b.Helper()
	path := filepath.Join(b.TempDir(), "bare.db")
	if err := create(path); err != nil {
		b.Fatal(err)
	}
	settings := durable()
	settings.Set("_txlock", "immediate")
	db, err := connect(b.Context(), path, settings, 1)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	if _, err := db.ExecContext(b.Context(), "CREATE TABLE bare (id INTEGER PRIMARY KEY, doc BLOB)"); err != nil {
		b.Fatal(err)
	}
	insert, err := db.PrepareContext(b.Context(), "INSERT INTO bare (doc) VALUES (?)")
	if err != nil {
		b.Fatal(err)
	}
	doc := make([]byte, 400)
	return func(ctx context.Context) {
		tx, err := db.BeginTx(ctx, nil)
		if err == nil {
			_, err = tx.StmtContext(ctx, insert).ExecContext(ctx, doc)
		}
		if err == nil {
			err = tx.Commit()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
