package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"drover/core"
	"drover/core/store/storetest"
)

// BenchmarkRecord compares Record with bare loops on the same settings, in turns in the same run: "x_bare" is how many
// results the store records in the time of a transaction with one row, "x_group" in that of a row in a transaction of 64.
// Results are of requests, or of submissions, each of which may be the one that counts.
func BenchmarkRecord(b *testing.B) {
	for _, of := range []string{"requests", "submissions"} {
		for _, callers := range []int{1, 64} {
			b.Run(fmt.Sprintf("of=%s/callers=%d", of, callers), func(b *testing.B) {
				s, err := Open(b.Context(), filepath.Join(b.TempDir(), "drover.db"), Options{})
				if err != nil {
					b.Fatal(err)
				}
				defer func() { _ = s.Close() }()
				submitting(b, s)
				recording(b, s, of == "submissions", callers)
			})
		}
	}
}

// recorded is how many results are recorded in a turn.
const recorded = 512

func recording(b *testing.B, s *Store, submissions bool, callers int) {
	b.Helper()
	bare, group := bareLoop(b, 1), bareLoop(b, 64)
	var ours, theirs, groups, processor time.Duration
	var done int
	var commits int64
	for b.Loop() {
		results := make([]core.Result, recorded)
		for i := range results {
			results[i] = unrecorded(b, s, submissions, fmt.Sprintf("u%d", i%64))
		}
		commits -= s.commits.Load()
		processor -= processorTime(b)
		ours += together(b, s, results, callers)
		processor += processorTime(b)
		commits += s.commits.Load()
		ctx := context.WithoutCancel(b.Context()) // a watched context costs a goroutine a statement
		begun := time.Now()
		for range recorded / 2 {
			bare(ctx)
		}
		theirs += 2 * time.Since(begun)
		begun = time.Now()
		for range recorded / 64 {
			group(ctx)
		}
		groups += time.Since(begun)
		done += recorded
	}
	b.ReportMetric(float64(done)/ours.Seconds(), "records/s")
	b.ReportMetric(float64(done)/theirs.Seconds(), "bare/s")
	b.ReportMetric(theirs.Seconds()/ours.Seconds(), "x_bare")
	b.ReportMetric(groups.Seconds()/ours.Seconds(), "x_group")
	b.ReportMetric(float64(done)/float64(commits), "records/commit")
	b.ReportMetric(float64(processor.Microseconds())/float64(done), "processor-µs/record")
}

// processorTime is what this process has used, in the kernel and outside.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// submitting makes a class with an assignment, and users u0 to u63.
func submitting(b *testing.B, s *Store) {
	b.Helper()
	if _, err := s.PutClass(b.Context(), storetest.Class("cs101")); err != nil {
		b.Fatal(err)
	}
	if _, err := s.PutAssignment(b.Context(), storetest.Assignment("cs101", "hw1")); err != nil {
		b.Fatal(err)
	}
	for i := range 64 {
		if _, err := s.PutUser(b.Context(), storetest.User(fmt.Sprintf("u%d", i))); err != nil {
			b.Fatal(err)
		}
	}
}

// unrecorded is the result of a new request, which may be a submission's.
func unrecorded(b *testing.B, s *Store, submission bool, user string) core.Result {
	b.Helper()
	spec := storetest.Spec(user)
	var err error
	if submission {
		sub := storetest.Submission("cs101", "hw1", user)
		spec = storetest.Grading(sub)
		sub.Request = spec.ID
		_, _, err = s.CreateSubmission(b.Context(), sub, &spec)
	} else {
		_, _, err = s.Create(b.Context(), spec)
	}
	if err != nil {
		b.Fatal(err)
	}
	r, score := storetest.Result(spec, "1.1"), 7.0
	r.Stdout, r.Score = "ok\n", &score
	return r
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

// bareLoop returns one transaction with so many inserts, in a file of its own.
func bareLoop(b *testing.B, rows int) func(ctx context.Context) {
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
		for range rows {
			if err == nil {
				_, err = tx.StmtContext(ctx, insert).ExecContext(ctx, doc)
			}
		}
		if err == nil {
			err = tx.Commit()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
